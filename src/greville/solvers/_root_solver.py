"""What the solvers on a triangular root share: θ, ψ, the loss and standard deviations."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..devices import origin_of
from ._evidence import Path
from ._solver import OnlineSolver
from .fitted import Fitted
from .protocol import Capabilities
from .sums import Sums


class RootSolver(OnlineSolver):
    """A solver that knows a triangular root of what it has learned.

    Examples
    --------
    >>> from greville import Opium, OpiumLight
    >>> from greville.solvers import RootSolver
    >>> isinstance(Opium(), RootSolver), isinstance(OpiumLight(), RootSolver)
    (True, False)
    """

    capabilities: ClassVar[Capabilities] = Capabilities(tells_spread=True)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """X @ W and, if wanted, how far off it may be.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            The standard deviation of a new target at each row, for Gaussian noise: that of the
            noise, estimated from the residuals, and that of the weights, from θ. Infinite before
            any row. Only if `return_std`.
        """
        if not return_std:
            return super().predict(X)
        check_is_fitted(self)
        origin, X = origin_of(X), self._checked_rows(X, reset=False)
        fitted = self._flushed()
        return origin.answer((self._shaped(fitted.predict(X)), self._shaped(fitted.spread(X))))

    def prequential(
        self, X: Any, y: Any, sample_weight: Any = None, return_std: bool = False
    ) -> Any:
        """Predict every row before it is learned, and learn them all.

        What a loop of `predict` and `partial_fit` over single rows gives, to rounding, at the
        speed of matrix products.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        predictions : ndarray of the shape of y
            Row k was predicted from all rows learned earlier and the first k of these. Before
            anything was learned, the prediction is zero.
        std : ndarray of the shape of y
            What `predict` would have returned for each; infinite for the first row. Only if
            `return_std`.
        """
        if not return_std:
            return super().prequential(X, y, sample_weight)
        predicted, spread = self._learn(X, y, sample_weight, Fitted.record_with_spread)
        return origin_of(X).answer((self._shaped(predicted), self._shaped(spread)))

    def _root(self) -> Sums:
        return self._flushed().root()

    def _numpy(self, A: Array) -> Array:
        return self.fitted_.shape.backend.to_numpy(A)

    @property
    def theta_(self) -> Array:
        """The paper's θ, equation (11): the (pseudo)inverse of H'H.

        With an intercept, of the rows around their mean.
        """
        return self._numpy(self._root().theta())

    @property
    def psi_(self) -> Array:
        """The paper's ψ, equation (26)."""
        psi = self._numpy(self._root().psi())
        return psi[0] if self._flat else psi

    @property
    def loss_(self) -> Array | float:
        """What the weights minimise, at its minimum: ``|Y - HW|² + |epsilon·W|²`` of each output.

        With an intercept, of rows and targets around their means.
        """
        loss = self._root().loss
        return float(loss[0]) if self._flat else loss.copy()


class AdditiveSolver(RootSolver):
    """A solver whose state is a sum over rows: it can unlearn, and be merged with others.

    Examples
    --------
    >>> from greville import DynamicOpium, Opium
    >>> from greville.solvers import AdditiveSolver
    >>> isinstance(Opium(), AdditiveSolver), isinstance(DynamicOpium(), AdditiveSolver)
    (True, False)
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, tells_spread=True)

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows learned earlier: as if they had never been there, to rounding.

        Rows cannot be told from their sums. Where they were never learned, this is noticed only if
        what is left is not a sum of squares any more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If they cannot be removed; the model is then as it was.
        """
        check_is_fitted(self)
        self._learn(X, y, sample_weight, lambda fitted, rows: (fitted.unlearn(rows), None))
        return self

    def merge(self, *others: Self) -> Self:
        """Learn all that other models have learned: as if this one had seen all of their rows.

        Parameters
        ----------
        *others : solvers of the same kind, with the same parameters

        Returns
        -------
        self
        """
        for other in others:
            self._check_alike(other)

        def merged(fitted: Fitted) -> tuple[Fitted, None]:
            for other in others:
                fitted = fitted.merge(other.fitted_)
            return fitted, None

        self.change(merged)
        return self

    def frozen(self) -> Self:
        """A model that predicts the same and cannot learn: small enough to be sent anywhere."""
        check_is_fitted(self)
        return copy(self).restore(self.fitted_.frozen(), flat=self._flat)

    def _check_alike(self, other: Any) -> None:
        check_is_fitted(self)
        if type(other) is not type(self):
            raise ValueError(
                f"other: expected {type(self).__name__}, got {type(other).__name__}; only models "
                "of one kind can be merged."
            )
        check_is_fitted(other)
        for name, mine in self.get_params().items():
            if name == "device":
                continue
            theirs = other.get_params()[name]
            if mine != theirs:
                raise ValueError(
                    f"other: its {name} is {theirs}, that of this model {mine}; only models that "
                    "were started alike can be merged."
                )

    def __add__(self, other: Any) -> Self:
        """A new model that has learned what both have."""
        return copy(self).merge(other) if isinstance(other, type(self)) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented  # sum()


class ChoosingSolver(RootSolver):
    """A solver with ``epsilon="auto"``, which says what it has chosen and why.

    Examples
    --------
    >>> from greville import Greville, Opium
    >>> from greville.solvers import ChoosingSolver
    >>> isinstance(Opium(), ChoosingSolver), isinstance(Greville(), ChoosingSolver)
    (True, False)
    """

    @property
    def epsilon_(self) -> float:
        """The ε in use; where rows fade, what is left of it."""
        return float(self._root().prior)

    @property
    def intercept_(self) -> Array | float:
        """What is added to every prediction; zero without an intercept."""
        check_is_fitted(self)
        W = self._weights()
        zero = np.zeros(W.shape[1], self._dtype)
        added = W[0] if len(W) > self.n_features_in_ else zero
        return float(added[0]) if self._flat else added.copy()

    @abstractmethod
    def _path(self) -> Path | None:
        """The curve behind the last choice, if there was one."""

    def path(self) -> Path:
        """The evidence for each ε that was tried when ε was last chosen.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, the number `chosen`, and a method `plot`.

        Examples
        --------
        >>> import numpy as np
        >>> from greville import Opium
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(50, 40))
        >>> model = Opium("auto").fit(X, X[:, 0] + rng.normal(size=50))
        >>> path = model.path()
        >>> bool(path.chosen == path.epsilon[path.evidence.argmax()])
        True
        """
        check_is_fitted(self)
        path = self._path()
        if path is None:
            raise ValueError(
                "there is no path: epsilon was given, or the rows so far do not differ; pass "
                "epsilon='auto' and learn more rows."
            )
        return path
