"""Rows into a state: the only place that chooses a route.

Many rows at once go through the Gram matrix, one matrix product and one Cholesky factor, unless its
condition number shows that too many digits would be lost: they are then read again, and go through
a QR factorisation of [R; H], as few rows do. Rows that do not span the space yet extend a basis.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np

from .. import linalg
from ..backend import Array
from ._chosen import Chosen, append_to_chosen, choose, innovate_chosen, learn_chosen_by_gram
from ._derived import is_derived
from ._evidence import Choice
from ._gram import SummedChunk, kept_gram, learn_by_gram, precisions, with_gram
from ._mean import Chunk
from ._qr import innovate_state, learn_by_qr
from ._state import State

Exact = State | Chosen


def learn(
    known: Exact,
    chunk: Chunk,
    *,
    decay: float = 1.0,
    choice: Choice | None = None,
    rest: Chunk | None = None,
) -> Exact:
    """R'R ← decay·R'R + H'H and R'Z ← decay·R'Z + H'Y, over all rows of a chunk.

    Parameters
    ----------
    known : State or Chosen
    chunk : Chunk
    decay : float
        What is left of the weight of all rows before.
    choice : Choice, optional
        Whether to choose ε after the chunk, and how; for a `Chosen`.
    rest : Chunk, optional
        Rows that come after the choice.
    """
    if chunk.n == 0:
        return known
    b, n_hidden = known.backend, known.n_hidden
    pays = gram_pays(known, chunk.n, choice)
    if pays:
        with b.few_threads(chunk.n * n_hidden**2):
            for precision in precisions(known.dtype):
                if isinstance(known, Chosen):
                    both = learn_chosen_by_gram(known, chunk, precision, decay, choice, rest)
                    if both is not None:
                        return both
                else:
                    found = learn_by_gram(known, chunk, precision, decay)
                    if found is not None:
                        state, gram = found
                        return with_gram(_noted(state, chunk, decay), gram)
    if isinstance(known, State):
        return _noted(learn_by_qr(known.faded(decay), chunk), chunk, decay)
    # A root at ε that is there already follows, if that costs less than to make it again.
    follow = not pays and choice is None and is_derived(known, "root")
    new = append_to_chosen(known.faded(decay), chunk, follow=follow)
    new = new.noted(chunk.count, chunk.count_of_squares, chunk.after, decay)
    if choice is not None:
        new = choose(new, choice)
    return new if rest is None else learn(new, rest)


def learn_sums(known: Exact, chunk: SummedChunk, choice: Choice | None) -> Exact | None:
    """`learn` for rows that were added up already; None where that has lost too many digits."""
    if chunk.n == 0:
        return known
    double = np.dtype(np.float64)
    with known.backend.few_threads(np.inf):
        if isinstance(known, Chosen):
            return learn_chosen_by_gram(known, chunk, double, 1.0, choice, None)
        if known.tol is not None and known.basis is not None:
            return None  # which rows are independent, the rows themselves say
        found = learn_by_gram(known, chunk, double, 1.0)
        return None if found is None else _noted(found[0], chunk, 1.0)


def _noted(state: State, chunk: Chunk | SummedChunk, decay: float) -> State:
    """With what the rows of a chunk count, and the mean after them."""
    return state.tallied(chunk.count, chunk.count_of_squares, decay).around(chunk.after)


def gram_pays(known: Exact, n_rows: int, choice: Choice | None) -> bool:
    """Whether so many rows are tall enough for the Gram matrix.

    M² operations a row against 2M² at half the speed, on one thread. Going from R to R'R and back
    costs (4/3)M³ more, and two estimates of the condition; from nothing to the first root M³/3.
    """
    b, n_hidden = known.backend, known.n_hidden
    if n_rows * n_hidden**2 < b.tuning.gram_operations or choice == "few rows":
        return False
    if isinstance(known, Chosen):
        fresh, ready = not known.sums.count, choice is not None or known.path is not None
    else:
        fresh = known.basis is not None
        ready = not fresh or (known.rank == 0 and known.tol is None)
    of_first, of_wide, of_narrow = b.tuning.gram_rows
    least = of_first if fresh else of_wide if n_hidden >= b.tuning.wide else of_narrow
    if not ready or n_rows < least * n_hidden:
        return False
    # A Gram matrix that adds to an ill-conditioned R is ill-conditioned too, unless rows are many.
    if isinstance(known, Chosen) or fresh or n_rows > 2 * n_hidden:
        return True
    if kept_gram(known, known.dtype) is not None:  # which was safe when it was made
        return True
    return linalg.gram_is_safe(b, known.R, known.dtype)


def innovate(
    known: Exact, H: Array, Y: Array, factor: Array, *, follow: bool = True
) -> tuple[Exact, Array]:
    """Learn a few rows multiplied by their factors; the error of each before it was learned.

    Rows with a factor of zero are only predicted. `factor` is NumPy's. With `follow` a root at a
    chosen ε follows the sums; without it, it is made again when it is needed.
    """
    b, stop = known.backend, 0
    errors = b.xp.empty_like(Y)
    for counts, run in groupby(factor > 0):
        start, stop = stop, stop + len(list(run))
        h, y = H[start:stop, :], Y[start:stop, :]
        if counts:
            f = b.asarray(factor[start:stop, None], known.dtype)
            if isinstance(known, Chosen):
                known, found = innovate_chosen(known, f * h, f * y, follow=follow)
            else:
                known, found = innovate_state(known, f * h, f * y)
            errors[start:stop, :] = found / f
        else:
            errors[start:stop, :] = y - b.matmul(h, known.root.weights)
    return known, errors
