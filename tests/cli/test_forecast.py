"""The command that forecasts a series."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import greville

from ..houses import table_of, write
from ..kernels import as_installed  # noqa: F401
from ..runner import run

pytestmark = pytest.mark.usefixtures("here", "as_installed")


@pytest.mark.full
def test_forecasting_the_ecg(here):
    data = Path(greville.__file__).parent / "datasets" / "ecg.npz"
    out, said = run("forecast", data, "--column", "ecg", "--json")
    summary = json.loads(out)
    assert summary["ratio"]["persistence"] < 0.355
    assert summary["rms"]["greville"] < summary["rms"]["linear"]
    assert abs(summary["coverage"] - 0.9) < 0.03
    found = table_of("ecg-forecast.csv")
    assert found.num_rows == 21_600 - 10 + 1
    assert found["target"].to_pylist()[-1] is None
    assert found["prediction"].to_pylist()[-1] is not None
    error = found["prediction"].to_numpy() - found["target"].to_numpy(zero_copy_only=False)
    counted = found["sample"].to_numpy() > summary["burn_in"]
    rms = np.sqrt(np.nanmean(error[counted] ** 2))
    assert summary["rms"]["greville"] == pytest.approx(rms)
    assert summary["mean_absolute"]["greville"] < 0.5 * summary["mean_absolute"]["persistence"]
    assert "Predictions are in ecg-forecast.csv." in said
    assert os.listdir() == ["ecg-forecast.csv"]  # no picture unless one is asked for


def test_forecasts_with_inputs_times_and_gaps(here):
    rng = np.random.default_rng(0)
    n = 250
    temperature = np.sin(np.arange(n) / 12) + 0.1 * rng.normal(size=n)
    load = 100 + 10 * np.roll(temperature, 3)
    load[100] = np.nan
    days = np.datetime64("2024-01-01") + np.arange(n)
    table = pa.table(
        {"day": days, "load": pa.array(load, from_pandas=True), "temperature": temperature}
    )
    write(table, "load.csv")
    options = ["--column", "load", "--horizon", "3", "--lags", "5", "--alpha", "1"]
    options += ["--hidden", "30"]
    alone = json.loads(run("forecast", "load.csv", *options, "--json", "-q")[0])
    options += ["--inputs", "temperature", "--time", "day", "-o", "out.csv"]
    both = json.loads(run("forecast", "load.csv", *options, "--json", "-q")[0])
    assert both["rms"]["greville"] < 0.7 * alone["rms"]["greville"]
    found = table_of("out.csv")
    to_come = [(days[-1] + step).astype(object) for step in range(4)]
    assert found["day"].to_pylist()[-4:] == to_come
    assert found["step"].to_pylist()[-4:] == [3, 1, 2, 3]
    assert found["prediction"].null_count == 0
    shown, said = run("forecast", "load.csv", *options, "--plot", "out.png")
    assert Path("out.png").stat().st_size > 20_000
    assert "persistence" in shown
    assert "What comes next" in shown
    assert "the picture is in out.png" in said


@pytest.mark.full
def test_no_forecast_sees_its_future(here):
    """Change the end of the file: nothing that was predicted before it was known may change."""
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=300))
    y = x.copy()
    y[200:] = rng.normal(size=100) * 50
    for name, values in (("x.csv", x), ("y.csv", y)):
        write(pa.table({"v": values}), name)
        run("forecast", name, "--column", "v", "--horizon", "4", "-q")
    one, two = (table_of(f"{name}-forecast.csv") for name in "xy")
    # Made at sample 199 or before, counted from 0.
    known = one["sample"].to_numpy() - one["step"].to_numpy() <= 199
    for column in ("prediction", "lower", "upper", "linear", "persistence", "seasonal"):
        a, b = (t[column].to_numpy(zero_copy_only=False)[known] for t in (one, two))
        assert np.array_equal(a, b, equal_nan=True)


def test_json_has_no_nan(here):
    write(pa.table({"v": np.arange(14.0)}), "v.csv")
    out = run("forecast", "v.csv", "-c", "v", "--json", "-q")[0]
    assert "NaN" not in out
    json.loads(out)
    assert Path("v-forecast.csv").exists()
