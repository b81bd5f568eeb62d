"""Pictures of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ._files import save_picture
from ._terminal import counted, in_picture

_BLUE, _GREY = "#0072B2", "#9aa3ad"
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "font.size": 9,
    "legend.frameon": False,
    "text.parse_math": False,
}
_MOST_CLASSES, _MOST_COUNTED = 20, 12


def draw_score(score: Any, summary: dict[str, Any], path: Path) -> None:
    """Draw predictions and errors of a regression, or confusion and calibration of classes."""
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
    from sklearn.metrics import PredictionErrorDisplay

    y, predicted = np.array(score.sample.rows).T
    dots = {"color": _BLUE, "s": 9, "alpha": min(1.0, 400 / len(y) + 0.15), "lw": 0}
    for axes, kind in ((left, "actual_vs_predicted"), (right, "residual_vs_predicted")):
        shown = PredictionErrorDisplay(y_true=y, y_pred=predicted)
        shown.plot(axes, kind=kind, scatter_kwargs=dots, line_kwargs={"color": _GREY, "ls": "-"})
        axes.locator_params(axis="x", nbins=5)  # long numbers would touch each other
    r2 = "" if summary["r2"] is None else f", R² {summary['r2']:.3g}"
    left.set_title(f"predictions (RMSE {summary['rmse']:.4g}{r2})")
    right.set_title(f"errors (mean size {summary['mae']:.4g})")


def _classes(score: Any, summary: dict[str, Any], left: Any, right: Any) -> None:
    from sklearn.metrics import ConfusionMatrixDisplay

    labels, counts = score.matrix()
    counts = counts[: min(_MOST_CLASSES, len(labels))]
    names = [in_picture(label, 12) for label in labels[: len(counts)]]
    shares = counts[:, : len(counts)] / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ConfusionMatrixDisplay(shares, display_labels=names).plot(
        ax=left,
        cmap="Blues",
        im_kw={"vmin": 0, "vmax": 1},
        include_values=len(names) <= _MOST_COUNTED,
        values_format=".2f",
        xticks_rotation="vertical" if len(names) > 4 else "horizontal",
    )
    left.set_title(f"confusion, of the true class (accuracy {summary['accuracy']:.4g})")
    right.plot([0, 1], [0, 1], color=_GREY, label="as good as it claims")
    if curve := score.calibration():
        claimed, share, _ = np.array(curve).T
        right.plot(claimed, share, "o-", color=_BLUE, label="measured")
    right.set(xlabel="probability claimed", ylabel="share that was right", title="calibration")
    right.legend(loc="upper left")
