"""Forecasts: series predicted from their own past, in Python and by the command."""

from pathlib import Path

import numpy as np

from greville.forecasting import Forecaster, forecast

from .cases import case
from .outcome import about, attempt
from .printed import cells, printed, steady_json

TIME = np.arange(120)


def _noise(size=0.1, seed=0):
    return size * np.random.default_rng(seed).normal(size=len(TIME))


SERIES = {
    "sine": np.sin(TIME / 3) + _noise(),
    "trend": 0.1 * TIME + _noise(0.3),
    "season": 10 + 3 * np.sin(2 * np.pi * TIME / 12) + 0.02 * TIME + _noise(),
    "growing-season": (10 + 0.2 * TIME) * (2 + np.sin(2 * np.pi * TIME / 12)) + _noise(),
    "walk": np.cumsum(_noise(1.0)),
    "constant": np.full(120, 3.0),
    "steps": np.where(TIME // 40 % 2, 5.0, 1.0) + _noise(),
    "gaps": np.where((TIME % 13 == 5) | (TIME > 116), np.nan, np.sin(TIME / 3) + _noise()),
    "counts": np.random.default_rng(0).poisson(2, 120).astype(float),
    "short": np.sin(np.arange(30) / 3),
    "very-short": np.arange(13.0),
    "large": 1e6 + 1e5 * np.sin(TIME / 3) + _noise(1e3),
}


def rough(value):
    """Numbers of which three digits are compared: mixtures follow the errors of many models."""
    if isinstance(value, dict):
        return {key: rough(each) for key, each in value.items()}
    if isinstance(value, (list, np.ndarray)):
        return [rough(each) for each in value]
    return about(value) if isinstance(value, float) and np.isfinite(value) else value


def seen(found, horizon):
    """What was predicted, and how good that is."""
    future = found[-horizon:]
    return {
        "rows": len(found.index),
        "future": rough(future.prediction[:3].tolist()),
        "lower": rough(future.lower[:3].tolist()),
        "upper": rough(future.upper[:3].tolist()),
        "steps": future.step[:3].tolist(),
        "summary": rough(found.summary()),
    }


@case("forecasts/series/{series}", series=SERIES)
def series_of_all_kinds(series):
    """One step ahead."""
    return seen(forecast(series), 1)


@case("forecasts/horizon/{series}", series={k: SERIES[k] for k in ("season", "gaps")})
def several_steps(series):
    """Six steps ahead."""
    return seen(forecast(series, horizon=6), 6)


@case(
    "forecasts/settings/{settings}",
    settings={
        "lags": {"lags": 4},
        "alpha": {"alpha": 1.01},
        "no-forgetting": {"alpha": 1},
        "hidden": {"hidden": 10},
        "interval": {"interval": 0.5},
        "seed": {"random_state": 3},
        "lags-zero": {"lags": 0},
        "horizon-zero": {"horizon": 0},
        "interval-wrong": {"interval": 1.5},
        "alpha-wrong": {"alpha": 0.5},
    },
)
def settings_of_forecasts(settings):
    """Settings, right and wrong."""
    return seen(forecast(SERIES["sine"], **settings), 1)


@case("forecasts/pieces")
def pieces():
    """How the series is cut changes nothing but rounding."""
    series = SERIES["season"]
    model, whole = Forecaster(horizon=3), Forecaster(horizon=3)
    for start in range(0, 120, 7):
        model.update(series[start : start + 7])
    whole.update(series)
    same = np.allclose(model.future().prediction, whole.future().prediction, rtol=1e-6)
    by_step = [each["mean_absolute"] for each in model.errors_by_step()]
    future = rough(model.future().prediction.tolist())
    return {
        "season": model.season_,
        "future": future,
        "by step": rough(by_step),
        "as at once": same,
    }


@case("forecasts/inputs")
def other_inputs():
    """Another column that acts a step later."""
    cause = _noise(1.0, seed=1)
    load = 10 + np.append(0, 2 * cause[:-1]) + _noise()
    found = {"with": forecast(load, inputs=cause[:, None]).summary()["mean_absolute"]}
    return rough({**found, "without": forecast(load).summary()["mean_absolute"]})


@case("forecasts/refused")
def refused():
    """Series that are none."""
    return {
        "empty": attempt(lambda: len(forecast([]).index)),
        "one sample": attempt(lambda: len(forecast([1.0]).index)),
        "infinite": attempt(forecast, [1.0, np.inf] * 20),
        "words": attempt(forecast, ["a", "b"] * 20),
        "two columns": attempt(forecast, np.ones((30, 2))),
        "all missing": attempt(lambda: len(forecast([np.nan] * 30).index)),
        "inputs too short": attempt(forecast, np.ones(30), inputs=np.ones((5, 1))),
    }


def _write(**columns):
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    Path("series.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


MONTHS = [f"{1990 + i // 12}-{i % 12 + 1:02}" for i in range(90)]
LOAD = [f"{each:.3f}" for each in SERIES["season"][:90]]
COMMANDS = {
    "plain": (),
    "json": ("--json",),
    "time": ("--time", "month", "--horizon", "3"),
    "time-json": ("--time", "month", "--horizon", "3", "--json"),
    "plot": ("--plot", "load.png"),
    "inputs": ("--inputs", "other"),
    "unknown-column": ("--column", "colour"),
    "text-column": ("--column", "month"),
    "unknown-time": ("--time", "colour"),
    "horizon-zero": ("--horizon", "0"),
    "lags-too-many": ("--lags", "500"),
}


@case("forecasts/command/{arguments}", arguments=COMMANDS)
def the_command(arguments):
    """What ``forecast`` says and writes."""
    _write(month=MONTHS, load=LOAD, other=[f"{each:.2f}" for each in _noise(1.0, 2)[:90]])
    found = printed("forecast", "series.csv", "--column", "load", *arguments)
    if isinstance(found.get("stdout"), dict):
        found["stdout"] = rough(steady_json(found["stdout"]))
    if Path("series-forecast.csv").exists():
        last = Path("series-forecast.csv").read_text(encoding="utf-8").splitlines()[-1].split(",")
        found["written"] = cells("series-forecast.csv", n=0)
        found["last"] = [last[0], last[-1][:4]]
    return {**found, "files": sorted(path.name for path in Path().iterdir())}


@case("forecasts/command/several")
def several_series():
    """Two series in one file, with and without a name."""
    names, months = ["Bonn", "Kiel"] * 45, [month for month in MONTHS[:45] for _ in range(2)]
    _write(month=months, airport=names, load=LOAD)
    ask = ("forecast", "series.csv", "--column", "load", "--time", "month")
    json = printed(*ask, "--by", "airport", "--json")
    json["stdout"] = rough(json["stdout"])
    return {"asks": printed(*ask), "by": printed(*ask, "--by", "airport"), "json": json}


@case("forecasts/command/gaps")
def gaps():
    """Missing values, missing times, rows in another order, and irregular times."""
    _write(month=MONTHS, load=["" if i % 9 == 4 else each for i, each in enumerate(LOAD)])
    ask = ("forecast", "series.csv", "--column", "load", "--time", "month")
    found = {"values": printed(*ask)}
    keep = [i for i in range(90) if i not in (50, 51, 80)]
    _write(month=[MONTHS[i] for i in keep], load=[LOAD[i] for i in keep])
    found["times"] = printed(*ask)
    _write(month=MONTHS[::-1], load=LOAD[::-1])
    found["order"] = printed(*ask)
    days = [f"2020-01-01T00:{i * i // 60 % 60:02}:{i * i % 60:02}" for i in range(55)]
    _write(month=days, load=LOAD[:55])
    return {**found, "irregular": printed(*ask)}
