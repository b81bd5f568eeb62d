"""What all solvers share: scikit-learn's methods, the checks and the shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import nan
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .. import backend
from ..backend import Array, Backend
from ..backend.scipy import DOT
from ..compiled import usable, worth_loading
from ..devices import (
    Movable,
    Scoring,
    backend_for,
    check_place,
    check_still_there,
    check_together,
    float_of,
    is_on_device,
    is_tensor,
    may_be_moved,
    origin_of,
    place_of,
    received,
    received_on_host,
)
from ..representation import Described
from ..validation import (
    FLOATS,
    check_magnitude,
    check_one,
    check_one_target,
    check_rows,
    check_something_counts,
    check_targets,
    check_tensor_rows,
    check_tensor_targets,
    check_weights,
    largest_square,
)
from ._in_place import InPlace
from ._publishing import Publishing
from ._rows import LateCheck
from .fitted import Fitted
from .protocol import Algorithm, Capabilities, Rows, Shape

# Rows of an array that are learned at once, wherever it is.
_MANY_ROWS = 4096

# Pending rows of float32 from which on they are learned for good when the model is read.
_FEW_IN_FLOAT32 = 32


class Solver(
    Publishing,
    Scoring,
    Movable,
    MultiOutputMixin,
    RegressorMixin,
    Described,
    BaseEstimator,
    ABC,
):
    """A linear model of hidden activations.

    A subclass has parameters, and `algorithm` says how they are used. `Publishing` says how what
    was learned is replaced.

    Examples
    --------
    >>> from greville import Batch
    >>> from greville.solvers import Solver
    >>> isinstance(Batch(), Solver)
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities(online=False)

    # Parameters of all solvers, and of some
    device: Any = None
    precision: Any = None

    n_features_in_: int
    _fitted: Fitted | None
    _live: InPlace | None
    _dtype: np.dtype[Any]
    _flat = False

    @abstractmethod
    def algorithm(self) -> Algorithm:
        """How it learns, for the parameters as they are; a ValueError if one is out of range."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with self.replacement() as new:
            rows, fitted, flat = new._checked_first(X, y, sample_weight)
            check_something_counts(rows.weight)
            new.restore(fitted.learn_all(rows), flat=flat)
        return self

    def predict(self, X: Any) -> Array:
        """X @ W.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        origin, X = origin_of(X), self._checked_rows(X, reset=False)
        fitted = self.fitted_
        predicted = fitted.predict(X)
        self._keep_flushed(fitted)
        return origin.answer(self._shaped(predicted))

    def predict_one(self, x: Any) -> Any:
        """The prediction for one row, in a few microseconds more than the arithmetic takes.

        Parameters
        ----------
        x : array of shape (n_hidden,)

        Returns
        -------
        y : number, or ndarray of shape (n_outputs,)
            What ``predict([x])[0]`` gives, to rounding.
        """
        live = self._live
        if live is not None:
            if self._flat:  # written out: a call takes as long as the arithmetic
                try:
                    predicted = live.predict(x)
                except live.kernels.refusals:  # not an array of this dtype
                    predicted = nan
                if predicted == predicted:  # noqa: PLR0124 - not NaN
                    return live.number(predicted)
            else:
                predicted = live.predicted(x)
                if predicted is not None:
                    return predicted
        return self._predict_checked_row(live, x)

    def _predict_checked_row(self, live: InPlace | None, x: Any) -> Any:
        """Check a row that kernels refused, and predict it."""
        if is_tensor(x):
            return self._predicted_tensor(x)
        x = self._checked_one(x)
        if live is not None:
            predicted = live.predicted(x)
            if predicted is not None:
                return predicted
        fitted = self.fitted_ if live is None else live.close()
        if live is None and fitted.shape.kernels is None:
            return self.predict(x[None])[0]
        asks = live is None and fitted is not self._not_live and not fitted.pending.n
        if asks and worth_loading() and self._has_parameters_of(fitted):
            with self._unless_learning() as free:
                goes_live = free and self._goes_live(fitted)
            if goes_live:
                return self.predict_one(x)
        predicted = fitted.predict_one(x)
        self._keep_flushed(fitted)
        if self._flat:
            return self._dtype.type(predicted)
        return np.array(predicted, self._dtype).reshape(fitted.n_outputs)

    def _predicted_tensor(self, x: Any) -> Any:
        """The prediction for a row that is a tensor, as one."""
        if is_on_device(x):
            return self.predict(x[None])[0]
        return origin_of(x).answer(np.asarray(self.predict_one(received(x, "x"))))

    @property
    def coef_(self) -> Array:
        """The output weights, of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets."""
        check_is_fitted(self)
        W = self._weights()
        return self._shaped(W[len(W) - self.n_features_in_ :]).T.copy()

    @property
    def n_samples_seen_(self) -> int:
        """The number of rows seen so far."""
        live = self._live
        return self.fitted_.n_seen if live is None else live.n_seen

    def summary(self) -> dict[str, str]:
        """What was learned, in words: the table that notebooks show. Empty before `fit`.

        It takes next to no time and changes nothing. What is not at hand is left out.

        Examples
        --------
        >>> from greville import Opium
        >>> Opium(0.5).fit([[1.0, 0.0], [0.0, 2.0]], [3.0, 4.0]).summary()["epsilon"]
        '0.5'
        """
        live, fitted = self._live, self._fitted
        if fitted is None:
            return {}
        from ._summary import summary_of_solver  # which knows all algorithms

        return summary_of_solver(self, fitted, live)

    # For other packages

    @property
    def is_flat(self) -> bool:
        """Whether the targets are 1-d."""
        return self._flat

    def start(
        self,
        n_hidden: int,
        n_outputs: int,
        dtype: Any,
        *,
        flat: bool = False,
        b: Backend | None = None,
    ) -> Self:
        """Forget everything, and be ready for rows of this size.

        Parameters
        ----------
        n_hidden, n_outputs : int
        dtype : float32 or float64
        flat : bool
            Whether the targets are 1-d.
        b : Backend, optional
            Where to learn.
        """
        b = backend.default() if b is None else b
        shape = Shape(b, n_hidden, n_outputs, np.dtype(dtype))
        return self.restore(Fitted.start(self.algorithm(), shape), flat=flat)

    def restore(self, fitted: Fitted, *, flat: bool = False) -> Self:
        """Go on from what a solver with these parameters has learned.

        Parameters
        ----------
        fitted : Fitted
        flat : bool
            Whether the targets are 1-d.
        """
        shape, dtype = fitted.shape, np.dtype(fitted.dtype.char)  # NumPy's own object
        with self._lock:
            if self._live is not None:
                self._live.close()
            self.__dict__.update(
                _fitted=fitted,
                _live=None,
                _live_from=0,
                _flat=flat,
                _dtype=dtype,
                n_features_in_=shape.n_hidden,
            )
        return self

    def _keep_flushed(self, fitted: Fitted) -> None:
        """Publish a value that was flushed while it was read, unless there is a newer one.

        In float32 a few rows stay pending: learned one by one, they would lose digits.
        """
        few = fitted.dtype == np.float32 and fitted.pending.n < _FEW_IN_FLOAT32
        if fitted.pending.n and fitted.is_flushed and not few and self._live is None:
            self.exchange(fitted, fitted.flushed())

    def _goes_live(self, fitted: Fitted) -> bool:
        """Start to learn single rows in place, if kernels can go on from `fitted`."""
        if fitted.n_seen < self._live_from or not usable():
            return False
        return self._go_live(fitted, InPlace.start(fitted, single=self._flat))

    def __setattr__(self, name: str, value: Any) -> None:
        if self._live is not None and not name.startswith("_"):
            self.leave_live()  # the parameter counts from the next row on
        super().__setattr__(name, value)

    def _has_parameters_of(self, fitted: Fitted) -> bool:
        """Whether no parameter was set to another value since."""
        try:
            return self.algorithm() == fitted.algorithm
        except ValueError:  # which the next row will raise
            return False

    def _flushed(self) -> Fitted:
        """The learned value, with no row pending."""
        check_is_fitted(self)
        fitted = self.fitted_
        flushed = fitted.flushed()
        self._keep_flushed(fitted)
        return flushed

    def _weights(self) -> Array:
        fitted = self.fitted_
        W = fitted.shape.backend.to_numpy(fitted.weights())
        self._keep_flushed(fitted)
        return W

    def _move(self, b: Backend) -> None:
        with self._lock:
            if self._fitted is not None:
                self.convert(lambda fitted: (fitted.on(b), None))

    def __getstate__(self) -> Any:
        return self.pickled_state(super().__getstate__())

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if self._fitted is not None:
            self._dtype = np.dtype(self._dtype.char)

    # Checks

    def _checked_one(self, x: Any) -> Array:
        """One row, converted where that is possible."""
        check_is_fitted(self)
        n, dtype = self.n_features_in_, self._dtype
        usual = type(x) is np.ndarray and x.dtype == dtype and x.shape == (n,)
        if usual and DOT[dtype](x, x) < largest_square(dtype):
            return x
        x = check_one(x, "x", n, dtype)
        check_magnitude("x", x)
        return x

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        step: Callable[[Fitted, Rows], tuple[Fitted, Any]],
    ) -> Any:
        """Publish what `step` makes of rows, the first or more; return what else it returns."""
        with self._lock:
            if self._fitted is None:
                with self.replacement() as new:
                    rows, fitted, flat = new._checked_first(X, y, sample_weight)
                    fitted, answer = step(fitted, rows)
                    new.restore(fitted, flat=flat)
                return answer
            rows = self._checked(X, y, sample_weight)
            return self.change(lambda fitted: step(fitted.with_algorithm(self.algorithm()), rows))

    def _checked_first(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Fitted, bool]:
        """The first rows, the value from which they are learned, and whether targets are 1-d."""
        origin, X = origin_of(X), self._checked_rows(X, reset=True)
        b = backend_for(self.device, origin, X.shape[1], self.precision)
        dtype = float_of(X) if is_on_device(X) else X.dtype
        rows, y = self._rows_of(X, y, sample_weight, origin, b, dtype)
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        shape = Shape(b, X.shape[1], n_outputs, np.dtype(dtype))
        return rows, Fitted.start(self.algorithm(), shape), y.ndim == 1

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """More rows, with as many outputs as the first."""
        origin, X = origin_of(X), self._checked_rows(X, reset=False)
        fitted = self._fitted
        assert fitted is not None
        rows, y = self._rows_of(X, y, sample_weight, origin, fitted.shape.backend, self._dtype)
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        if n_outputs != fitted.n_outputs:
            raise ValueError(
                f"y: got {n_outputs} outputs, but this model was started with "
                f"{fitted.n_outputs}; pass as many, or call fit to start again."
            )
        return rows

    @staticmethod
    def _rows_of(
        X: Any, y: Any, sample_weight: Any, origin: Any, b: Backend, dtype: Any
    ) -> tuple[Rows, Any]:
        """Rows to learn, and the checked targets as they were passed."""
        check_together(y, "y", origin, "X")
        y, n = received(y, "y"), X.shape[0]
        y = check_tensor_targets(y, "y", n) if is_on_device(y) else check_targets(y, "y", n, dtype)
        weight = check_weights(received_on_host(sample_weight, "sample_weight"), n, dtype)
        late = place_of(b) is not None
        if not is_on_device(X) and not (late and n >= _MANY_ROWS):
            check_magnitude("X", X, weight)
        if not is_on_device(y):
            check_magnitude("y", y, weight)
        check = LateCheck(b, dtype, ("X", "y"), weight) if late else None
        return Rows.of(X, y.reshape(n, -1), weight, check), y

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Rows of the right shape, where they may be; those on a device are not looked at."""
        origin, X = origin_of(X), received(X, "X")
        fitted = None if reset else self._fitted
        if fitted is not None:
            check_still_there(fitted.shape.backend, self.device)
            check_place(fitted.shape.backend, self.device, origin, "X")
        if is_on_device(X):
            return check_tensor_rows(self, X, "X", reset=reset)
        options: dict[str, Any] = {"dtype": FLOATS if reset else self._dtype, "order": "C"}
        on_device = fitted is not None and place_of(fitted.shape.backend) is not None
        moved = on_device or (reset and may_be_moved(self.device))
        if moved and isinstance(X, np.ndarray) and len(X) >= _MANY_ROWS:
            options["ensure_all_finite"] = False  # the device looks at them, which is faster
        return check_rows(self, X, "X", reset=reset, **options)

    def _shaped(self, y: Array) -> Array:
        """Outputs (2-d) in the shape of the targets."""
        return y[:, 0] if self._flat else y


class OnlineSolver(Solver):
    """A solver that also learns from rows as they come.

    Examples
    --------
    >>> from greville import Batch, Opium
    >>> from greville.solvers import OnlineSolver
    >>> isinstance(Opium(), OnlineSolver), isinstance(Batch(), OnlineSolver)
    (True, False)
    """

    capabilities: ClassVar[Capabilities] = Capabilities()

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows. The chunk size does not change the result, apart from rounding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._learn(X, y, sample_weight, lambda fitted, rows: (fitted.learn(rows), None))
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row: what ``partial_fit([x], [y])`` does, without its checks of whole tables.

        Mixed with any other method at any point, the answers are those of either alone.

        Parameters
        ----------
        x : array of shape (n_hidden,)
        y : number, or array of shape (n_outputs,)

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from greville import Opium
        >>> model = Opium(epsilon=1e-6)
        >>> for x in np.random.default_rng(0).normal(size=(100, 3)):
        ...     if model.learn_one(x, x @ [1.0, 2.0, 3.0]).n_samples_seen_ > 50:
        ...         error = model.predict_one(x) - x @ [1.0, 2.0, 3.0]
        >>> bool(abs(error) < 1e-6)
        True
        """
        live = self._live
        if live is not None:
            try:
                status = live.learn(x, y)
            except live.kernels.refusals:  # as above, or not a number
                status = None
            if status == 0:
                return self
            return self._learn_checked_row(live, x, y, learned=status == 1)
        if self._fitted is None or is_tensor(x) or is_tensor(y):
            return self._learn_as_chunk(x, y)
        with self._lock:
            fitted = self._fitted
            goes_live = self._live is not None
            if not goes_live and not fitted.pending.n and self._has_parameters_of(fitted):
                goes_live = self._goes_live(fitted)
        return self.learn_one(x, y) if goes_live else self._learn_as_chunk(x, y)

    def _learn_as_chunk(self, x: Any, y: Any) -> Self:
        """Learn one row by `partial_fit`."""
        if self._fitted is not None and not is_tensor(x) and not is_tensor(y):
            x, y = self._checked_pair(x, y)
        elif not is_on_device(x):
            n = None if self._fitted is None else self.n_features_in_
            x = check_one(received(x, "x"), "x", n, FLOATS)
        target = y[None] if is_tensor(y) else np.asarray(y)[None]
        return self.partial_fit(x[None], target)

    def _checked_pair(self, x: Any, y: Any) -> tuple[Array, Any]:
        """One row and its target, converted where that is possible."""
        assert self._fitted is not None
        n_outputs = self._fitted.n_outputs
        return self._checked_one(x), check_one_target(y, "y", n_outputs, self._flat, self._dtype)

    def _learn_checked_row(self, live: InPlace, x: Any, y: Any, *, learned: bool) -> Self:
        """Check and learn a row that kernels refused, and choose ε or add a floor where due."""
        if not learned:
            if is_tensor(x) or is_tensor(y):
                return self._learn_as_chunk(x, y)
            x, y = self._checked_pair(x, y)
            if not live.learned(x, y):
                self.change(lambda fitted: (self._after_row(fitted, x, y), None))
                self._live_from = 0
                return self
        if live.is_due:
            self.renew(live)
        return self

    def _after_row(self, fitted: Fitted, x: Array, y: Any) -> Fitted:
        """The value after one more row, which does not wait."""
        return fitted.with_algorithm(self.algorithm()).learn_one_now(x, y)

    def prequential(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Predict every row before it is learned, and learn them all.

        What a loop of `predict` and `partial_fit` over single rows gives, to rounding, at the
        speed of matrix products.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        predictions : ndarray of the shape of y
            Row k was predicted from all rows learned earlier and the first k of these. Before
            anything was learned, the prediction is zero.
        """
        predicted = self._learn(X, y, sample_weight, Fitted.record)
        return origin_of(X).answer(self._shaped(predicted))
