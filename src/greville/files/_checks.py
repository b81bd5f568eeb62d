"""Whether the parts of an object go together, and whether it works.

What `load` would refuse, `save` refuses too; the trials are made when loading alone, since they
would make a live model learn the rows that wait.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..linalg import Array
from ..monitor import _BOLDNESS, _MOST
from ..solvers._bank import MEMORIES, Bank
from ..solvers._chosen import ChosenRoot
from ..solvers._root import Root
from ..solvers._rows import Waiting
from ..solvers.dynamic import FadingChosenRoot, FadingRoot
from ..solvers.sliding import WindowRoot
from ._errors import Wrong
from ._kinds import all_finite
from ._live import follow_again

# Numbers in a row, or in the weights, that no array in the file speaks for.
_MOST_NUMBERS = 1 << 23

# Roots up to this size are tried with all that waits; larger ones without, for want of memory.
_SMALL = 1 << 20

# What weights may not exceed: their products with activations would not be finite.
_LARGEST = {"d": 1e300, "f": 1e37}


def need(right: Any, what: str) -> None:
    """Raise unless something is right."""
    if not right:
        raise Wrong(what)


def finite(array: Array, what: str) -> None:
    need(all_finite(array), f"{what} has numbers that are not finite")


# States


def root(r: Root) -> None:
    R, Z, M = r.R, r.Z, r.n_hidden
    rank = len(Z)
    need(M >= 1, "a root has no columns")
    need(R.dtype == Z.dtype and Z.dtype.char in "fd", "the dtypes of a root differ")
    need(R.shape == (rank, rank) and Z.shape[1] >= 1, "the shapes of a root do not agree")
    need(R.flags.f_contiguous and Z.flags.f_contiguous, "a root is in the wrong order")
    if r.basis is None:
        need(rank == M, "a root has not the size it says")
    else:
        fits = r.basis.shape == (rank, M) and r.basis.dtype == Z.dtype and rank <= M
        need(fits, "the basis of a root does not fit it")
    need(r.loss.shape == Z.shape[1:] and r.loss.dtype == np.float64, "a root has a wrong loss")
    need(r.prior >= 0 and r.largest_row >= 0, "a root has negative sizes")
    need(r.lost >= 0, "a root has negative errors")
    need(r.count >= 0 and r.count_of_squares >= 0, "a root has negative counts")
    need(bool((r.loss >= 0).all()), "a root has a negative loss")
    if r.mean is not None:
        fits = r.mean.row.shape == (M,) and r.mean.target.shape == Z.shape[1:]
        need(fits, "the mean of a root does not fit it")
    W = r._weights
    need(W is None or (W.shape == (M, Z.shape[1]) and W.dtype == Z.dtype), "weights do not fit")
    need(M * (Z.shape[1] + 4) <= _MOST_NUMBERS + R.size + M * rank + Z.size, "a root is too wide")


def chosen_root(r: ChosenRoot) -> None:
    root(r)
    sums = r.sums
    need(type(sums) is Root and sums.n_hidden == r.n_hidden, "the sums of a root do not fit it")
    need(sums.Z.dtype == r.Z.dtype, "the sums of a root do not fit it")
    need(sums.Z.shape[1] == r.Z.shape[1], "the sums of a root do not fit it")
    need(r.basis is None or len(r.Z) == 0, "a root whose ridge is chosen has a basis")
    need(sums.basis is None or len(sums.Z) == 0, "the sums of a root have a basis")
    need(r.basis is not None or sums.basis is None, "a root has no sums")
    need(sums.mean is None, "the sums of a root have a mean of their own")
    need(r.epsilon >= sums.prior and r.least >= 0, "a root has impossible sizes")


def mean(m: Any) -> None:
    need(m.count >= 0, "a mean has a negative count")
    need(m.row.dtype == m.target.dtype == np.float64, "a mean is of another dtype")


def path(p: Any) -> None:
    need(p.epsilon.shape == p.evidence.shape and len(p.epsilon), "a path is not one")


def window_root(r: WindowRoot) -> None:
    root(r)
    for H, Y, weight in r.kept:
        need(H.shape[1:] == (r.n_hidden,), "the window has rows of another width")
        need(Y.shape[1:] == (r.Z.shape[1],), "the window has other targets")
        alike = H.dtype == Y.dtype == r.Z.dtype and weight.dtype.char in "fd"
        need(alike and bool((weight >= 0).all()), "the window has rows of another kind")


def bank(b: Bank) -> None:
    need(len(b.roots) == len(MEMORIES), "there are not as many memories as there should be")
    first = b.roots[0]
    for r in b.roots:
        alike = r.n_hidden == first.n_hidden and r.Z.shape[1] == first.Z.shape[1]
        need(alike and r.Z.dtype == first.Z.dtype, "memories do not go together")
    fits = b.squares.shape == (len(b.roots), first.Z.shape[1]) and b.squares.dtype == np.float64
    need(fits and (b.squares >= 0).all() and b.count >= 0, "errors of memories are none")


# Solvers

_STATES: dict[str, tuple[type, ...]] = {
    "Batch": (np.ndarray,),
    "OpiumLight": (np.ndarray,),
    "Greville": (Root,),
    "Opium": (Root, ChosenRoot),
    "DynamicOpium": (FadingRoot, FadingChosenRoot, Bank),
    "SlidingOpium": (WindowRoot,),
}


def solver(s: Any) -> None:
    if not s._started:
        return
    state, waiting = s._held
    need(type(state) in _STATES[type(s).__name__], "the state is that of another solver")
    if type(s).__name__ == "Opium":
        chosen, intercept = (bool(x) for x in s._started_with)
        need(isinstance(state, ChosenRoot) == chosen, "the state is another's")
        need((state.mean is not None) == intercept, "the state is another's")
    elif isinstance(state, Root):
        need(state.mean is None, "the state is another's")
    width, outputs, dtype = _size(state)
    need(s.n_features_in_ >= 1 and s._n_outputs >= 1, "there are no weights")
    need(width == s.n_features_in_, "the state has another width than the solver")
    need(outputs == s._n_outputs and (outputs == 1 or not s._flat), "the outputs do not fit")
    need(dtype == s._dtype, "the dtype of the state is not that of the solver")
    need(waiting.n <= s.n_samples_seen_, "more rows wait than were seen")
    if waiting.n:
        store = waiting.store
        need(store.H.shape[1] == width and store.Y.shape[1] == outputs, "waiting rows do not fit")
        need(store.H.dtype == dtype, "waiting rows are of another dtype")
        need(
            float(np.abs(store.H[: waiting.n]).max()) ** 2 <= s._limit, "waiting rows are too long"
        )
    if isinstance(state, WindowRoot):
        need(sum(len(c[0]) for c in state.kept) <= s.window, "the window is longer than it says")
    if hasattr(s, "feature_names_in_"):
        need(len(s.feature_names_in_) == s.n_features_in_, "the names do not fit")
    s._check_going_on()


def _size(state: Any) -> tuple[int, int, Any]:
    if isinstance(state, Bank):
        state = state.roots[0]
    if isinstance(state, Root):
        return state.n_hidden, state.Z.shape[1], state.Z.dtype
    return (*state.shape, state.dtype)


def _twin(s: Any) -> Any:
    """A copy that may look at itself without changing the original."""
    twin, (state, waiting) = copy(s), s._held
    if isinstance(state, Bank):
        state = Bank([r.copy() for r in state.roots], state.squares, state.count)
    elif isinstance(state, Root):
        state = state.copy()
    small = _size(state)[0] ** 2 <= _SMALL
    twin._held = (state, waiting if small else Waiting())
    twin.__dict__.pop("_ahead", None)
    if not small and isinstance(state, ChosenRoot) and state.basis is not None:
        twin._held = (state.sums, Waiting())  # the root would have to be made of them
    return twin


def _try_weights(twin: Any) -> None:
    W = twin._weights()
    finite(W, "the solution")
    need(np.abs(W).max(initial=0.0) < _LARGEST[W.dtype.char], "the solution is too large")


def try_solver(s: Any) -> None:
    follow_again(s)
    if s._started:
        twin = _twin(s)
        _try_weights(twin)
        zeros = np.zeros((1, s.n_features_in_), s._dtype)
        finite(twin.predict(zeros), "a prediction")


# Layers


def layer(x: Any) -> None:
    if not hasattr(x, "weights_"):
        return
    x.check_parameters()
    inputs, units = x.n_features_in_, x.n_hidden_
    need(inputs >= 1 and units >= 1, "the layer has no units")
    columns = (units + 1) // 2 if type(x).__name__ == "FourierLayer" else units
    W, bias = x.weights_, x.bias_
    need(W.shape == (inputs, columns) and W.dtype.char in "fd", "the layer's weights do not fit")
    need(inputs + units <= _MOST_NUMBERS + W.size, "the layer is too wide")
    need(bias is None or bias.shape == (columns,), "the layer's biases do not fit")
    if hasattr(x, "feature_names_in_"):
        need(len(x.feature_names_in_) == inputs, "the names do not fit")


def try_layer(x: Any) -> None:
    if hasattr(x, "weights_"):
        zeros = np.zeros((1, x.n_features_in_), x.weights_.dtype)
        finite(x.activations(zeros), "the layer")


# Estimators


def estimator(e: Any) -> None:
    if not hasattr(e, "fitted_"):
        return
    hidden, s, inputs, fitted = e.hidden_, e.solver_, e.n_features_in_, e.fitted_
    need(hasattr(hidden, "weights_") and s._started, "the estimator is fitted, its parts are not")
    need(hidden.n_features_in_ == inputs, "the layer has another number of inputs")
    need(hidden.n_hidden_ == s.n_features_in_, "the layer has other units than the solver")
    need(s._dtype == fitted.hidden.dtype and not s._flat, "the solver is of another kind")
    e._standardizes()
    if hasattr(e, "feature_names_in_"):
        need(len(e.feature_names_in_) == inputs, "the names do not fit")
    if type(e).__name__ == "ELMClassifier":
        outputs = len(e.classes_)
        need(
            outputs and np.array_equal(np.unique(e.classes_), e.classes_), "classes are not sorted"
        )
    else:
        outputs = fitted.targets.n_outputs
        need(outputs == 1 or not fitted.targets.flat, "the outputs do not fit")
    need(outputs == s._n_outputs, "the solver has other outputs")
    _units(fitted.hidden.scaling, inputs)
    _units(fitted.targets.scaling, outputs)
    if fitted.warmup is not None:
        need(not fitted.warmup.is_over, "first rows do not fit")
        _warmup(e, *fitted.warmup.rows)


def _units(scaling: Any, n: int) -> None:
    for part in (scaling.centre, scaling.unit):
        fits = part is None or (part.shape == (n,) and part.dtype == np.float64)
        need(fits, "units do not fit")
    need(scaling.unit is None or bool((scaling.unit > 0).all()), "units are not positive")


def _warmup(e: Any, X: Any, y: Array, weight: Array | None) -> None:
    n = X.shape[0]
    need(X.shape[1] == e.n_features_in_ and len(y) == n, "first rows do not fit")
    need(weight is None or (len(weight) == n and bool((weight >= 0).all())), "weights do not fit")
    if type(e).__name__ == "ELMClassifier":
        text = [a.dtype.kind in "UO" for a in (y, e.classes_)]
        need(y.ndim == 1 and (not n or text[0] == text[1]), "first labels do not fit")
        need(set(y.tolist()) <= set(e.classes_.tolist()), "first labels are not among the classes")
    else:
        need(y.ndim == 2 and y.shape[1] == e.fitted_.targets.n_outputs, "first targets do not fit")


def try_estimator(e: Any) -> None:
    if not hasattr(e, "fitted_"):
        return
    twin = copy(e)
    twin.solver_ = _twin(e.solver_)
    _try_weights(twin.solver_)
    zeros = np.zeros((1, e.n_features_in_), e.fitted_.hidden.dtype)
    if type(e).__name__ == "ELMClassifier":
        finite(twin.decision_function(zeros), "a prediction")
    else:
        finite(twin.predict(zeros), "a prediction")


# The rest


def scaling(s: Any) -> None:
    need(s.centre is None or s.unit is not None, "there is a centre without units")


def monitor(m: Any) -> None:
    need(0 < m.rate < 1 and m.warmup >= 1, "the monitor has impossible settings")
    need(len(m._bets) == len(_BOLDNESS) and min(m._bets) >= 0, "the monitor has other bets")
    need(len(m._known) <= _MOST, "the monitor knows too many errors")
    need(m._known == sorted(m._known) and min(m._known, default=0) >= 0, "errors are not sorted")
