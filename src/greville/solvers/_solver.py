"""What all solvers share: scikit-learn's methods, the checks and the shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import backend
from ..backend import Array, Backend
from ..backend.scipy import DOT
from ..compiled import DUE, worth_loading
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
    named,
    origin_of,
    place_of,
    received,
    received_on_host,
)
from ..representation import Described, memory_of, named_list, size_in_words
from ..validation import (
    FLOATS,
    check_magnitude,
    check_number,
    check_one,
    check_one_target,
    check_rows,
    check_something_counts,
    check_switch,
    check_targets,
    check_tensor_rows,
    check_tensor_targets,
    check_weights,
    largest_square,
)
from ._evidence import Path
from ._in_place import InPlace
from ._publishing import Publishing, StartedMeanwhile
from ._ridge import RowSums
from ._rows import Rows, device_check
from ._state import Shape, State
from .sums import Sums

# Rows of an array that are learned at once, wherever it is.
_MANY_ROWS = 4096


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of a kind of solver beside `fit` and `predict`.

    Attributes
    ----------
    online : learn rows as they come (`partial_fit`, `learn_one`, `prequential`)
    adds : learn what another model has learned (`merge`)
    removes : take rows away (`unlearn`)
    tells_spread : standard deviations of predictions (`return_std`)
    chooses_epsilon : ``epsilon="auto"`` (`epsilon_`, `path`)
    leaves_out : leave-one-out predictions (`loo_predict`)

    Examples
    --------
    >>> from greville import Opium, OpiumLight
    >>> Opium.capabilities.removes, OpiumLight.capabilities.removes
    (True, False)
    """

    online: bool = True
    adds: bool = False
    removes: bool = False
    tells_spread: bool = False
    chooses_epsilon: bool = False
    leaves_out: bool = False


def _can(capability: str) -> Callable[[Any], bool]:
    return lambda solver: bool(getattr(solver.capabilities, capability))


def checked_epsilon(epsilon: Any, intercept: Any) -> dict[str, Any]:
    """The settings of a solver that may choose ε: None stands for "auto"."""
    check_switch("intercept", intercept)
    if isinstance(epsilon, str):
        if epsilon != "auto":
            raise ValueError(f"epsilon={epsilon!r}: pass 'auto' or a number >= 0.")
        return {"epsilon": None, "intercept": bool(intercept)}
    check_number("epsilon", epsilon, low=0, include_low=not intercept)
    return {"epsilon": float(epsilon), "intercept": bool(intercept)}


def place_summary(fitted: State, *values: Any) -> dict[str, str]:
    """Return the memory that a state and other values take, and the device of the state."""
    memory = size_in_words(memory_of(fitted, *values))
    return {"memory": memory, "device": named(fitted.shape.backend)}


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

    A subclass has parameters, `settings` checks them, and its `state_class` is a `State` that
    learns with them. `Publishing` says how what was learned is replaced.

    Examples
    --------
    >>> from greville import Batch
    >>> from greville.solvers import Solver
    >>> isinstance(Batch(), Solver)
    True
    """

    capabilities: ClassVar[Capabilities] = Capabilities()
    state_class: Any  # a subclass of State

    device: Any = None  # a parameter of all solvers

    n_features_in_: int
    _fitted: Any
    _live: InPlace | None
    _dtype: np.dtype[Any]
    _flat = False

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the arguments of `state_class.start` for the present parameters.

        Raises
        ------
        ValueError
            If one is out of range.
        """

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

    @available_if(_can("online"))
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
        self._learn(X, y, sample_weight, lambda state, rows: (state.learn(rows), None))
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
        if live is None and self._fitted is not None and not is_on_device(x):
            live = self.started_live()
        status = -1 if live is None else live.learned(x, y)
        if status < 0:
            if self._fitted is not None and not is_on_device(x) and not is_on_device(y):
                x, y = self._checked_one(x), self._checked_target(y)
            status = -1 if live is None else live.learned(x, y)
            if status < 0:
                self._learn_as_chunk(x, y)
        if status == DUE:
            self.renew(live)
        return self

    def _learn_as_chunk(self, x: Any, y: Any) -> None:
        """Learn one row without kernels."""
        fitted = self._fitted
        if fitted is None or not fitted.shape.backend.has_kernels:
            if not is_on_device(x):
                n = None if fitted is None else self.n_features_in_
                x = check_one(received(x, "x"), "x", n, FLOATS)
            self.partial_fit(x[None], y[None] if is_tensor(y) else np.asarray(y)[None])
            return
        row = Rows.of(x[None], np.asarray(y, self._dtype).reshape(1, -1))
        self._check_parameters()
        self.change(lambda fitted: (fitted.learn(row), None))

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
        check_is_fitted(self)
        origin, X = origin_of(X), self._checked_rows(X, reset=False)
        state = self.fitted_
        predicted: Any = self._shaped(state.predict(X))
        if return_std:
            self._check_spread()
            predicted = predicted, self._shaped(state.spread(X))
        return origin.answer(predicted)

    def _check_spread(self) -> None:
        if not self.capabilities.tells_spread:
            raise ValueError(
                f"return_std=True: {type(self).__name__} has no standard deviations; use Opium, "
                "DynamicOpium, SlidingOpium or Greville."
            )

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
            output = live.outputs(x)
            if output is not None:
                return live.number(output)
        return self._predict_checked_row(live, x)

    def _predict_checked_row(self, live: InPlace | None, x: Any) -> Any:
        """Check a row that kernels refused, and predict it."""
        if is_tensor(x):
            if is_on_device(x):
                return self.predict(x[None])[0]
            return origin_of(x).answer(np.asarray(self.predict_one(received(x, "x"))))
        x = self._checked_one(x)
        if not self._fitted.shape.backend.has_kernels:
            return self.predict(x[None])[0]
        if live is None and worth_loading():
            live = self.started_live(wait=False)
        output = None if live is None else live.outputs(x)
        if live is None or output is None:
            return self._shaped(self.fitted_.predict(x[None]))[0]
        return live.number(output)

    @available_if(_can("online"))
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
        if return_std:
            self._check_spread()
        predicted = self._learn(
            X, y, sample_weight, lambda state, rows: state.record(rows, spread=return_std)
        )
        answers = origin_of(X).answer(tuple(map(self._shaped, predicted)))
        return answers if return_std else answers[0]

    @available_if(_can("removes"))
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
        self._learn(X, y, sample_weight, lambda state, rows: (state.unlearn(rows), None))
        return self

    merge = available_if(_can("adds"))(Publishing.merge)

    def accumulator(self) -> Self:
        """A solver that only adds rows up, and merges with others that do.

        `merge` of a fitted value of this solver learns all of its rows, and `without` unlearns
        them.
        """
        new = clone(self)
        new.state_class = RowSums
        return new

    @available_if(_can("leaves_out"))
    def loo_predict(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Predict each of these learned rows as if that row alone had not been learned.

        From the same sums, without learning anything again: y - e/(1 - h) for the error e of a row
        and its part h in its own prediction. ε stays as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_hidden)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.

        Returns
        -------
        predictions : ndarray of the shape of y
        """
        check_is_fitted(self)
        rows = self._checked(X, y, sample_weight)
        return origin_of(X).answer(self._shaped(self._flushed().leave_out(rows)))

    # What was learned

    @property
    def coef_(self) -> Array:
        """The output weights, of shape (n_outputs, n_hidden), or (n_hidden,) for 1-d targets."""
        check_is_fitted(self)
        W = self._weights()
        return self._shaped(W[len(W) - self.n_features_in_ :]).T.copy()

    def summary(self) -> dict[str, str]:
        """A table of what was learned, in words, as notebooks show it; empty before `fit`.

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
        n_seen = fitted.n_seen if live is None else live.n_seen
        names = getattr(self, "feature_names_in_", ())
        return {
            "rows": f"{n_seen:,}",
            "columns": named_list(names, fitted.shape.n_hidden),
            "outputs": f"{fitted.shape.n_outputs:,}",
            **fitted.in_words(n_seen),
            **place_summary(fitted, *([] if live is None else [live.array])),
        }

    @property
    def theta_(self) -> Array:
        """The paper's θ, equation (11): the (pseudo)inverse of H'H.

        With an intercept, of the rows around their mean.
        """
        return self._numpy(self._root.theta())

    @property
    def psi_(self) -> Array:
        """The paper's ψ, equation (26)."""
        psi = self._numpy(self._root.psi())
        return psi[0] if self._flat else psi

    @property
    def loss_(self) -> Array | float:
        """Loss at its minimum, by the weights: ``|Y - HW|² + |epsilon·W|²`` of each output.

        With an intercept, of rows and targets around their means.
        """
        loss = self._root.loss
        return float(loss[0]) if self._flat else loss.copy()

    @property
    def epsilon_(self) -> float:
        """The ε in use; if rows fade, ε has faded with them."""
        self._check_chooses("epsilon_")
        return float(self._root.prior)

    @property
    def intercept_(self) -> Array | float:
        """Intercept, which is added to every prediction; zero without one."""
        self._check_chooses("intercept_")
        check_is_fitted(self)
        W = self._weights()
        zero = np.zeros(W.shape[1], self._dtype)
        added = W[0] if len(W) > self.n_features_in_ else zero
        return float(added[0]) if self._flat else added.copy()

    @available_if(_can("chooses_epsilon"))
    def path(self) -> Path:
        """The evidence for each ε that was tried when ε was last chosen.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, and the number `chosen`.

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
        path: Path | None = getattr(self._flushed(), "path", None)
        if path is None:
            raise ValueError(
                "there is no path: epsilon was given, or the rows so far do not differ; pass "
                "epsilon='auto' and learn more rows."
            )
        return path

    @property
    def _root(self) -> Sums:
        state = self._flushed()
        state.check_learns()
        root: Sums | None = state.root
        if root is None:
            raise AttributeError(f"{type(self).__name__} keeps weights and no root of its rows.")
        return root

    def _numpy(self, A: Array) -> Array:
        return self.fitted_.shape.backend.to_numpy(A)

    def _check_chooses(self, name: str) -> None:
        if not self.capabilities.chooses_epsilon:
            raise AttributeError(f"{type(self).__name__} has no {name}.")

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
        return self.restore(self._start(Shape(b, n_hidden, n_outputs, np.dtype(dtype))), flat=flat)

    def _start(self, shape: Shape) -> State:
        """The state before any row."""
        state: State = self.state_class.start(shape, **self.settings())
        return state

    def restore(self, fitted: State, *, flat: bool = False) -> Self:
        """Go on from what a solver with these parameters has learned.

        Parameters
        ----------
        fitted : State
        flat : bool
            Whether the targets are 1-d.
        """
        dtype = np.dtype(fitted.dtype.char)  # NumPy's own object
        size = {"_flat": flat, "_dtype": dtype, "n_features_in_": fitted.shape.n_hidden}
        self.publish(fitted, **size)
        return self

    def _made_live(self, fitted: State) -> InPlace | None:
        try:
            self._check_parameters()
        except ValueError:  # which the next row will raise
            return None
        return InPlace.start(fitted, single=self._flat)

    def _check_parameters(self) -> None:
        """Raise a ValueError if the model was started with other parameters."""
        fitted = self._fitted if self._live is None else self._live.start_value
        if not fitted.is_frozen and not fitted.fits(self.settings()):
            raise ValueError(
                f"{self!r}: this model has started with other parameters; call fit to start again, "
                "or set them back."
            )

    def _flushed(self) -> Any:
        """The learned value, with no row pending."""
        check_is_fitted(self)
        return self.fitted_.flushed()

    def _weights(self) -> Array:
        fitted = self.fitted_
        return fitted.shape.backend.to_numpy(fitted.weights())

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)
        if self._fitted is not None:
            self._dtype = np.dtype(self._dtype.char)

    def _check_alike(self, other: Any) -> None:
        for name, mine in self.get_params().items():
            if name == "device":
                continue
            theirs = other.get_params()[name]
            if mine != theirs:
                raise ValueError(
                    f"other: its {name} is {theirs}, that of this model {mine}; only models that "
                    "were started alike can be merged."
                )

    # Checks

    def _checked_one(self, x: Any) -> Array:
        """Check one row, and convert it where that is possible."""
        check_is_fitted(self)
        n, dtype = self.n_features_in_, self._dtype
        usual = type(x) is np.ndarray and x.dtype == dtype and x.shape == (n,)
        if usual and DOT[dtype](x, x) < largest_square(dtype):
            return x
        x = check_one(received(x, "x"), "x", n, dtype)
        check_magnitude("x", x)
        return x

    def _checked_target(self, y: Any) -> Any:
        """The target of one row, converted where that is possible."""
        n_outputs = self.start_value.n_outputs
        return check_one_target(received(y, "y"), "y", n_outputs, self._flat, self._dtype)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        step: Callable[[Any, Rows], tuple[Any, Any]],
    ) -> Any:
        """Publish what `step` makes of rows, the first or more; return what else it returns."""
        with self._lock:
            if self._fitted is None:
                with suppress(StartedMeanwhile):
                    with self.replacement(first=True) as new:
                        rows, fitted, flat = new._checked_first(X, y, sample_weight)
                        fitted, answer = step(fitted, rows)
                        new.restore(fitted, flat=flat)
                    return answer
            rows = self._checked(X, y, sample_weight)
            self._check_parameters()
            return self.change(lambda fitted: step(fitted, rows))

    def _checked_first(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Any, bool]:
        """Check the first rows; return rows, an empty value, and whether targets are 1-d."""
        origin, X = origin_of(X), self._checked_rows(X, reset=True)
        b = backend_for(self.device, origin, X.shape[1])
        dtype = float_of(X) if is_on_device(X) else X.dtype
        rows, y = self._rows_of(X, y, sample_weight, origin, b, dtype)
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        shape = Shape(b, X.shape[1], n_outputs, np.dtype(dtype))
        return rows, self._start(shape), y.ndim == 1

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
        return Rows.of(X, y.reshape(n, -1), weight, device_check(b, dtype, weight)), y

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
