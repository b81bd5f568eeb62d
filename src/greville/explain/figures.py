"""Pictures inside a page: SVG whose ink is the colour of the text around it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from ..insight.pictures import BLUE, GREY, MOST_BARS, ORANGE, draw_effect, draw_importance
from .facts import Facts

# Stands for the colour of the text.
_INK = "#123456"

# Probabilities from which a point of the calibration curve is made.
_BINS = 10


def figures_of(facts: Facts) -> dict[str, list[tuple[str, str]]]:
    """For each section its pictures, as a title and an SVG."""
    quality = [("Residuals", _residuals), ("Predicted and true", _predicted)]
    if facts.certainty is not None:
        quality = [("Calibration", _calibration), ("Confusion", _confusion)]
    height = 0.9 + 0.34 * min(len(facts.importance.names), MOST_BARS)
    return {
        "quality": [(title, _svg(partial(draw, facts))) for title, draw in quality],
        "importance": [("", _svg(partial(draw_importance, facts.importance), (7.2, height)))],
        "effects": [("", _svg(partial(draw_effect, each))) for each in facts.effects],
    }


def _svg(draw: Callable[[Any], Any], size: tuple[float, float] = (4.2, 3.0)) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    look = {
        **dict.fromkeys(ink, _INK),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.formatter.limits": (-4, 6),
        "font.size": 9,
        "svg.fonttype": "none",
        "text.parse_math": False,
    }
    with mpl.rc_context(look):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        draw(axes)
        for axis in (axes.xaxis, axes.yaxis):
            reach = np.abs(axis.get_view_interval()).max()
            if type(axis.get_major_formatter()).__name__ == "ScalarFormatter" and reach >= 10_000:
                axis.set_major_formatter("{x:,.0f}")
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    svg = written.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return svg.replace(_INK, "currentColor").replace("DejaVu Sans", "system-ui")


def _predicted(facts: Facts, ax: Any) -> None:
    y, predicted = facts.target, facts.predicted
    ax.axline((y.mean(), y.mean()), slope=1, color=GREY, lw=1)
    ax.scatter(y, predicted, s=8, lw=0, color=BLUE, alpha=min(1.0, 300 / len(y) + 0.2))
    ax.set(xlabel="true", ylabel="predicted")
    ax.locator_params(axis="x", nbins=5)


def _residuals(facts: Facts, ax: Any) -> None:
    errors = facts.predicted - facts.target
    ax.hist(errors, bins=min(40, max(5, len(errors) // 10)), color=ORANGE, alpha=0.85)
    ax.axvline(0, color=GREY, lw=1)
    ax.set(xlabel="predicted - true", ylabel="rows")
    ax.locator_params(axis="x", nbins=5)


def _calibration(facts: Facts, ax: Any) -> None:
    claimed, right = facts.certainty, facts.predicted == facts.target
    assert claimed is not None
    place = np.minimum((claimed * _BINS).astype(int), _BINS - 1)
    bins = [place == b for b in np.unique(place)]
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, label="as good as it claims")
    points = np.array([[claimed[b].mean(), right[b].mean()] for b in bins])
    ax.plot(*points.T, "o-", color=ORANGE, ms=4, lw=1.2, label="measured")
    ax.legend(frameon=False, fontsize=8)
    ax.set(xlabel="probability claimed", ylabel="share that was right", xlim=(0, 1.02))


def _confusion(facts: Facts, ax: Any) -> None:
    labels = list(facts.model.classes)[:12]
    shown = np.isin(facts.target, labels) & np.isin(facts.predicted, labels)
    ConfusionMatrixDisplay.from_predictions(
        *(facts.target[shown], facts.predicted[shown]),
        labels=labels,
        display_labels=[str(label)[:12] for label in labels],
        cmap="Blues",
        colorbar=False,
        ax=ax,
        xticks_rotation=45,
        text_kw={"fontsize": 7},
    )
    ax.set(xlabel="predicted", ylabel="true")
