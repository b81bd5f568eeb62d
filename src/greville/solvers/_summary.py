"""What a solver has learned, in words, from what is at hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices import named
from ..representation import memory_of, named_list, size_in_words
from ._forgetting import FadingState
from ._in_place import InPlace
from ._memories import MemoriesState
from ._ridge import RidgeState
from ._state import State
from .batch import BatchState
from .sliding import WindowState


def summary_of_solver(solver: Any, fitted: State, live: InPlace | None) -> dict[str, str]:
    """The summary of a solver without an estimator; `live` are its arrays for single rows."""
    n_seen = fitted.n_seen if live is None else live.n_seen
    start = fitted if live is None else live.start_value
    names = getattr(solver, "feature_names_in_", ())
    return {
        "rows": f"{n_seen:,}",
        "columns": named_list(names, start.shape.n_hidden),
        "outputs": f"{start.shape.n_outputs:,}",
        **solver_summary(start, n_seen),
        **place_summary(start, start, *([] if live is None else [live.array])),
    }


def solver_summary(fitted: State, n_seen: int) -> dict[str, str]:
    """What a solver does with rows that become old, and its ε.

    Parameters
    ----------
    fitted : State
    n_seen : int
        How many rows were seen: more than by `fitted`, where rows are learned in place.
    """
    found = {}
    epsilon = _epsilon_at_hand(fitted, n_seen)
    if epsilon is not None:
        chosen = isinstance(fitted, RidgeState) and fitted.chooses
        found["epsilon"] = f"{epsilon:.4g}{', chosen from the rows' if chosen else ''}"
    forgetting = _forgetting(fitted)
    return found | ({} if forgetting is None else {"forgetting": forgetting})


def place_summary(fitted: State, *values: Any) -> dict[str, str]:
    """How much memory values take that belong to a solver, and where it learns."""
    return {"memory": size_in_words(memory_of(*values)), "device": named(fitted.shape.backend)}


def _epsilon_at_hand(state: State, n_seen: int) -> float | None:
    """The ε in use after so many rows; None where rows that wait would have to be learned first."""
    if isinstance(state, BatchState):
        return state.epsilon
    waiting = n_seen - state.n_seen + state.n_pending
    if not isinstance(state, RidgeState) or (isinstance(state, FadingState) and waiting):
        return None
    if state.chooses and waiting >= state.counted(n_seen - waiting).rows_until_event():
        return None
    return max(state.epsilon, state.sums.prior) or None


def _forgetting(state: State) -> str | None:
    if isinstance(state, WindowState):
        return f"only the last {state.window:,} rows count"
    if isinstance(state, MemoriesState):
        return "chosen by recent errors (alpha='auto')"
    if isinstance(state, FadingState) and state.alpha > 1:
        half = np.log(0.5) / np.log(2 - state.alpha)
        return f"a row counts half as much after {half:,.0f} others (alpha={state.alpha:g})"
    return "none: all rows count alike" if isinstance(state, (BatchState, RidgeState)) else None
