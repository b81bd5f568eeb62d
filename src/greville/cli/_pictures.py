"""Pictures of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ._files import save_picture
from ._terminal import counted, in_picture

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#9aa3ad"


def draw_score(score: Any, summary: dict[str, Any], path: Path) -> None:
    """Regression: predictions and errors. Classification: confusion and calibration."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    look = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "font.size": 9,
    }
    with mpl.rc_context(look):
        figure = Figure(figsize=(9, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        if summary["task"] == "regression":
            _numbers(score, summary, left, right)
        else:
            _classes(score, summary, figure, left, right)
        how = ", each row before it was learned" if summary["prequential"] else ""
        title = f"{in_picture(summary['target'])}: {counted(summary['rows'], 'row')}{how}"
        figure.suptitle(title, fontsize=11, parse_math=False)
        save_picture(figure, path)


def _numbers(score: Any, summary: dict[str, Any], left: Any, right: Any) -> None:
    y, predicted = np.array(score.sample.rows).T
    both = np.concatenate([y, predicted])
    low, high = np.percentile(both, [0.2, 99.8]) if len(both) > 50 else (both.min(), both.max())
    margin = 0.04 * (high - low) or 1.0
    limits = low - margin, high + margin
    left.plot(limits, limits, color=_GREY, lw=1, zorder=1)
    left.scatter(
        y, predicted, s=9, alpha=min(1.0, 400 / len(y) + 0.15), color=_BLUE, lw=0, zorder=2
    )
    r2 = "" if summary["r2"] is None else f", R² {summary['r2']:.3g}"
    left.set(xlim=limits, ylim=limits, xlabel="true", ylabel="predicted")
    for axis in (left.xaxis, left.yaxis, right.xaxis, right.yaxis):
        if high >= 10_000:
            axis.set_major_formatter("{x:,.0f}")
    for axes in (left, right):
        axes.locator_params(axis="x", nbins=5)  # long numbers would touch each other
    left.set_title(f"predictions (RMSE {summary['rmse']:.4g}{r2})", loc="left", fontsize=10)
    errors = predicted - y
    reach = np.percentile(np.abs(errors), 99.5) * 1.1 or 1.0
    right.axhline(0, color=_GREY, lw=1)
    right.scatter(predicted, errors, s=9, alpha=min(1.0, 400 / len(y) + 0.15), color=_ORANGE, lw=0)
    right.set(xlim=limits, ylim=(-reach, reach), xlabel="predicted", ylabel="predicted - true")
    right.set_title(f"errors (mean size {summary['mae']:.4g})", loc="left", fontsize=10)


def _classes(score: Any, summary: dict[str, Any], figure: Any, left: Any, right: Any) -> None:
    labels, counts = score.matrix()
    shown = labels[:20]
    part = counts[: len(shown), : len(shown)]
    shares = part / np.maximum(part.sum(axis=1, keepdims=True), 1)
    image = left.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = [in_picture(label, 12) for label in shown]
    turned = {"rotation": 90} if max(map(len, names)) > 3 and len(names) > 4 else {}
    left.set_xticks(range(len(names)), names, parse_math=False, **turned)
    left.set_yticks(range(len(names)), names, parse_math=False)
    left.set(xlabel="predicted", ylabel="true")
    left.set_title(f"confusion (accuracy {summary['accuracy']:.4g})", loc="left", fontsize=10)
    if len(shown) <= 12:
        for i, row in enumerate(part):
            for j, count in enumerate(row):
                if count:
                    ink = "white" if shares[i, j] > 0.5 else "#1b1f24"
                    left.text(j, i, f"{count:,}", ha="center", va="center", fontsize=7, color=ink)
    figure.colorbar(image, ax=left, label="share of the true class", shrink=0.8)
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
    right.set_title("calibration", loc="left", fontsize=10)
