"""Pictures of what a model has learned, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .effect import Effect
    from .importance import Importance

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#9aa3ad"
_COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8c6bb1", "#b5a80f")

# Columns, categories and classes that are shown, and characters of their names.
MOST_BARS, _MOST_CLASSES, _LONGEST = 15, 8, 24


def draw_importance(importance: Importance, ax: Any = None) -> Any:
    """Draw a bar for each column, the longest first."""
    ax = _axes(ax, (6, 0.6 + 0.32 * min(len(importance.names), MOST_BARS)))
    order = np.argsort(-importance.values, kind="stable")[:MOST_BARS]
    ax.barh(range(len(order)), importance.values[order], color=BLUE, height=0.62)
    ax.set_yticks(
        range(len(order)), [shortened(importance.names[i]) for i in order], parse_math=False
    )
    ax.invert_yaxis()
    by = "change of the prediction" if importance.change is not None else "growth of the error"
    ax.set_xlabel(f"{by}, in units of the target")
    return ax


def draw_effect(effect: Effect, ax: Any = None) -> Any:
    """Draw a curve with a band of two standard deviations, bars for categories, a map for two."""
    ax = _axes(ax, (5, 3.4))
    if len(effect.names) == 2:
        return _draw_two(effect, ax)
    (values,), (name,) = effect.values, effect.names
    outputs = effect.prediction.reshape(len(values), -1)
    spreads = None if effect.std is None else effect.std.reshape(len(values), -1)
    several = outputs.shape[1] > 1
    shown = range(outputs.shape[1])[1:] if outputs.shape[1] == 2 else range(outputs.shape[1])
    dates = values.dtype.kind == "M"
    numeric = values.dtype.kind in "fiu" or dates
    at = values if numeric else np.arange(len(values))
    for k, colour in zip(shown, _COLOURS[:_MOST_CLASSES], strict=False):
        label = None if effect.classes is None or not several else shortened(effect.classes[k])
        y = outputs[:, k]
        if numeric:
            ax.plot(at, y, color=colour, lw=1.6, label=label)
            if spreads is not None and np.isfinite(spreads[:, k]).all():
                band = 2 * spreads[:, k]
                ax.fill_between(at, y - band, y + band, color=colour, alpha=0.18, lw=0)
        else:
            error = None if spreads is None else 2 * spreads[:, k]
            ax.errorbar(at, y, yerror_of(error), fmt="o", color=colour, capsize=3, label=label)
    if not numeric:
        names = [shortened(value, 14) for value in values]
        turned = {"rotation": 45, "ha": "right"} if len(names) > 4 else {}
        ax.set_xticks(at, names, parse_math=False, **turned)
        ax.set_xlim(-0.6, len(names) - 0.4)
    elif dates:
        ax.tick_params(axis="x", rotation=30)
    else:
        ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(shortened(name), parse_math=False)
    ax.set_ylabel("mean prediction" if effect.classes is None else "mean output")
    if several and effect.classes is not None:
        ax.legend(frameon=False, fontsize=8)
    return ax


def yerror_of(error: Any) -> Any:
    """Bars of errors, where these are finite."""
    return error if error is not None and np.isfinite(error).all() else None


def _draw_two(effect: Effect, ax: Any) -> Any:
    across, upwards = effect.values
    outputs, label = effect.prediction, "mean prediction"
    if outputs.ndim == 3:
        outputs, label = outputs[..., -1], "mean output"
        label += "" if effect.classes is None else f" of {shortened(effect.classes[-1], 14)}"
    image = ax.imshow(outputs.T, origin="lower", aspect="auto", cmap="viridis")
    for axis, values in ((ax.xaxis, across), (ax.yaxis, upwards)):
        places = np.unique(np.linspace(0, len(values) - 1, min(len(values), 5)).round().astype(int))
        names = [value if isinstance(value, str) else f"{value:.4g}" if values.dtype.kind in "fiu"
                 else str(value) for value in values[places]]  # fmt: skip
        axis.set_ticks(places, [shortened(each, 14) for each in names], parse_math=False)
    ax.set_xlabel(shortened(effect.names[0]), parse_math=False)
    ax.set_ylabel(shortened(effect.names[1]), parse_math=False)
    ax.figure.colorbar(image, ax=ax).ax.set_ylabel(label, parse_math=False)
    return ax


def shortened(text: Any, longest: int = _LONGEST) -> str:
    """A name on one line, with an ellipsis where it is too long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=size, layout="constrained")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
