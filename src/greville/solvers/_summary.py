"""What a solver has learned, in words, from what is at hand: nothing is computed but small sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import linalg
from ..backend import Array
from ..devices import named
from ..representation import memory_of, named_list, numbers, size_in_words
from ._derived import is_derived, replace
from ._exact import ExactAlgorithm
from ._forgetting import Fading, ForgettingAlgorithm
from ._in_place import InPlace
from ._memories import MemoriesAlgorithm
from ._ridge import Ridge
from .batch import BatchAlgorithm
from .fitted import Fitted
from .sliding import WindowAlgorithm

# Operations that may be done for a summary: some milliseconds.
_MOST_OPERATIONS = 8e6

# What part of the sum of squared targets an error must be, to have digits.
_LEAST_ERROR = {"d": 1e-9, "f": 1e-3}


def summary_of_solver(solver: Any, fitted: Fitted, live: InPlace | None) -> dict[str, str]:
    """The summary of a solver without an estimator; `live` are its arrays for single rows."""
    n_seen = fitted.n_seen if live is None else live.n_seen
    start = fitted if live is None else live.start_value
    shape, values = start.shape, [start, *([] if live is None else [live.array])]
    names = getattr(solver, "feature_names_in_", ())
    return {
        "rows": f"{n_seen:,}",
        "columns": named_list(names, shape.n_hidden),
        "outputs": f"{shape.n_outputs:,}",
        **solver_summary(start, n_seen),
        **error_in_words(training_error(start, n_seen)),
        **place_summary(start, *values),
    }


def solver_summary(fitted: Fitted, n_seen: int) -> dict[str, str]:
    """What a solver does with rows that become old, its ε, and where it is.

    Parameters
    ----------
    fitted : Fitted
    n_seen : int
        How many rows were seen: more than by `fitted`, where rows are learned in place.
    """
    epsilon, forgets = epsilon_at_hand(fitted, n_seen), _forgetting(fitted.algorithm)
    found = {}
    if epsilon is not None:
        chosen = getattr(fitted.algorithm, "epsilon", 0.0) is None
        found["epsilon"] = f"{epsilon:.4g}{', chosen from the rows' if chosen else ''}"
    if forgets is not None:
        found["forgetting"] = forgets
    return found


def place_summary(fitted: Fitted, *values: Any) -> dict[str, str]:
    """How much memory values take that belong to a solver, and where it learns."""
    return {"memory": size_in_words(memory_of(*values)), "device": named(fitted.shape.backend)}


def epsilon_at_hand(fitted: Fitted, n_seen: int) -> float | None:
    """The ε in use after so many rows; None where rows that wait would have to be learned first."""
    state, algorithm = fitted.state, fitted.algorithm
    learned = fitted.n_seen - fitted.pending.n
    if isinstance(algorithm, BatchAlgorithm):
        return algorithm.epsilon
    if isinstance(state, Fading) and n_seen > learned:  # whose ε fades with every row
        return None
    state = getattr(state, "ridge", state)
    if not isinstance(state, Ridge):
        return None
    if state.chooses:
        until = algorithm.rows_until_next_event(fitted.shape, learned)
        return max(state.epsilon, state.sums.prior) if n_seen - learned < until else None
    return state.epsilon if state.epsilon > 0 else None


def _forgetting(algorithm: Any) -> str | None:
    if isinstance(algorithm, (BatchAlgorithm, ExactAlgorithm)):
        return "none: all rows count alike"
    if isinstance(algorithm, WindowAlgorithm):
        return f"only the last {algorithm.window:,} rows count"
    if isinstance(algorithm, MemoriesAlgorithm):
        return "chosen by recent errors (alpha='auto')"
    if isinstance(algorithm, ForgettingAlgorithm):
        if algorithm.alpha == 1:
            return "none: all rows count alike"
        half = np.log(0.5) / np.log(2 - algorithm.alpha)
        return f"a row counts half as much after {half:,.0f} others (alpha={algorithm.alpha:g})"
    return None


def training_error(fitted: Fitted, n_seen: int) -> Array | None:
    """The root mean square of the errors on all rows learned, for each output.

    Where every row counts for ever, and it follows from sums that are there; else None.
    """
    state = fitted.state
    if n_seen != fitted.n_seen - fitted.pending.n or not isinstance(
        fitted.algorithm, ExactAlgorithm
    ):
        return None
    if not isinstance(state, Ridge) or not state.count > 0:
        return None
    if state.chooses and not is_derived(state, "root"):
        if state.sums.rank**3 > _MOST_OPERATIONS:
            return None
        state = replace(state)  # with a root that stays here: it would be followed there
    state = state.root
    b = state.backend
    if is_derived(state, "solved"):
        W = state.solved
    elif state.rank**2 * fitted.n_outputs <= _MOST_OPERATIONS:
        W = linalg.solve_weights(b, state.R, state.Z)
    else:
        return None
    squares = state.loss - state.prior**2 * b.column_squares(W)
    least = _LEAST_ERROR[state.dtype.char] * (state.loss + b.column_squares(state.Z))
    if state.lost > 0 or not (squares > least).all():  # too few digits are left
        return None
    return np.sqrt(squares / state.weight)


def error_in_words(error: Array | None) -> dict[str, str]:
    """A training error as an entry of a summary."""
    return {} if error is None else {"training error": f"RMSE {numbers(error)}"}
