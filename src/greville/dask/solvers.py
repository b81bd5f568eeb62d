"""Solvers that take Dask arrays of hidden activations."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from .. import solvers
from ._blocks import Blocks, is_collection
from ._model import DaskModel


class _Solver(DaskModel):
    """What both solvers share."""

    is_flat: Any
    fitted_: Any
    restore: Any

    def to_local(self) -> Any:
        """The ordinary solver that has learned the same; it needs no cluster."""
        local = self.local(**self._local_parameters())
        if self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            local.restore(self.fitted_, flat=self.is_flat)
        return local

    def _take(self, local: Any) -> None:
        self.restore(local.fitted_, flat=local.is_flat)

    def _accumulator(self, local: Any) -> Any:
        return solvers.Accumulator.for_solver(local)

    def _n_units(self, local: Any, blocks: Blocks) -> int:
        return blocks.n_columns

    def _fit(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        blocks = Blocks(X, y=y, sample_weight=sample_weight)
        self._take(self._with_rows(self._unplaced(), blocks, options))
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        Parameters
        ----------
        X : Dask array of shape (n_samples, n_hidden)
        y : Dask array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : Dask array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, or the first.

        Parameters
        ----------
        X : Dask array of shape (n_samples, n_hidden)
        y : Dask array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : Dask array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().partial_fit(X, y, sample_weight)  # type: ignore[misc]
        return self._partial_fit(X, y, sample_weight)

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows learned earlier: as if they had never been there, to rounding.

        Parameters
        ----------
        X : Dask array of shape (n_samples, n_hidden)
        y : Dask array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : Dask array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().unlearn(X, y, sample_weight)  # type: ignore[misc]
        return self._unlearn(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """X @ W, lazily, and if wanted how far off it may be.

        Parameters
        ----------
        X : Dask array of shape (n_samples, n_hidden)
        return_std : bool, default=False

        Returns
        -------
        y : Dask array of shape (n_samples,) or (n_samples, n_outputs)
        std : the same
            Only if `return_std`.
        """
        options = {"return_std": True} if return_std else {}
        if not is_collection(X):
            return super().predict(X, **options)  # type: ignore[misc]
        return self._answer(X, "predict", **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R², the mean over the outputs.

        Parameters
        ----------
        X : Dask array of shape (n_samples, n_hidden)
        y : Dask array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : Dask array of shape (n_samples,), optional

        Returns
        -------
        score : float
        """
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        return self._r2(self.predict(X), y, sample_weight)

    def _like(self, method: str) -> Any:
        shape = self.fitted_.shape
        return np.zeros((0,) if self.is_flat else (0, shape.n_outputs), shape.dtype)


class Opium(_Solver, solvers.Opium):
    """`greville.Opium` on Dask arrays: exact ridge regression on the rows of a cluster.

    Parameters
    ----------
    epsilon : float or "auto", default=1e-3
    intercept : bool, default=False
    device : str, optional
    precision : "tf32", optional
        All as for `greville.Opium`.
    client : distributed.Client, optional
        The cluster; by default the client that the program has started, or threads if there is
        none.

    Examples
    --------
    >>> import dask.array as da
    >>> from greville.dask import Opium
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(300, 3))
    >>> Opium(epsilon=1e-6).fit(X, X @ [1.0, 2.0, 3.0]).coef_.round(6)
    array([1., 2., 3.])
    """

    local = solvers.Opium

    def __init__(
        self,
        epsilon: float | Literal["auto"] = 1e-3,
        intercept: bool = False,
        *,
        device: str | None = None,
        precision: Literal["tf32"] | None = None,
        client: Any = None,
    ) -> None:
        super().__init__(epsilon, intercept, device=device, precision=precision)
        self.client = client


class Greville(_Solver, solvers.Greville):
    """`greville.Greville` on Dask arrays: the pseudoinverse solution of the rows of a cluster.

    Parameters
    ----------
    tol : float, optional
    device : str, optional
        Both as for `greville.Greville`.
    client : distributed.Client, optional
        The cluster; by default the client that the program has started, or threads if there is
        none.

    Examples
    --------
    >>> import dask.array as da
    >>> from greville.dask import Greville
    >>> X = da.ones((10, 2), chunks=(5, 2))
    >>> Greville().fit(X, 2 * da.ones(10, chunks=5)).coef_.round(12)
    array([1., 1.])
    """

    local = solvers.Greville

    def __init__(
        self, tol: float | None = None, *, device: str | None = None, client: Any = None
    ) -> None:
        super().__init__(tol, device=device)
        self.client = client
