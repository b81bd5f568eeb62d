"""What an estimator has learned, in words, from what is at hand."""

from __future__ import annotations

from typing import Any

from ..layers import Layer
from ..representation import named_list
from ..solvers import place_summary, solver_summary
from ._live import LiveELM
from .fitted import FittedELM
from .hidden import HiddenMap
from .labels import LabelTargets


def elm_summary(model: Any, fitted: FittedELM, live: LiveELM | None) -> dict[str, str]:
    """The summary of an estimator; `live` is what it is learning into, if it is.

    Nothing is asked of the estimator that would have rows learned which wait.
    """
    start = fitted if live is None else live.start_value
    n_seen = fitted.solver.n_seen if live is None else live.n_seen
    solver, targets, n_units = start.solver, start.targets, start.solver.shape.n_hidden
    values = [start.hidden, start.targets, solver, start.warmup]
    found = {
        "rows": f"{n_seen:,}",
        "inputs": named_list(getattr(model, "feature_names_in_", ()), start.hidden.n_inputs),
        "hidden layer": _layer_in_words(start.hidden, n_units),
    }
    if isinstance(targets, LabelTargets):
        found["classes"] = named_list(targets.classes.tolist(), targets.n_outputs)
    else:
        found["outputs"] = f"{targets.n_outputs:,}"
    found["solver"] = " ".join(repr(start.template).split())
    found |= solver_summary(solver, n_seen)
    return found | place_summary(solver, *values, *([] if live is None else [live.array]))


def _layer_in_words(hidden: HiddenMap, n_units: int) -> str:
    layer, n_direct = hidden.layer, hidden.n_direct
    if layer is None:
        return "none, the inputs themselves"
    units = layer.units_in_words() if isinstance(layer, Layer) else f"{n_units - n_direct:,}"
    more = f", and {n_direct:,} inputs that are units themselves" if n_direct else ""
    return f"{type(layer).__name__}, units: {units}{more}"
