"""The picture of a forecast.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart; line styles tell
the same lines apart in grey.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from ..backend import Array

if TYPE_CHECKING:
    from ._result import Forecast

_INK, _FAINT = "#1b1f24", "#9aa3ad"
_LINES = {
    "prediction": ("greville", "#0072B2", "-"),
    "linear": ("linear", "#B87A00", "--"),
    "persistence": ("persistence", "#D55E00", ":"),
}

# The samples drawn one by one, and the bins of the overview and of the errors.
_DETAIL, _OVERVIEW_BINS, _ERROR_BINS = 250, 400, 60

# The least number of samples in a bin of errors.
_MIN_BIN = 20


def draw(forecast: Forecast, name: str) -> Figure:
    """The last samples in detail, the errors, and an overview of a long series."""
    if not len(forecast):
        raise ValueError("plot: there is no row to draw; forecast a longer series.")
    long = len(forecast) > 2 * _DETAIL
    figure = Figure(figsize=(9.0, 7.6 if long else 5.6), layout="constrained")
    panels = figure.subplots(2 + long, 1, height_ratios=[*([0.7] if long else []), 1.4, 1])
    steps = "one step" if forecast.horizon == 1 else f"{forecast.horizon} steps"
    figure.suptitle(f"Predicted {steps} ahead, learning on the way", color=_INK, fontsize=12)
    if long:
        _draw_overview(panels[0], forecast, name)
    _draw_last_samples(panels[-2], forecast, long, name)
    _draw_errors(panels[-1], forecast)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_FAINT)
        axes.tick_params(labelsize=9, colors=_INK)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(9, integer=True, steps=[1, 2, 5, 10]))
        axes.margins(x=0.01)
    panels[-1].set_xlabel("sample")
    return figure


def _draw_overview(axes: Any, forecast: Forecast, name: str) -> None:
    x, bins = _bins(forecast.index, forecast.target, -(-len(forecast) // _OVERVIEW_BINS))
    low, high = (_per_bin(f, bins) for f in (np.min, np.max))
    axes.fill_between(x, low, high, color=_FAINT, lw=0.6, ec=_FAINT)
    axes.axvspan(*forecast.index[[-_DETAIL, -1]], color=_LINES["prediction"][1], alpha=0.18, lw=2)
    axes.set_title("All of it; the blue part is drawn below", loc="left", fontsize=10)
    axes.set_ylabel(name, parse_math=False)


def _draw_last_samples(axes: Any, forecast: Forecast, long: bool, series: str) -> None:
    end = slice(-_DETAIL if long else None, None)
    x, target, prediction = (
        getattr(forecast, name)[end] for name in ("index", "target", "prediction")
    )
    lower, upper = forecast.lower[end], forecast.upper[end]
    name, colour, style = _LINES["prediction"]
    label = f"{100 * forecast.interval:g} % interval"
    axes.fill_between(x, lower, upper, color=colour, alpha=0.2, lw=0, label=label)
    axes.plot(x, target, color=_FAINT, lw=2.6, marker=".", ms=5, label=series)
    axes.plot(x, prediction, style, color=colour, lw=1.1, label=f"predicted by {name}")
    to_come = np.isnan(target) & (x > forecast.index[-1] - forecast.horizon)
    axes.plot(x[to_come], prediction[to_come], "o", color=colour, ms=4, label="still to come")
    axes.set_ylim(*_limits(target, prediction, lower, upper))
    title = f"The last {_DETAIL} samples" if long else "Series and prediction"
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylabel(series, parse_math=False)
    _legend(axes, 4)


def _draw_errors(axes: Any, forecast: Forecast) -> None:
    length = max(_MIN_BIN, -(-len(forecast) // _ERROR_BINS))
    rms, largest, least = forecast.summary()["rms"], 0.0, np.inf
    for column, (name, colour, style) in _LINES.items():
        error = forecast.target - getattr(forecast, column)
        x, bins = _bins(forecast.index, error, length)
        size = _per_bin(lambda each: np.sqrt(np.mean(each**2)), bins)
        size[size == 0] = np.nan  # a logarithmic axis has no zero
        largest, least = np.nanmax([largest, *size]), np.nanmin([least, *size])
        label = name if np.isnan(rms[name]) else f"{name}, {rms[name]:.3g} in all"
        axes.plot(x, size, style, color=colour, lw=1.4, marker=".", ms=3, label=label)
    axes.set_title(f"Error (RMS of {length:,} samples)", loc="left", fontsize=10)
    axes.set_ylabel("error")
    axes.set_xlim(*forecast.index[[0, -1]])
    _legend(axes, 3)
    if not largest:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "no error at all", transform=axes.transAxes, ha="center", color=_INK)
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    if largest < 30 * least:  # too few powers of ten for labels
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _legend(axes: Any, n_columns: int) -> None:
    """Draw the legend above the axes, clear of the lines."""
    legend = axes.legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncols=n_columns, fontsize=8.5, frameon=False,
        handlelength=2, borderaxespad=0.1, columnspacing=1.4,
    )  # fmt: skip
    for text in legend.get_texts():  # a dollar in a name starts no formula
        text.set_parse_math(False)


def _limits(target: Array, prediction: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Limits around the series and predictions, and around as much of the interval as is near."""
    drawn = np.concatenate([target, prediction])
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return 0.0, 1.0
    low, high = drawn.min(), drawn.max()
    height = (high - low) or max(abs(high), 1.0)
    bottom = max(np.nanmin([low, *lower]), low - 0.5 * height)
    top = min(np.nanmax([high, *upper]), high + 0.5 * height)
    return bottom - 0.04 * height, top + 0.04 * height


def _bins(index: Array, values: Array, length: int) -> tuple[Array, list[Array]]:
    """The mean index of each bin of `length` samples, and the finite values in it."""
    starts = range(0, len(index), length)
    middles = np.array([index[start : start + length].mean() for start in starts])
    bins = [values[start : start + length] for start in starts]
    return middles, [each[np.isfinite(each)] for each in bins]


def _per_bin(f: Any, bins: list[Array]) -> Array:
    return np.array([f(each) if len(each) else np.nan for each in bins])
