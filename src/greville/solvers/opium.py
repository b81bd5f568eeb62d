"""OPIUM: the online pseudoinverse update method."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..linalg import Array
from ..validation import check_number, check_squares, check_switch
from ._additive import AdditiveSolver
from ._choosing import ChoosingSolver
from ._chosen import ChosenRoot
from ._evidence import Path
from ._mean import Followed
from ._root import Root
from ._rows import Rows, Waiting, block_length


class Opium(ChoosingSolver, AdditiveSolver):
    """OPIUM, eqs. (11)-(16) and (23)-(26): after every row the exact ridge solution of all rows.

    ``W = (H'H + epsilon²·I)⁻¹ H'Y``, recursive least squares. The paper updates θ, the inverse,
    which loses digits with every row; this updates a triangular root of θ⁻¹, which does not.

    Parameters
    ----------
    epsilon : float or "auto", default=1e-3
        The paper's ε, eq. (23): before any row, εI is mapped to zero. With 0 there is nothing to
        start from, and this is `Greville`. "auto" chooses the ε with the largest evidence
        (marginal likelihood): at the end of `fit`, `merge` and `unlearn` from all rows, in a
        stream whenever there are half as many rows again (later an eighth), so that how rows are
        cut into calls changes nothing.
    intercept : bool, default=False
        Whether to add a constant to the predictions, which ε does not hold back.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets
    intercept_ : ndarray of shape (n_outputs,), or float
    epsilon_ : float
        The ε in use; the weights are exactly those of this ε and all rows.
    theta_ : ndarray of shape (n_hidden, n_hidden)
    psi_ : ndarray of shape (n_outputs, n_hidden), or (n_hidden,)
    loss_ : ndarray of shape (n_outputs,), or float
    n_samples_seen_ : int
    n_features_in_ : int

    Notes
    -----
    M² operations a row for chunks of many rows, 2M² for short ones; reading the weights costs M²
    per output after short chunks. Memory is one M x M matrix, and one more while it learns. A
    sample weight w counts as w equal rows.

    ``epsilon="auto"`` keeps two M x M matrices, and follows short chunks at twice the price. A
    choice at the end of `fit` costs about five Cholesky factors, and for up to 400 units a singular
    value decomposition, five times as much. An intercept costs a few operations a number: rows are
    taken around their mean, which moves with every row.

    References
    ----------
    van Schaik & Tapson, "Online and Adaptive Pseudoinverse Solutions for ELM Weights".

    Examples
    --------
    >>> import numpy as np
    >>> from greville import Opium
    >>> H = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = Opium(epsilon=1e-6)
    >>> for a in H:
    ...     _ = model.partial_fit([a], [a @ [1.0, 2.0, 3.0]])
    >>> model.coef_.round(6)
    array([1., 2., 3.])
    """

    def __init__(self, epsilon: float | str = 1e-3, intercept: bool = False) -> None:
        self.epsilon = epsilon
        self.intercept = intercept

    def _check_parameters(self) -> None:
        check_switch("intercept", self.intercept)
        if isinstance(self.epsilon, str):
            if self.epsilon != "auto":
                raise ValueError(f"epsilon={self.epsilon!r}: pass 'auto' or a number >= 0.")
        else:
            check_number("epsilon", self.epsilon, low=0, include_low=not self.intercept)

    def _start(self, n_hidden: int, n_outputs: int, dtype: Any) -> Root:
        intercept = bool(self.intercept)
        if self.epsilon == "auto":
            return ChosenRoot(n_hidden, n_outputs, dtype, intercept=intercept)
        epsilon = float(self.epsilon)
        check_squares("epsilon", epsilon, dtype)
        return Root(n_hidden, n_outputs, epsilon, dtype, intercept=intercept)

    def _begin(self, n_hidden: int, n_outputs: int, dtype: Any) -> None:
        super()._begin(n_hidden, n_outputs, dtype)
        self._started_with = (self.epsilon == "auto", bool(self.intercept))

    def _check_outputs(self, name: str, Y: Array) -> None:
        super()._check_outputs(name, Y)
        if self._started_with != (self.epsilon == "auto", bool(self.intercept)):
            raise ValueError(
                "epsilon, intercept: a model that has started cannot change between a given and a "
                "chosen epsilon, nor with and without intercept; call fit to start again."
            )

    @property
    def coef_(self) -> Array:
        """The output weights, of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets."""
        check_is_fitted(self)
        free = int(self._started_with[1])
        return self._shaped(self._weights()[free:]).T.copy()

    @property
    def intercept_(self) -> Array | float:
        """What is added to every prediction; zero without an intercept."""
        check_is_fitted(self)
        zero = np.zeros(self._n_outputs, self._dtype)
        added = self._weights()[0] if self._started_with[1] else zero
        return float(added[0]) if self._flat else added.copy()

    # The choice of ε

    def _fit(self, rows: Rows) -> None:
        if not self._chooses:
            super()._fit(rows)
            return
        state = self._absorb_part(self._held[0], rows, choosing=True, cheap=False)
        self._held = (state, Waiting())
        self.n_samples_seen_ = rows.n

    def _changed(self, state: Any) -> Any:
        if self._chooses:
            state.choose(cheap=False)
        return state

    @property
    def _chooses(self) -> bool:
        return isinstance(self._held[0], ChosenRoot)

    def _absorb(self, state: Any, rows: Rows, seen: int) -> Any:
        if not self._chooses:
            return super()._absorb(state, rows, seen)
        due = self._last_due(seen + rows.n) - seen
        if due <= 0:
            return self._absorb_part(state, rows, choosing=False)
        rest = rows.part(due, rows.n) if due < rows.n else None
        return self._absorb_part(state, rows.part(0, due), choosing=True, rest=rest)

    def _absorb_part(
        self,
        state: Any,
        rows: Rows,
        *,
        choosing: bool,
        cheap: bool = True,
        rest: Rows | None = None,
    ) -> Any:
        """The state after some rows, with a choice at their end or without, and then the rest."""
        state = state.copy()
        state.tally(_counts(rows))
        blocks = self._blocks(rows, state.mean)
        more = None if rest is None else self._blocks(rest, blocks)
        both = state.absorb(blocks, rows.n, choosing=choosing, cheap=cheap, rest=more)
        state.mean = blocks.after
        if rest is not None and more is not None:
            state.tally(_counts(rest))
            if not both:
                state.absorb(more, rest.n)
            state.mean = more.after
        return state

    def _innovate(
        self, state: Any, H: Array, Y: Array, weight: Array, seen: int
    ) -> tuple[Any, Array]:
        state, errors = super()._innovate(state, H, Y, weight, seen)
        if self._chooses and self._last_due(seen + len(H)) == seen + len(H):
            state.choose(cheap=True)
        return state, errors

    def _chooser(self, state: Any, blocks: Followed, weight: Array, seen: int) -> Any:
        if not self._chooses:
            return None
        return _ChoicesInRecord(state, blocks, weight, seen, self._last_due)

    def _record_length(self, seen: int) -> int:
        longest = super()._record_length(seen)
        if self._chooses:
            longest = min(longest, _dues(seen, self.n_features_in_)[1] - seen)
        return longest

    def _reach(self, seen: int) -> int:
        reach = super()._reach(seen)
        if self._chooses:
            reach = min(reach, _dues(seen, self.n_features_in_)[1] - seen)
        return reach

    def _last_due(self, seen: int) -> int:
        """The last row at which ε was to be chosen."""
        return _dues(seen, self.n_features_in_)[0]

    # Leaving one out

    def loo_predict(self, H: Any, Y: Any, sample_weight: Any = None) -> Array:
        """Predict each of these rows, which were learned, as if it alone had not been.

        From the same sums, without learning anything again: y - e/(1 - h) for the error e of a row
        and its part h in its own prediction. ε stays as it is.

        Parameters
        ----------
        H : array-like of shape (n_samples, n_hidden)
        Y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.

        Returns
        -------
        predictions : ndarray of the shape of Y
        """
        check_is_fitted(self)
        return self._shaped(self._left_out(self._checked(H, Y, sample_weight, reset=False)))

    def _left_out(self, rows: Rows) -> Array:
        state = self._root()
        W = self._weights()
        parts = []
        for chunk in rows.slices(block_length(self.n_features_in_, self._dtype)):
            H, Y = rows.make(chunk.start, chunk.stop)
            weight = 1.0 if rows.weight is None else rows.weight[chunk]
            own = weight * state.lengths(H)
            if (own > 1 - _LEAST_LEFT_OUT[self._dtype.char]).any():
                raise ValueError(
                    "H: a row determines its own prediction, or was never learned; without it the "
                    "weights are not determined well enough to be predicted from. A larger epsilon "
                    "helps, and float64 where H is float32."
                )
            errors = Y - self._predicted(H, W)
            parts.append(Y - errors / (1 - own)[:, None].astype(Y.dtype))
        return np.concatenate(parts)


class _ChoicesInRecord:
    """Chooses ε after those blocks of a record at whose end it is due; `path` is the last."""

    def __init__(
        self,
        state: ChosenRoot,
        blocks: Followed,
        weight: Array,
        seen: int,
        last_due: Callable[[int], int],
    ) -> None:
        self._state = state
        self._blocks = blocks
        self._weight = weight
        self._seen = seen
        self._last_due = last_due
        self.path: Path | None = None

    def __call__(self, G: Array, C: Array, squares: Array) -> float | None:
        n = self._blocks.n_read
        if self._last_due(self._seen + n) != self._seen + n:
            return None
        now = self._state.copy()
        now.tally(self._weight[:n])
        now.mean = self._blocks.after
        ridge = now.ridge_by_gram(G, C, squares)
        self.path = now.path
        return ridge


# What must be left of a row's part in its own prediction, so that leaving it out keeps digits.
_LEAST_LEFT_OUT = {"d": 1e-10, "f": 1e-3}


def _counts(rows: Rows) -> Array:
    return np.ones(rows.n) if rows.weight is None else rows.weight


@lru_cache(maxsize=64)
def _dues(seen: int, n_hidden: int) -> tuple[int, int]:
    """The last row up to `seen` at which ε was to be chosen, and the next.

    After half as many rows again; from M rows on after M/2, which take about half as long to learn
    as a choice takes; later with every eighth.
    """
    last, following = 0, 1
    while following <= seen:
        last = following
        following += max(1, last // 8, min(last // 2, n_hidden // 2))
    return last, following
