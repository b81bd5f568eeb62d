"""Pictures of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ._files import save_picture
from ._terminal import counted, in_picture

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#9aa3ad"
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.titlesize": 11,
    "font.size": 9,
    "legend.frameon": False,
    "text.parse_math": False,
}
_MOST_CLASSES, _MOST_COUNTED = 20, 12


def draw_score(score: Any, summary: dict[str, Any], path: Path) -> None:
    """Regression: predictions and errors. Classification: confusion and calibration."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(9, 4), layout="constrained")
        draw = _numbers if summary["task"] == "regression" else _classes
        draw(score, summary, *figure.subplots(1, 2))
        how = ", each row before it was learned" if summary["prequential"] else ""
        figure.suptitle(f"{in_picture(summary['target'])}: {counted(summary['rows'], 'row')}{how}")
        save_picture(figure, path)


def _numbers(score: Any, summary: dict[str, Any], left: Any, right: Any) -> None:
    y, predicted = np.array(score.sample.rows).T
    both, errors = np.concatenate([y, predicted]), predicted - y
    low, high = np.percentile(both, [0.2, 99.8]) if len(both) > 50 else (both.min(), both.max())
    margin = 0.04 * (high - low) or 1.0
    limits = low - margin, high + margin
    dots = {"s": 9, "alpha": min(1.0, 400 / len(y) + 0.15), "lw": 0}
    left.plot(limits, limits, color=_GREY, lw=1, zorder=1)
    left.scatter(y, predicted, color=_BLUE, zorder=2, **dots)
    r2 = "" if summary["r2"] is None else f", R² {summary['r2']:.3g}"
    left.set(xlim=limits, ylim=limits, xlabel="true", ylabel="predicted")
    left.set_title(f"predictions (RMSE {summary['rmse']:.4g}{r2})")
    reach = np.percentile(np.abs(errors), 99.5) * 1.1 or 1.0
    right.axhline(0, color=_GREY, lw=1)
    right.scatter(predicted, errors, color=_ORANGE, **dots)
    right.set(xlim=limits, ylim=(-reach, reach), xlabel="predicted", ylabel="predicted - true")
    right.set_title(f"errors (mean size {summary['mae']:.4g})")
    for axes in (left, right):
        axes.locator_params(axis="x", nbins=5)  # long numbers would touch each other
        for axis in (axes.xaxis, axes.yaxis) if high >= 10_000 else ():
            axis.set_major_formatter("{x:,.0f}")


def _classes(score: Any, summary: dict[str, Any], left: Any, right: Any) -> None:
    from sklearn.metrics import ConfusionMatrixDisplay

    labels, counts = score.matrix()
    counts = counts[: min(_MOST_CLASSES, len(labels))]
    names = [in_picture(label, 12) for label in labels[: len(counts)]]
    shares = counts[:, : len(counts)] / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shown = ConfusionMatrixDisplay(shares, display_labels=names)
    upright = max(map(len, names)) > 3 and len(names) > 4
    shown.plot(
        ax=left,
        cmap="Blues",
        im_kw={"vmin": 0, "vmax": 1},
        include_values=len(names) <= _MOST_COUNTED,
        values_format=".2f",
        xticks_rotation="vertical" if upright else "horizontal",
    )
    left.set(xlabel="predicted", ylabel="true")
    left.set_title(f"confusion, of the true class (accuracy {summary['accuracy']:.4g})")
    curve = score.calibration()
    right.plot([0, 1], [0, 1], color=_GREY, lw=1, label="as good as it claims")
    if curve:
        claimed, right_share, _ = np.array(curve).T
        right.plot(claimed, right_share, "o-", color=_ORANGE, ms=5, lw=1.2, label="measured")
        right.legend(loc="upper left")
    else:
        right.text(0.5, 0.25, "no probabilities in a prequential score", ha="center", color=_GREY)
    right.set(
        xlim=(0, 1.02), ylim=(0, 1.02), xlabel="probability claimed", ylabel="share that was right"
    )
    right.set_title("calibration")
