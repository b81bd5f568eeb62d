"""Estimators that take Dask arrays and data frames."""

from __future__ import annotations

from copy import copy
from operator import add
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .. import elm
from ..elm.calibration import rows_of_fit
from ..elm.capabilities import solver_adds
from ..elm.starting import start_from
from ..solvers import Solver
from ..validation import Seed
from ._blocks import Blocks, is_collection
from ._cluster import as_tree, compute
from ._look import look_at, rows_at, rows_for_layer
from ._model import DaskModel
from ._scores import check_counts, count_right

_COLUMNS = ("n_features_in_", "feature_names_in_")


class _Estimator(DaskModel):
    """What the regressor and the classifier share."""

    fitted_: Any
    publish: Any

    def __init__(
        self,
        hidden: int | Literal["auto"] | Any = "auto",
        solver: str | Solver = "opium",
        random_state: Seed = None,
        *,
        standardize: bool | Literal["auto"] = "auto",
        device: str | None = None,
        client: Any = None,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            hidden, solver, random_state, standardize=standardize, device=device
        )
        self.client = client

    def to_local(self) -> Any:
        """The ordinary estimator that has learned the same.

        Returns
        -------
        model : greville.ELMRegressor or greville.ELMClassifier
            It is fitted if this one is, and needs no cluster.
        """
        local = self.local(**self._local_parameters())
        if self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            self._copy_columns(self, local)
            local.publish(self.fitted_)
        return local

    def _take(self, local: Any) -> None:
        self._copy_columns(local, self)
        self.publish(local.fitted_)

    @staticmethod
    def _copy_columns(one: Any, other: Any) -> None:
        for name in _COLUMNS:
            if hasattr(one, name):
                setattr(other, name, getattr(one, name))
            else:
                vars(other).pop(name, None)

    def _accumulator(self, local: Any) -> Any:
        other = copy(local)
        other.publish(local.fitted_.accumulator())
        return other

    def _n_units(self, local: Any, blocks: Blocks) -> int:
        return int(local.fitted_.solver.shape.n_hidden)

    def _fit(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> Self:
        blocks, client = Blocks(X, y=y, sample_weight=sample_weight), self.client_
        model = self._unplaced()
        look = look_at(client, model, blocks)
        assert look.survey is not None
        start_from(model, look.survey, *rows_for_layer(client, model, blocks, look))
        model = self._with_rows(model, blocks, options)
        if model.fitted_.can_leave_out:
            places = rows_of_fit(look.survey.n)
            model.calibrate(*rows_at(client, places, blocks, look))
        self._take(model)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        The rows are read twice: units, classes and the hidden layer come from a first look at all
        of them. A third time, in part, where the layer is fitted to samples or chosen from some
        ("auto").

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
            Blocks may be dense, SciPy's sparse matrices or frames; their lengths may be unknown.
        y : Dask array, Series or data frame
            With the partitions of X.
        sample_weight : Dask array or Series, optional
            With the partitions of X.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(X, y, sample_weight)  # type: ignore[misc]
        _check_adds(self)
        return self._fit(X, y, sample_weight)

    @available_if(solver_adds)
    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows learned earlier: as if they had never been there, to rounding.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array, Series or data frame
            With the partitions of X.
        sample_weight : Dask array or Series, optional
            The weights they were learned with.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If they cannot be removed; the model is then unchanged.
        """
        if not is_collection(X):
            return super().unlearn(X, y, sample_weight)  # type: ignore[misc]
        return self._unlearn(X, y, sample_weight)


def _check_adds(model: Any) -> None:
    """Raise a ValueError for a solver whose model is not a sum over rows."""
    try:
        solver_adds(model)
    except AttributeError as error:
        raise ValueError(
            f"solver={model.solver!r}: {error} On Dask collections use 'opium' or 'greville', or "
            "call partial_fit with one block after the other."
        ) from error


class ELMRegressor(_Estimator, elm.ELMRegressor):
    """Regression on a Dask cluster: the model that one machine with all rows would have.

    Workers walk through the partitions and add rows up, and one model learns the sum; see
    docs/scale.md. Arguments that are not Dask collections are treated as `greville.ELMRegressor`
    treats them.

    Parameters
    ----------
    hidden : "auto", int or transformer, default="auto"
        The hidden layer, as for `greville.ELMRegressor`. One that looks at samples is fitted to at
        most 65,536 rows, at equal distances from each other; "auto" is chosen from 1000.
    solver : str or solver object, default="opium"
        "opium" or "greville", or such a solver; models of the others are no sums over rows.
    random_state : int, RandomState instance or None, default=None
    standardize : "auto" or bool, default="auto"
    device : str, optional
        A device of torch on which each worker learns, such as "cuda"; see docs/scale.md.
    client : distributed.Client, optional
        The cluster; by default the client that the program has started, or threads if there is
        none.

    Attributes
    ----------
    client_ : distributed.Client or None
    hidden_, solver_, epsilon_, n_samples_seen_, n_features_in_, feature_names_in_
        As for `greville.ELMRegressor`.

    Examples
    --------
    >>> import dask.array as da
    >>> from greville.dask import ELMRegressor
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> model = ELMRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.predict(X)
    dask.array<_predicted, shape=(1000,), dtype=float64, chunksize=(250,), chunktype=numpy.ndarray>
    >>> bool(model.score(X, X[:, 0] * X[:, 1]) > 0.99)
    True
    >>> model.to_local()
    ELMRegressor(random_state=0)
    """

    local = elm.ELMRegressor

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, or the first; epsilon is chosen again from all.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array, Series or data frame
            With the partitions of X.
        sample_weight : Dask array or Series, optional
            With the partitions of X.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().partial_fit(X, y, sample_weight)
        _check_adds(self)
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted targets, lazily, and if wanted how far off they may be.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return standard deviations too; the model then goes to the workers with
            everything that it knows, and not with its weights alone.

        Returns
        -------
        y : Dask array; for a data frame a Series, or a data frame for several outputs
        std : the same
            Only if `return_std`.
        """
        if not is_collection(X):
            return super().predict(X, return_std)
        options = {"return_std": True} if return_std else {}
        return self._answer(X, "predict", **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R², the mean over the outputs.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array, Series or data frame
            With the partitions of X.
        sample_weight : Dask array or Series, optional

        Returns
        -------
        score : float
        """
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))
        return self._r2(self.predict(X), y, sample_weight)

    def _like(self, method: str) -> Any:
        targets: Any = self.fitted_.targets
        shape = (0,) if targets.flat else (0, targets.n_outputs)
        return np.zeros(shape, targets.dtype)


class ELMClassifier(_Estimator, elm.ELMClassifier):
    """Classification on a Dask cluster: the model that one machine with all rows would have.

    Workers walk through the partitions and add rows up, and one model learns the sum; see
    docs/scale.md. Arguments that are not Dask collections are treated as `greville.ELMClassifier`
    treats them.

    Parameters
    ----------
    hidden : "auto", int or transformer, default="auto"
        The hidden layer, as for `greville.ELMClassifier`. One that looks at samples is fitted to at
        most 65,536 rows, at equal distances from each other; "auto" is chosen from 1000.
    solver : str or solver object, default="opium"
        "opium" or "greville", or such a solver; models of the others are no sums over rows.
    random_state : int, RandomState instance or None, default=None
    standardize : "auto" or bool, default="auto"
    device : str, optional
        A device of torch on which each worker learns, such as "cuda"; see docs/scale.md.
    client : distributed.Client, optional
        The cluster; by default the client that the program has started, or threads if there is
        none.

    Attributes
    ----------
    client_ : distributed.Client or None
    classes_, hidden_, solver_, epsilon_, n_samples_seen_, n_features_in_, feature_names_in_
        As for `greville.ELMClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from greville.dask import ELMClassifier
    >>> X, y = (da.from_array(A, chunks=300) for A in load_digits(return_X_y=True))
    >>> model = ELMClassifier(random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.9)
    True
    """

    local = elm.ELMClassifier

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, or the first; epsilon is chosen again from all.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array or Series
            With the partitions of X. Labels may be new.
        classes : array-like of labels, optional
            Labels to know from now on. Never needed: labels are learned as they appear.
        sample_weight : Dask array or Series, optional
            With the partitions of X.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().partial_fit(X, y, classes, sample_weight)
        _check_adds(self)
        options = {} if classes is None else {"classes": np.asarray(classes)}
        return self._partial_fit(X, y, sample_weight, **options)

    def predict(self, X: Any) -> Any:
        """The most likely labels, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        y : Dask array, or a Series for a data frame
        """
        return self._answer(X, "predict") if is_collection(X) else super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the classes, lazily.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        probabilities : Dask array; for a data frame one with a column for each class
        """
        if not is_collection(X):
            return super().predict_proba(X)
        return self._answer(X, "predict_proba")

    def decision_function(self, X: Any) -> Any:
        """The outputs for the classes, lazily; for two classes their difference.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)

        Returns
        -------
        scores : Dask array; for a data frame a Series, or one with a column for each class
        """
        if not is_collection(X):
            return super().decision_function(X)
        return self._answer(X, "decision_function")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are classified right.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_samples, n_features)
        y : Dask array or Series
            With the partitions of X.
        sample_weight : Dask array or Series, optional

        Returns
        -------
        score : float
        """
        if not is_collection(X):
            return float(super().score(X, y, sample_weight))
        blocks = Blocks(self.predict(X), y=y, sample_weight=sample_weight)
        tasks = [blocks.apply(count_right, i) for i in range(blocks.n)]
        right, count = compute(self.client_, as_tree(tasks, add))
        check_counts(count)
        return float(right / count)

    def _like(self, method: str) -> Any:
        targets, n = self.fitted_.targets, len(self.classes_)
        if method == "predict":
            return np.zeros(0, self.classes_.dtype)
        flat = method == "decision_function" and n == 2
        return np.zeros((0,) if flat else (0, n), targets.dtype)

    def _names_of_outputs(self, method: str) -> Any:
        return self.classes_
