"""The picture of a forecast. Colours are Okabe and Ito's, which colour-blind readers can tell
apart; line styles say the same in grey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from ..linalg import Array

if TYPE_CHECKING:
    from ._forecast import Forecast

_INK, _FAINT = "#1b1f24", "#9aa3ad"
_LINES = {
    "prediction": ("greville", "#0072B2", "-"),
    "linear": ("linear", "#B87A00", "--"),
    "persistence": ("persistence", "#D55E00", ":"),
}

# Samples that are drawn one by one, stretches that stand for more, and those of one error.
_DETAIL, _STRETCHES, _MEANS = 250, 400, 60

# Samples in the mean of an error, at least.
_FEWEST = 20


def picture(forecast: Forecast, name: str) -> Figure:
    """The whole where it is long, its end in detail, and the errors."""
    if not len(forecast):
        raise ValueError("plot: there is no row to draw; forecast a longer series.")
    long = len(forecast) > 2 * _DETAIL
    figure = Figure(figsize=(9.0, 7.6 if long else 5.6), layout="constrained")
    panels = figure.subplots(2 + long, 1, height_ratios=[*([0.7] if long else []), 1.4, 1])
    steps = "one step" if forecast.horizon == 1 else f"{forecast.horizon} steps"
    figure.suptitle(f"Predicted {steps} ahead, learning on the way", color=_INK, fontsize=12)
    if long:
        _whole(panels[0], forecast, name)
    _end(panels[-2], forecast, long, name)
    _errors(panels[-1], forecast)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_FAINT)
        axes.tick_params(labelsize=9, colors=_INK)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(9, integer=True, steps=[1, 2, 5, 10]))
        axes.margins(x=0.01)
    panels[-1].set_xlabel("sample")
    return figure


def _whole(axes: Any, forecast: Forecast, name: str) -> None:
    x, parts = _stretches(forecast.index, forecast.target, -(-len(forecast) // _STRETCHES))
    low, high = (_of_each(f, parts) for f in (np.min, np.max))
    axes.fill_between(x, low, high, color=_FAINT, lw=0.6, ec=_FAINT)
    axes.axvspan(*forecast.index[[-_DETAIL, -1]], color=_LINES["prediction"][1], alpha=0.18, lw=2)
    axes.set_title("All of it; the blue part is drawn below", loc="left", fontsize=10)
    axes.set_ylabel(name, parse_math=False)


def _end(axes: Any, forecast: Forecast, long: bool, series: str) -> None:
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


def _errors(axes: Any, forecast: Forecast) -> None:
    length = max(_FEWEST, -(-len(forecast) // _MEANS))
    rms, largest, least = forecast.summary()["rms"], 0.0, np.inf
    for column, (name, colour, style) in _LINES.items():
        error = forecast.target - getattr(forecast, column)
        x, parts = _stretches(forecast.index, error, length)
        size = _of_each(lambda part: np.sqrt(np.mean(part**2)), parts)
        size[size == 0] = np.nan  # which has no place on a logarithmic axis
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
    if largest < 30 * least:  # too few powers of ten to read by
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _legend(axes: Any, n_columns: int) -> None:
    """Above the axes, where nothing is drawn."""
    legend = axes.legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncols=n_columns, fontsize=8.5, frameon=False,
        handlelength=2, borderaxespad=0.1, columnspacing=1.4,
    )  # fmt: skip
    for text in legend.get_texts():  # a name is a name, also with a dollar in it
        text.set_parse_math(False)


def _limits(target: Array, prediction: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Room for all that was seen, and for the band unless it is much wider."""
    seen = np.concatenate([target, prediction])
    seen = seen[np.isfinite(seen)]
    if not len(seen):
        return 0.0, 1.0
    low, high = seen.min(), seen.max()
    room = (high - low) or max(abs(high), 1.0)
    bottom = max(np.nanmin([low, *lower]), low - 0.5 * room)
    top = min(np.nanmax([high, *upper]), high + 0.5 * room)
    return bottom - 0.04 * room, top + 0.04 * room


def _stretches(index: Array, values: Array, length: int) -> tuple[Array, list[Array]]:
    """The middles of stretches of samples, and what is known in each."""
    starts = range(0, len(index), length)
    middles = np.array([index[start : start + length].mean() for start in starts])
    parts = [values[start : start + length] for start in starts]
    return middles, [part[np.isfinite(part)] for part in parts]


def _of_each(f: Any, parts: list[Array]) -> Array:
    return np.array([f(part) if len(part) else np.nan for part in parts])
