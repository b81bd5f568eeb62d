"""A hidden layer and a solver behind scikit-learn's API: what both estimators share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from copy import copy
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..backend import Array, Backend
from ..devices import (
    Movable,
    check_place,
    float_of,
    is_on_device,
    on_host,
    origin_of,
    received,
)
from ..insight import (
    Effect,
    Importance,
    Why,
    effect_of,
    grid_of,
    importance_of,
    influence_of,
    why_of,
)
from ..progress import told
from ..representation import Described, named_list
from ..solvers import Publishing, Solver, StartedMeanwhile, place_summary, solver_summary
from ..validation import Seed, check_rows, check_something_counts, check_tensor_rows
from .capabilities import make_solver, solver_adds, solver_chooses, solver_removes
from .chunk import Chunk
from .fitted import FittedELM
from .hidden import is_same_transformer
from .rows_in_place import RowsInPlace
from .starting import measure_stream, start
from .targets import Targets

T = TypeVar("T", bound="ELM")

# Parameters of a solver that say where it learns.
_PLACES = ("device", "precision")


class Transformer(Protocol):
    """A hidden layer, or any transformer of scikit-learn."""

    def transform(self, X: Any) -> Any: ...


class ELM(Movable, RowsInPlace, Described, BaseEstimator, ABC):
    """Parameters, checks and learning of both estimators; `Publishing` says how they change."""

    # Parameters that files do not have
    device: Any = None
    verbose: Any = False

    _fitted: FittedELM | None
    _agreed: Any = None  # the solver with which the model has started, for sure

    def __init__(
        self,
        hidden: int | Literal["auto"] | Transformer | None = "auto",
        solver: str | Solver = "opium",
        random_state: Seed = None,
        *,
        standardize: bool | Literal["auto"] = "auto",
        device: str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.hidden = hidden
        self.solver = solver
        self.random_state = random_state
        self.standardize = standardize
        self.device = device
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters, which count when `fit`, or the first row, starts a model.

        A model that has started learns no more rows with another solver than that which it has:
        `partial_fit`, `learn_one` and the like are a ValueError then, until `fit` starts it again.

        Parameters
        ----------
        **params
            Also those of the solver, such as ``solver__epsilon=1.0``, where it is named too.

        Returns
        -------
        self
        """
        if any(name.startswith("solver__") for name in params):
            params["solver"] = make_solver(params.get("solver", self.solver))
        self.leave_live()
        super().set_params(**params)
        return self

    def _check_solver(self) -> None:
        """Raise a ValueError if the model has started with another solver than its parameter."""
        if self.solver is self._agreed:
            return
        started, present = self.start_value.template, make_solver(self.solver)
        mine, its = (solver.get_params(deep=False) for solver in (present, started))
        for name in _PLACES:
            mine.pop(name, None), its.pop(name, None)
        if type(present) is not type(started) or mine != its:
            raise ValueError(
                f"solver={self.solver!r}: this model has started with {started!r}, and goes on "
                "with that; call fit to start again, or set the parameter back."
            )
        self._agreed = self.solver

    # Rows as they are passed

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        origin, X = origin_of(X), received(X, "X")
        if not reset:
            device = self.device or getattr(self.start_value.template, "device", None)
            check_place(self.start_value.solver.shape.backend, device, origin, "X")
        if is_on_device(X):
            return check_tensor_rows(self, X, "X", reset=reset)
        # Integers stay integers: they become floats block by block, in the hidden layer.
        return check_rows(self, X, "X", reset=reset, dtype="numeric", accept_sparse="csr")

    def _dtype_for(self, X: Any, *, reset: bool) -> Any:
        """float32 for float32, else float64; a model keeps that of its first rows."""
        if not reset:
            return self.start_value.hidden.dtype
        if is_on_device(X):
            return float_of(X)
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    @property
    def _started(self) -> bool:
        return self._fitted is not None

    @abstractmethod
    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool = False
    ) -> tuple[Chunk, Targets]:
        """The rows, if they are valid, and their targets.

        `reset` for the first rows, and `whole` if no others will come before all is measured.
        """

    def _checked_known(self, X: Any, y: Any, sample_weight: Any) -> Chunk:
        """Rows whose labels, if they have labels, must all be known."""
        chunk, targets = self._checked(X, y, sample_weight, reset=False)
        if targets is not self.start_value.targets:
            raise ValueError(
                "y: it has labels that were never learned; leave such rows out, or learn them "
                "first."
            )
        return chunk

    # Learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn these rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,); for a regression also (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with self.replacement() as new:
            chunk, targets = new._checked(X, y, sample_weight, reset=True, whole=True)
            check_something_counts(chunk.weight)
            with told(self.verbose, "learned", chunk.n) as tell:
                fitted, chunk = start(new, chunk, targets, whole=True)
                new._fitted, new._agreed = fitted.learn_all(chunk, tell), self.solver
        return self

    def prepare(self, X: Any, y: Any, *, n_rows: int | None = None) -> Self:
        """Forget everything; take units, hidden layer and classes from these rows; learn none.

        `partial_fit` and the other methods for streams then go on with these.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows like those to come, in any order.
        y : array-like of shape (n_samples,); for a regression also (n_samples, n_outputs)
        n_rows : int, optional
            How many rows will be learned, which the number of hidden units follows where it is
            chosen; by default as many as these.

        Returns
        -------
        self
        """
        with self.replacement() as new:
            chunk, targets = new._checked(X, y, None, reset=True, whole=True)
            new._fitted, _ = start(new, chunk, targets, whole=True, n_rows=n_rows)
            new._agreed = self.solver
        return self

    @available_if(solver_removes)
    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows learned earlier: as if they had never been there, to rounding.

        The hidden layer, the units and the classes do not change. Rows that were never learned are
        noticed only if what is left is not a sum of squares any more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,); for a regression also (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            The weights they were learned with.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If they cannot be removed; the model is then unchanged.
        """
        check_is_fitted(self)
        with self._lock:
            self._check_solver()
            chunk = self._checked_known(X, y, sample_weight)
            self.change(lambda fitted: (fitted.unlearn(chunk), None))
        return self

    def _left_out(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
        """What was learned, and leave-one-out outputs for rows of it."""
        check_is_fitted(self)
        fitted, chunk = self.fitted_, self._checked_known(X, y, sample_weight)
        return fitted, fitted.solver.leave_out(fitted.rows(chunk))

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        predict: bool = False,
        spread: bool = False,
        **options: Any,
    ) -> Any:
        """Learn more rows of a stream, or its first.

        With `predict` each is predicted before: their targets, the outputs for each, and which
        classes were not known yet.
        """

        def step(fitted: FittedELM, model: Self, chunk: Chunk) -> tuple[FittedELM, Any]:
            self._check_spread(fitted, spread)
            unknown = model._unknown(chunk.y, fitted.targets, **options)
            task = "predicted and learned" if predict else "learned"
            with told(self.verbose, task, chunk.n) as tell:
                new, outputs = fitted.learn(
                    chunk,
                    model._measure,
                    predict=predict,
                    spread=spread,
                    unknown=unknown,
                    tell=tell,
                )
            return new, (fitted.targets, outputs, unknown)

        with self._lock:
            if not self._started:
                with suppress(StartedMeanwhile):
                    with self.replacement(first=True) as new:
                        chunk, targets = new._checked(X, y, sample_weight, reset=True, **options)
                        started, _ = start(new, chunk, targets, whole=False)
                        new._fitted, answer = step(started, new, chunk)
                        new._agreed = self.solver
                    return answer
            self._check_solver()
            chunk, targets = self._checked(X, y, sample_weight, reset=False, **options)
            return self.change(lambda old: step(old.with_targets(targets), self, chunk))

    def _measure(self, chunk: Chunk, fitted: FittedELM) -> Any:
        """Units, targets and a layer from the first rows of a stream."""
        return measure_stream(self, chunk, fitted)

    def _unknown(self, y: Array, targets: Any) -> Array | None:
        """Which classes are not known yet at each row; None for numbers, and where all are."""
        return None

    def _compact(self) -> None:
        with self._lock:
            if self._started:
                self.convert(lambda fitted: (fitted.compact(), None))
                self._live_from = 0  # as of one that is loaded: both go on with equal bits

    def _move(self, b: Backend) -> None:
        with self._lock:
            if self._started:
                self.convert(lambda fitted: (fitted.on(b), None))

    # Models as sums over rows

    @available_if(solver_adds)
    def merge(self, *others: Self) -> Self:
        """Learn all that other models have learned: as if this one had seen all of their rows.

        Parameters
        ----------
        *others : estimators of the same kind with the same hidden layer and solver
            Give them the same `random_state`, or the same fitted transformer.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        for other in others:
            self._check_mergeable(other)

        def merged(fitted: FittedELM) -> tuple[FittedELM, None]:
            for other in others:
                fitted = fitted.merge(other.fitted_)
            return fitted, None

        self.change(merged)
        return self

    def __add__(self, other: Any) -> Self:
        """A new model that has learned what both have."""
        return copy(self).merge(other) if isinstance(other, type(self)) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return copy(self) if isinstance(other, int) and other == 0 else NotImplemented  # sum()

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self):
            raise ValueError(
                f"other: expected {type(self).__name__}, got {type(other).__name__}; only models "
                "of one kind can be merged."
            )
        check_is_fitted(other)
        mine, theirs = self.fitted_, other.fitted_
        units = [(f.hidden.scaling, f.targets.scaling) for f in (mine, theirs)]
        if units[0] != units[1]:
            raise ValueError(
                "other: it has learned other units for its inputs or targets than this model; "
                "let one model prepare from some rows, and give copies of it to all, or bring the "
                "data to order one yourself, and pass standardize=False."
            )
        weights = getattr(mine.targets, "has_weights_of", None)
        if weights is not None and not weights(theirs.targets):
            raise ValueError(
                "other: its rows count by other weights of classes than those of this model; "
                "pass both the same dict as class_weight."
            )
        if mine.hidden.dtype != theirs.hidden.dtype:
            raise ValueError(
                f"other: it has learned in {theirs.hidden.dtype}, and this model in "
                f"{mine.hidden.dtype}; only models of one dtype can be merged."
            )
        if mine.hidden.n_inputs != theirs.hidden.n_inputs:
            raise ValueError("other: it does not have as many inputs as this model.")
        if not is_same_transformer(mine.hidden.layer, theirs.hidden.layer):
            raise ValueError(
                "other: its hidden layer is not that of this model; give both the same "
                "random_state, or the same fitted transformer as hidden; hidden='auto' is chosen "
                "from the rows: let one model prepare from some, and give copies of it to all."
            )

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn how sharp probabilities are, from leave-one-out scores of rows that were learned.

        `fit` does so with the rows at `calibration.rows_of_fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_is_fitted(self)
        chunk = self._checked_known(X, y, sample_weight)
        self.change(lambda fitted: (fitted.calibrated_by(chunk), None))
        return self

    def frozen(self) -> Self:
        """A model that predicts the same and cannot learn: small enough to be sent anywhere."""
        check_is_fitted(self)
        other: Any = copy(self)
        other.publish(self.fitted_.frozen())
        return other

    def choose(self) -> Self:
        """Choose epsilon again from all rows, as at the end of `fit`, where it is chosen."""
        check_is_fitted(self)
        self.change(lambda fitted: (fitted.chosen(), None))
        return self

    # Predicting

    def _predicted(
        self, X: Any, *, spread: bool = False, on_device: bool = False
    ) -> tuple[Any, list[Any]]:
        """What was learned, the outputs of shape (n_samples, n_outputs), and standard deviations.

        They are NumPy's, or with `on_device` where the model is.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        self._check_spread(fitted, spread)
        X = self._checked_rows(X, reset=False)
        with told(self.verbose, "predicted", X.shape[0]) as tell:
            outputs = fitted.predict(X, spread=spread, tell=tell)
        stay = [on_device and is_on_device(A) for A in outputs]
        return fitted, [A if s else on_host(A) for A, s in zip(outputs, stay, strict=True)]

    @staticmethod
    def _check_spread(fitted: FittedELM, spread: bool) -> None:
        if spread and not fitted.template.capabilities.tells_spread:
            raise ValueError(
                f"return_std=True: {type(fitted.template).__name__} has no standard deviations; "
                "use the solver Opium, DynamicOpium, SlidingOpium or Greville."
            )

    # What was learned

    def importance(self, X: Any = None) -> Importance:
        """How much each input matters, exactly from what was learned, and at rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Rows at which derivatives are taken. Without them only layers whose units see a few
            inputs tell, such as `TableLayer`, which is usual for tables.

        Returns
        -------
        importance : Importance
            By input, with arrays `change` (from rows), `evidence` and `error` (without).
        """
        check_is_fitted(self)
        rows = None if X is None else self._dense_rows(X)
        return importance_of(self, rows)

    def effect(self, column: Any, X: Any, *, values: Any = None) -> Effect:
        """The mean prediction over some rows, with one or two columns set to each of some values.

        Parameters
        ----------
        column : int or str, or a pair of these
            A column by its place or name; two for their interaction.
        X : array-like of shape (n_samples, n_features)
            Rows to take the mean over.
        values : array-like, or a pair of these, optional
            Default: up to 24 between the first and the last hundredth of the rows, 12 for two.

        Returns
        -------
        effect : Effect
        """
        check_is_fitted(self)
        rows, pair = self._dense_rows(X), isinstance(column, (tuple, list))
        places = [self._place_of(each) for each in (column if pair else [column])]
        names = [str(name) for name in getattr(self, "feature_names_in_", range(rows.shape[1]))]
        n = 12 if pair else 24
        grids = [grid_of(rows[:, place], n) for place in places]
        if values is not None:
            grids = [np.asarray(each, float) for each in (values if pair else [values])]
        inputs = [grid[:, None] for grid in grids]
        columns = [[place] for place in places]
        return effect_of(self, rows, [names[place] for place in places], columns, grids, inputs)

    def why(self, X: Any, rows: Any = None) -> Why:
        """Predictions as sums: that of a mean row, and the share of each input.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        rows : array-like of shape (n_rows, n_features), optional
            Rows whose mean is compared with. Default: the mean by which inputs were brought into
            units, or zeros where they were left as they are.

        Returns
        -------
        why : Why
        """
        check_is_fitted(self)
        mean = None if rows is None else self._dense_rows(rows).mean(axis=0)
        return why_of(self, self._dense_rows(X), mean=mean)

    def influence(self, x: Any, X: Any, y: Any) -> Array:
        """How much each of some learned rows moves the prediction for another, exactly.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The row that is predicted.
        X : array-like of shape (n_samples, n_features)
            Rows that were learned, without sample weights.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        influence : ndarray of shape (n_samples, n_outputs)
            The prediction minus what it would be without the row; for classes of each output.
        """
        check_is_fitted(self)
        chunk = self._checked_known(X, y, None)
        targets = self.fitted_.targets
        encoded = on_host(targets.encode(chunk.y)(slice(0, chunk.n)))
        Y = targets.scaling.undo(np.asarray(encoded, np.float64))
        return influence_of(self, self._dense_rows([x])[0], self._dense_rows(X), Y)

    def _dense_rows(self, X: Any) -> Array:
        rows = self._checked_rows(X, reset=False)
        rows = rows.toarray() if sparse.issparse(rows) else on_host(rows)
        return np.asarray(rows, np.float64)

    def _place_of(self, column: Any) -> int:
        """The place of a column that is passed by place or by name."""
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        if isinstance(column, str) and column in names:
            return names.index(column)
        usual = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        if usual and 0 <= column < self.n_features_in_:
            return int(column)
        raise ValueError(
            f"column={column!r}: pass a number from 0 to {self.n_features_in_ - 1}"
            + (f", or one of {', '.join(map(repr, names[:8]))}." if names else ".")
        )

    def summary(self) -> dict[str, str]:
        """What was learned, in words: the table that notebooks show. Empty before `fit`.

        It takes next to no time and changes nothing. What is not at hand is left out.

        Examples
        --------
        >>> import numpy as np
        >>> from greville import ELMRegressor
        >>> X = np.linspace(-3, 3, 200)[:, None]
        >>> ELMRegressor(50, random_state=0).fit(X, np.sin(X[:, 0])).summary()["rows"]
        '200'
        """
        live, fitted = self._live, self._fitted
        if fitted is None:
            return {}
        known, n_seen = (fitted, fitted.n_seen) if live is None else (live.start_value, live.n_seen)
        hidden, targets, solver = known.hidden, known.targets, known.solver
        classes = targets.classes.tolist() if targets.calibrates else ()
        arrays = [hidden, targets, solver, known.warmup, *([] if live is None else [live.array])]
        return {
            "rows": f"{n_seen:,}",
            "inputs": named_list(getattr(self, "feature_names_in_", ()), hidden.n_inputs),
            "hidden layer": hidden.in_words(solver.shape.n_hidden),
            "classes" if classes else "outputs": named_list(classes, targets.n_outputs),
            "solver": " ".join(repr(known.template).split()),
            **solver_summary(solver, n_seen),
            **place_summary(solver, *arrays),
        }

    @available_if(solver_chooses)
    def path(self) -> Any:
        """The evidence for each epsilon that was tried when it was last chosen.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, the number `chosen`, and a method `plot`.
        """
        check_is_fitted(self)
        solver: Any = self.solver_
        return solver.path()

    @property
    def hidden_(self) -> Any:
        """The fitted hidden layer."""
        return self.start_value.hidden.layer

    @property
    def solver_(self) -> Any:
        """A copy of the fitted solver as it is now.

        Neither rows that it learns nor parameters that are set on it count for this model.
        """
        return self.fitted_.solver_object()

    @property
    def epsilon_(self) -> float:
        """The epsilon in use, for the solvers Opium and DynamicOpium."""
        check_is_fitted(self)
        solver = self.solver_
        if not solver.capabilities.chooses_epsilon:
            raise AttributeError(f"{type(solver).__name__} has no epsilon_.")
        return float(solver.epsilon_)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned so far."""
        check_is_fitted(self)
        live = self._live
        return self.fitted_.solver.n_seen if live is None else live.n_seen

    def __dir__(self) -> list[str]:
        """What is documented: how `Publishing` works says nothing to users."""
        return [name for name in super().__dir__() if not hasattr(Publishing, name)]

    def __getstate__(self) -> Any:
        return self.pickled_state(super().__getstate__())

    def __sklearn_is_fitted__(self) -> bool:
        return self._started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def set_direct_inputs(model: T, n: int, old: Any) -> T:
    """Have n inputs, after those of the hidden layer, that are hidden units themselves.

    Nothing is learned again: a unit that was zero in all rows so far has changed nothing. So a
    model can get an input for a category that comes up late, and is then exactly the one that had
    it from the start.

    Parameters
    ----------
    model : ELMRegressor or ELMClassifier
        Fitted.
    n : int
        How many.
    old : array of int
        Where among them those are that the model has already, in ascending order. The others were
        zero in all rows so far.

    Returns
    -------
    model

    Examples
    --------
    >>> import numpy as np
    >>> from greville import ELMRegressor
    >>> from greville.elm import set_direct_inputs
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = ELMRegressor(10, random_state=0).fit(X, X[:, 0])
    >>> set_direct_inputs(model, 1, []).n_features_in_
    2
    """
    check_is_fitted(model)
    with model.replacement() as new:
        fitted = model.leave_live()
        fitted.check_learns()
        new._fitted = fitted.with_direct(n, np.asarray(old, np.int64))
        new.n_features_in_ = new._fitted.hidden.n_inputs
    return model
