"""Estimators and solvers whose methods also take Dask arrays and data frames."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from inspect import signature
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import numpy as np
from dask.dataframe.utils import meta_nonempty
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, mean_squared_error
from sklearn.utils.validation import check_is_fitted

from .. import elm, solvers
from ..elm.calibration import rows_of_fit
from ..elm.capabilities import make_solver
from ..elm.starting import places_for_layer
from ..validation import check_length, check_something_counts, check_weights, naming
from .blocks import Blocks, added_up, is_collection, whole_rows

_NO_ROWS = "X: it has no rows in any partition; there is nothing to learn."


class OnCluster:
    """The methods of an ordinary model, its `local` class, for Dask collections.

    `fit`, `partial_fit` and `unlearn` add rows up on the workers, and one model takes the sum;
    `predict`, `predict_proba` and `decision_function` are lazy. What is no Dask collection is
    treated as the ordinary model treats it. What was learned is in this process, as in that.
    """

    local: ClassVar[type[Any]]

    predict: Any
    replacement: Any
    device: Any

    def __init_subclass__(cls) -> None:
        for name in ("fit", "partial_fit", "unlearn", "score"):
            setattr(cls, name, _either(getattr(cls.local, name), getattr(cls, f"_{name}")))
        for name in ("predict", "predict_proba", "decision_function"):
            if hasattr(cls.local, name):
                setattr(cls, name, _either(getattr(cls.local, name), _answers(name)))

    def to_local(self) -> Any:
        """The ordinary model that has learned the same; it needs no cluster.

        Returns
        -------
        model : greville.ELMRegressor, ELMClassifier, Opium or Greville
        """
        local: Any = object.__new__(self.local)
        local.__setstate__(self.__getstate__())
        return local

    def _on_host(self) -> Any:
        """The ordinary model in the memory of this process."""
        local = self.to_local()
        return (local.to("cpu") if local.__sklearn_is_fitted__() else local).set_params(device=None)

    def _take(self, local: Any) -> Self:
        """Publish what an ordinary model has learned."""
        with self.replacement() as new:
            vars(new).clear()
            vars(new).update(local.__getstate__())
        return self

    # Learning

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Self:
        rows, local = Blocks(X, y=y, sample_weight=sample_weight), clone(self._on_host())
        if isinstance(local, solvers.Solver):
            return self._take(self._with_rows(local, rows, options))
        if not make_solver(local.solver).capabilities.adds:
            raise ValueError(
                f"solver={local.solver!r}: it is not a sum over rows; on Dask collections use "
                "'opium' or 'greville', or call partial_fit with one block after the other."
            )
        lengths, columns = zip(*rows.each(_head), strict=True)
        n, ends = sum(lengths), np.cumsum([0, *lengths])
        if not n:
            raise ValueError(_NO_ROWS)
        for i, names in enumerate(columns, 1):
            if names != columns[0]:
                raise ValueError(
                    f"partition {i} of {rows.n}: X: its columns are {', '.join(names[:8])}, and "
                    f"those of the first {', '.join(columns[0][:8])}; pass the same everywhere."
                )
        try:
            X, y, *weight = rows.at(places_for_layer(n, len(columns[0])), ends)
            local.prepare(X, y, n_rows=n, sample_weight=weight[0] if weight else None)
        except ValueError:
            rows.each(_prepare, dask.delayed(local, pure=False, traverse=False))  # names the block
            raise
        local = self._with_rows(local, rows, options)
        if local.fitted_.can_leave_out:
            local.calibrate(*rows.at(rows_of_fit(n), ends))
        return self._take(local)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        options = {} if classes is None else {"classes": np.asarray(classes)}
        local = self._on_host()
        if not local.__sklearn_is_fitted__():
            return self._fit(X, y, sample_weight, **options)
        rows = Blocks(X, y=y, sample_weight=sample_weight)
        return self._take(self._with_rows(local, rows, options))

    def _unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        check_is_fitted(self)
        local = self._on_host()
        sums = self._sums(local, Blocks(X, y=y, sample_weight=sample_weight), {})
        if sums is not None:
            if isinstance(local, solvers.Solver):
                local.change(lambda fitted: (fitted.without(sums.fitted_), None))
            else:
                local.subtract(sums)
        return self._take(local)

    def _with_rows(self, local: Any, rows: Blocks, options: Any) -> Any:
        """Return the ordinary model after all rows of the collection."""
        sums, started = self._sums(local, rows, options), local.__sklearn_is_fitted__()
        if sums is None and not started:
            raise ValueError(_NO_ROWS)
        if sums is not None:
            fitted = sums.fitted_
            state = fitted if isinstance(local, solvers.Solver) else fitted.solver
            check_something_counts(np.array([state.flushed().count]))
            if not started:  # a solver
                shape = fitted.shape
                size = shape.n_hidden, shape.n_outputs, shape.dtype
                local.start(*size, flat=sums.is_flat, b=shape.backend)
            local.merge(sums)
        return local

    def _sums(self, local: Any, rows: Blocks, options: Any) -> Any:
        """Return the sums over all rows; None if there are no rows."""
        start = local.accumulator(), self.device, options
        shared = dask.delayed(start, pure=False, traverse=False)
        sums = added_up(lambda before, i: rows.apply(i, _add, shared, before), rows.n, merged)
        return _on_the_host(sums)

    # Predicting

    def _score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or the mean R² of the outputs: 1 - squared error / variance."""
        rows = Blocks(self.predict(X), y=y, sample_weight=sample_weight)
        errors = [each for each in rows.each(_compare, is_classifier(self)) if each is not None]
        if not errors:
            raise ValueError("X: no row has a positive weight; there is nothing to compare.")
        count, mean, variance, loss = (np.array(each) for each in zip(*errors, strict=True))
        scatter = count @ (variance + (mean - count @ mean / count.sum()) ** 2)
        lost, varies = count @ loss, scatter > 0
        return float(np.where(varies, 1 - lost / np.where(varies, scatter, 1), lost == 0).mean())

    def _lazy(self, method: str, X: Any, part: int | None = None, **options: Any) -> Any:
        """The answers of a method to every block, or one of several, as a Dask collection."""
        model, X = self._on_host(), whole_rows("X", X)
        model = model if options else model.frozen()
        frames = not isinstance(X, da.Array)
        row = meta_nonempty(X._meta) if frames else np.zeros((1, model.n_features_in_))
        asked: Any = (method, part, options)
        like = _answered(row, (model, None), None, *asked)
        like = like.iloc[:0] if frames else like[:0]
        shared = dask.delayed((model, self.device), pure=False, traverse=False)
        if frames:
            return X.map_partitions(_answered, shared, like, *asked, meta=like)
        if X.ndim != 2:
            raise ValueError(f"X: expected a Dask array of two dimensions, got {X.ndim}.")
        chunks = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
        return da.map_blocks(
            _answered, X, shared, like, *asked, dtype=like.dtype, meta=like, **chunks
        )


def _either(ordinary: Any, on_cluster: Any) -> Any:
    """A method that is another one for Dask collections."""

    @wraps(ordinary)
    def method(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_collection(X):
            return ordinary(self, X, *args, **options)
        return on_cluster(**signature(ordinary).bind(self, X, *args, **options).arguments)

    return method


def _answers(name: str) -> Callable[..., Any]:
    def method(self: Any, X: Any, return_std: bool = False) -> Any:
        check_is_fitted(self)
        if return_std:
            return tuple(self._lazy(name, X, part, return_std=True) for part in (0, 1))
        return self._lazy(name, X)

    return method


# What workers do


def _head(X: Any, y: Any, weight: Any = None) -> tuple[int, list[str]]:
    """Return the number of rows of a block, and its columns as text."""
    check_length("y", len(y), X.shape[0])
    return X.shape[0], [repr(name) for name in getattr(X, "columns", range(X.shape[1]))]


def _prepare(model: Any, X: Any, y: Any, weight: Any = None) -> None:
    if X.shape[0]:
        clone(model).prepare(X, y, sample_weight=weight)


def _add(shared: Any, before: Any, X: Any, y: Any, weight: Any = None) -> Any:
    """Add one block to the sums of earlier blocks; None if no block has had a row yet."""
    start, device, options = shared
    if not (X.shape[0] or len(y)):
        return before
    sums = copy(start if before is None else before)
    if before is None and device is not None:
        sums.to(device)
    return sums.partial_fit(X, y, sample_weight=weight, **options)


def merged(model: Any, other: Any) -> Any:
    """The sums over the rows of both, in the memory of the host."""
    if model is None or other is None:
        return other if model is None else model
    return _on_the_host(model).merge(_on_the_host(other))


def _on_the_host(sums: Any) -> Any:
    return None if sums is None else copy(sums).to("cpu")


def _answered(X: Any, shared: Any, like: Any, method: str, part: int | None, options: Any) -> Any:
    """Call a method of the model for one block; the answer is a frame for a frame."""
    model, device = shared
    if not X.shape[0]:
        return like
    model = model if device is None else copy(model).to(device)
    answer = getattr(model, method)(X, **options)
    answer = answer if part is None else answer[part]
    if not hasattr(X, "iloc"):
        return answer
    import pandas

    if answer.ndim == 1:
        return pandas.Series(answer, X.index, name="prediction")
    return pandas.DataFrame(answer, X.index, getattr(model, "classes_", None))


def _compare(labels: bool, predicted: Any, y: Any, weight: Any = None) -> Any:
    """Return a block's weight, mean and variance of targets, and loss; None for zero weight."""
    answers, true = np.asarray(predicted), np.asarray(y)
    check_length("y", len(true), len(answers))
    w: Any = np.ones(len(true))
    if weight is not None and len(true):
        w = check_weights(np.asarray(weight), len(true), np.float64)
    if not w.any():
        return None
    with naming("y"):
        if labels:
            right = accuracy_score(true, answers, sample_weight=w)
            return w.sum(), np.zeros(1), np.ones(1), np.array([1 - right])
        true = true.reshape(len(true), -1)
        lost = mean_squared_error(true, answers, sample_weight=w, multioutput="raw_values")
    mean = np.average(true, 0, w)
    return w.sum(), mean, np.average((true - mean) ** 2, 0, w), lost


class ELMRegressor(OnCluster, elm.ELMRegressor):
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

    Attributes
    ----------
    hidden_, solver_, epsilon_, n_samples_seen_, n_features_in_, feature_names_in_
        As for `greville.ELMRegressor`.

    Examples
    --------
    >>> import dask.array as da
    >>> from greville.dask import ELMRegressor
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> model = ELMRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> model.predict(X)
    dask.array<_answered, shape=(1000,), dtype=float64, chunksize=(250,), chunktype=numpy.ndarray>
    >>> bool(model.score(X, X[:, 0] * X[:, 1]) > 0.99)
    True
    >>> model.to_local()
    ELMRegressor(random_state=0)
    """

    local = elm.ELMRegressor


class ELMClassifier(OnCluster, elm.ELMClassifier):
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

    Attributes
    ----------
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


class Opium(OnCluster, solvers.Opium):
    """`greville.Opium` on Dask arrays: exact ridge regression on the rows of a cluster.

    Parameters
    ----------
    epsilon : float or "auto", default=1e-3
    intercept : bool, default=False
    device : str, optional
        All as for `greville.Opium`.

    Examples
    --------
    >>> import dask.array as da
    >>> from greville.dask import Opium
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(300, 3))
    >>> Opium(epsilon=1e-6).fit(X, X @ [1.0, 2.0, 3.0]).coef_.round(6)
    array([1., 2., 3.])
    """

    local = solvers.Opium


class Greville(OnCluster, solvers.Greville):
    """`greville.Greville` on Dask arrays: the pseudoinverse solution of the rows of a cluster.

    Parameters
    ----------
    tol : float, optional
    device : str, optional
        Both as for `greville.Greville`.

    Examples
    --------
    >>> import dask.array as da
    >>> from greville.dask import Greville
    >>> X = da.ones((10, 2), chunks=(5, 2))
    >>> Greville().fit(X, 2 * da.ones(10, chunks=5)).coef_.round(12)
    array([1., 1.])
    """

    local = solvers.Greville
