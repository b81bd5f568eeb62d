"""Whether the fields of a stored state go together; a `FieldError` says which do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..fields import require

if TYPE_CHECKING:
    from ._evidence import Path
    from ._forgetting import Fading
    from ._mean import Mean
    from ._memories import Memories
    from ._ridge import Ridge
    from .sliding import Window
    from .sums import Sums

# Numbers in a row, or in the weights, for which a file need not have an array of that size.
_MAX_STATE_NUMBERS = 1 << 23

# Larger sizes have squares that are not finite.
_MAX_SIZE = 1e150


def check_mean(mean: Mean) -> None:
    require(mean.count >= 0, "a mean has a negative count")
    require(mean.row.dtype == mean.target.dtype == np.float64, "a mean is not float64")


def check_state(state: Sums) -> None:
    b, M, (rank, n_outputs) = state.backend, state.n_hidden, state.Z.shape
    require(M >= 1, "a state has no units")
    alike = b.dtype_of(state.R) == state.dtype and state.dtype.char in "fd"
    require(alike, "the dtypes of a state differ")
    require(state.R.shape == (rank, rank) and n_outputs >= 1, "the shapes of a state do not agree")
    if state.basis is None:
        require(rank == M, "a state has another rank than units, and no basis")
    else:
        fits = state.basis.shape == (rank, M) and b.dtype_of(state.basis) == state.dtype
        require(fits and rank <= M, "the basis of a state does not fit it")
    fits = state.loss.shape == (n_outputs,) and state.loss.dtype == np.float64
    require(fits, "the loss of a state does not fit it")
    sizes = (*state.tally[:3], state.prior, state.largest_row, state.lost)
    require(min(sizes) >= 0 and bool((state.loss >= 0).all()), "a state has a negative size")
    arrays = [state.R, state.Z]
    if state.mean is not None:
        fits = state.mean.row.shape == (M,) and state.mean.target.shape == (n_outputs,)
        require(fits, "the mean of a state does not fit it")
        arrays += [state.mean.row[None, :], state.mean.target[None, :]]
    squares = sum(float(b.column_squares(A).sum()) for A in arrays)
    fits = squares < np.finfo(state.dtype).max and max(state.prior, state.count) < _MAX_SIZE
    require(fits, "the numbers of a state are too large")
    wide = M * (n_outputs + 4) > _MAX_STATE_NUMBERS + rank * (rank + M + n_outputs)
    require(not wide, "a state is too wide")


def check_ridge(ridge: Ridge) -> None:
    sums, epsilon = ridge.sums, ridge.epsilon
    fits = sums.prior <= epsilon < _MAX_SIZE and 0 <= ridge.least < _MAX_SIZE
    fits = fits and (epsilon > 0 if ridge.chooses else epsilon == sums.prior)
    require(fits, "a state has an impossible epsilon")


def check_path(path: Path) -> None:
    fits = path.epsilon.shape == path.evidence.shape and len(path.epsilon)
    require(fits, "the path of epsilon has arrays of different lengths")


def check_fading(fading: Fading) -> None:
    require(min(fading.energy, fading.excited) >= 0, "a state that fades has a negative size")


def check_memories(memories: Memories) -> None:
    mixture, n = memories.mixture, len(memories.states)
    require(n == len(memories.alphas), "the mixture lacks some of its states")
    sizes = {size_of(state) for state in memories.states}
    require(len(sizes) == 1, "the states of the mixture do not agree")
    fits = mixture.squares.shape == (n, (sizes.pop() or (0, 0))[1])
    fits = fits and mixture.squares.dtype == np.float64 and bool((mixture.squares >= 0).all())
    require(fits and mixture.count >= 0, "the errors of the mixture do not fit it")


def check_window(window: Window) -> None:
    b, M, dtype = window.ridge.backend, window.ridge.n_hidden, window.ridge.dtype
    n_outputs = window.ridge.sums.Z.shape[1]
    require(window.ridge.mean is None, "the state of a window has a mean")
    fits = window.H.shape == (window.n, M) and window.Y.shape == (window.n, n_outputs)
    fits = fits and b.dtype_of(window.H) == b.dtype_of(window.Y) == dtype
    require(fits, "the rows of the window have another shape or dtype than the state")
    fits = window.weight.dtype == np.float64 and bool((window.weight >= 0).all())
    require(fits, "the weights of the window are negative or not float64")


def size_of(state: Any) -> tuple[int, int, np.dtype[Any]] | None:
    """The numbers of hidden units and of outputs, and the dtype; None for states not of here."""
    inner = _inside(state)
    if inner is not None:
        return size_of(inner)
    if isinstance(state, np.ndarray):
        return (*state.shape, state.dtype)  # the weights themselves
    if hasattr(state, "Z"):
        return state.n_hidden, int(state.Z.shape[1]), state.dtype
    return None


def structure_of(state: Any) -> tuple[Any, ...]:
    """The classes of a state and of those inside it, and whether there is a mean."""
    inner = _inside(state)
    if inner is not None:
        return type(state), *structure_of(inner)
    return type(state), getattr(state, "mean", None) is None


def _inside(state: Any) -> Any:
    """The first state that another one consists of; None for a `Sums` and for weights."""
    for name in ("sums", "ridge", "states"):
        if hasattr(state, name):
            inner = getattr(state, name)
            return inner[0] if isinstance(inner, tuple) and inner else inner
    return None
