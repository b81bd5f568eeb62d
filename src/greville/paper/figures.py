"""The figures of the report.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart; line styles and
labels tell the same lines apart in grey.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ..backend import Array
from .result import ALGORITHMS

COLOURS = {"opium": "#0072B2", "light": "#B87A00", "dynamic": "#009E73", "bad": "#D55E00"}
_INK, _PAPER, _FAINT = "#1b1f24", "#ffffff", "#9aa3ad"
_STYLES = {"opium": "-", "light": "--", "dynamic": "-."}
_WIDTH = 9.0

# Matplotlib's settings for drawing and saving a figure.
SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "axes.facecolor": _PAPER,
    "figure.facecolor": _PAPER,
    "savefig.facecolor": _PAPER,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
    "svg.hashsalt": "greville",  # so that equal figures give equal files
    "svg.fonttype": "path",
}


def _signals_and_errors(
    x: Array, y: Array, errors: dict[str, Array], labels: tuple[str, str, str]
) -> tuple[Figure, list[Any], list[Any]]:
    """A column for each algorithm: target and prediction above, the error below."""
    figure = Figure(figsize=(_WIDTH, 4.2), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey="row", height_ratios=[1.25, 1], squeeze=False)
    for letter, (which, error), (top, bottom) in zip("abc", errors.items(), axes.T, strict=True):
        colour = COLOURS[which]
        top.plot(x, y, color=_FAINT, lw=2.6, label="target")
        top.plot(x, y - error, color=colour, lw=1.1, label="prediction")
        top.set_title(f"({letter}) {ALGORITHMS[which]}", loc="left")
        top.legend(loc="upper right", ncols=2, fontsize=8, handlelength=1.5, borderaxespad=0)
        bottom.plot(x, error, color=colour, lw=0.9)
        bottom.set_xlabel(labels[0])
    axes[0, 0].set_ylabel(labels[1])
    axes[1, 0].set_ylabel(labels[2])
    return figure, list(axes[0]), list(axes[1])


@mpl.rc_context(SETTINGS)
def around_the_change(series: dict[str, Any]) -> Figure:
    """Figure 1: targets, predictions and errors around the change of frequency."""
    change = series["change"]
    window = slice(change - 150, change + 350)
    k = np.arange(len(series["y"]))[window]
    errors = {which: error[window] for which, error in series["errors"].items()}
    labels = ("sample", "signal", "error")
    figure, tops, bottoms = _signals_and_errors(k, series["y"][window], errors, labels)
    for axes in (*tops, *bottoms):
        axes.axvline(change, color=_INK, lw=0.8, ls=":")
    tops[0].set_ylim(-1.7, 2.2)
    largest = 1.1 * max(np.abs(error).max() for error in errors.values())
    bottoms[0].set_ylim(-largest, largest)
    return figure


@mpl.rc_context(SETTINGS)
def error_over_time(series: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(_WIDTH, 3.2), layout="constrained")
    axes = figure.subplots()
    n = len(series["y"])
    for which, error in series["errors"].items():
        size = np.sqrt(np.convolve(error**2, np.ones(100) / 100, mode="valid"))
        colour, style = COLOURS[which], _STYLES[which]
        axes.semilogy(np.arange(99, n), size, style, color=colour, lw=1.4, label=ALGORITHMS[which])
    axes.axvline(series["change"], color=_INK, lw=0.8, ls=":")
    axes.annotate(
        "10 Hz becomes 20 Hz",
        (series["change"], 1),
        (5, -2),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        va="top",
    )
    axes.set(xlabel="sample", ylabel="error (RMS of 100 samples)", xlim=(0, n))
    axes.legend(loc="lower left")
    return figure


@mpl.rc_context(SETTINGS)
def long_runs(records: dict[Any, Any], readings: dict[str, Any], window: int) -> Figure:
    names = list(dict.fromkeys(reading for reading, _ in records))
    figure = Figure(figsize=(_WIDTH, 3.7), layout="constrained")
    all_axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    lines = {
        "printed": (COLOURS["bad"], "-", "as printed"),
        "floored": (COLOURS["dynamic"], "-", "DynamicOpium, the default: with a floor"),
        "root": (COLOURS["opium"], "--", "floor=None: Cholesky factor, no floor"),
    }
    for axes, name in zip(all_axes, names, strict=True):
        runs = [record for (reading, _), record in records.items() if reading == name]
        for rule, (colour, style, label) in lines.items():
            for i, run in enumerate(runs):
                rms = np.array([np.nan if r is None else r for r in run[rule]["rms"]])
                k = (np.arange(len(rms)) + 1) * window
                named = {"label": label} if i == 0 else {}
                axes.semilogy(k, rms, style, color=colour, lw=1.1, **named)
        axes.set_title(readings[name].what, loc="left")
        axes.set_xlabel("sample")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
    all_axes[0].set_ylabel(f"error (RMS of {window} samples)")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(lines), fontsize=8)
    return figure


@mpl.rc_context(SETTINGS)
def electrocardiogram(series: dict[str, Any], rate: int) -> Figure:
    """Figure 2: targets, predictions and errors of four seconds of an electrocardiogram."""
    window = slice(4 * rate, 8 * rate)
    seconds = np.arange(len(series["y"]))[window] / rate
    errors = {which: error[window] for which, error in series["errors"].items()}
    labels = ("seconds", "millivolts", "error, millivolts")
    figure, tops, _ = _signals_and_errors(seconds, series["y"][window], errors, labels)
    low, high = series["y"][window].min(), series["y"][window].max()
    tops[0].set_ylim(low - 0.1 * (high - low), high + 0.35 * (high - low))
    return figure


@mpl.rc_context(SETTINGS)
def theta(statistics: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(_WIDTH, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.25])
    ends = COLOURS["opium"], _PAPER, COLOURS["bad"]
    colours = LinearSegmentedColormap.from_list("theta", ends)
    image = left.imshow(
        statistics["corner"], cmap=colours, vmin=-1, vmax=1, interpolation="nearest"
    )
    left.set(xlabel="hidden unit", ylabel="hidden unit")
    left.set_title("a corner of θ/g", loc="left")
    figure.colorbar(image, ax=left, shrink=0.85)
    edges, counts = np.array(statistics["edges"]), np.array(statistics["off_diagonal_counts"])
    middles = (edges[1:] + edges[:-1]) / 2
    bad, good = COLOURS["light"], COLOURS["opium"]
    right.fill_between(
        middles, counts / counts.sum(), step="mid", color=bad, alpha=0.75, label="off the diagonal"
    )
    diagonal = np.array(statistics["diagonal"])
    share, edges = np.histogram(diagonal, bins=60)
    middles = (edges[1:] + edges[:-1]) / 2
    right.step(middles, share / share.sum(), where="mid", color=good, lw=1.6, label="diagonal")
    right.set_yscale("log")
    right.set(xlabel="element of θ/g", ylabel="share of the elements", ylim=(1e-7, 1.5))
    right.set_xlim(-1, max(2, 1.05 * diagonal.max()))
    right.set_title("all of it", loc="left")
    right.legend(loc="upper right")
    return figure
