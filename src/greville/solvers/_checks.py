"""Whether the fields of a stored state go together; a `FieldError` says which do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..fields import require

if TYPE_CHECKING:
    from ._evidence import Path
    from ._mean import Mean
    from .sums import Sums

# Numbers in a row, or in the weights, for which a file need not have an array of that size.
_MAX_STATE_NUMBERS = 1 << 23

# Larger sizes have squares that are not finite.
MAX_SIZE = 1e150


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
    fits = squares < np.finfo(state.dtype).max and max(state.prior, state.count) < MAX_SIZE
    require(fits, "the numbers of a state are too large")
    wide = M * (n_outputs + 4) > _MAX_STATE_NUMBERS + rank * (rank + M + n_outputs)
    require(not wide, "a state is too wide")


def check_path(path: Path) -> None:
    fits = path.epsilon.shape == path.evidence.shape and len(path.epsilon)
    require(fits, "the path of epsilon has arrays of different lengths")
