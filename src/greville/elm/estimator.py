"""A hidden layer and a solver behind scikit-learn's API: what all estimators share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..backend import Array
from ..backend.scipy import DOT
from ..compiled import DUE, worth_loading
from ..devices import (
    Movable,
    check_place,
    float_of,
    is_on_device,
    is_tensor,
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
from ..progress import later, reporting
from ..representation import Described, named_list
from ..solvers import (
    Publishing,
    Solver,
    StartedMeanwhile,
    place_summary,
)
from ..validation import (
    FLOATS,
    Seed,
    check_one,
    check_rows,
    check_something_counts,
    check_tensor_rows,
)
from .calibration import rows_of_fit
from .capabilities import (
    make_solver,
    solver_adds,
    solver_chooses,
    solver_is_online,
    solver_removes,
)
from .examples import Examples
from .fitted import WARMUP_ROWS, Fitted, n_measured
from .hidden import is_same_transformer
from .rows_in_place import LiveRows
from .starting import measured_again, start
from .targets import Targets

_NEVER_LEARNED = (
    "y: it has labels that were never learned; leave such rows out, or learn them first."
)

T = TypeVar("T", bound="ELM")


class Transformer(Protocol):
    """A hidden layer, or any transformer of scikit-learn."""

    def transform(self, X: Any) -> Any: ...


class ELM(Publishing, Movable, Described, BaseEstimator, ABC):
    """Parameters, checks and learning of all estimators; `Publishing` says how they change."""

    # Parameters that files do not have
    device: Any = None
    verbose: Any = False

    # Of `Publishing`, which it is
    _live: Any
    _lock: Any

    _fitted: Fitted | None
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
        mine.pop("device", None), its.pop("device", None)  # where it learns
        if type(present) is not type(started) or mine != its:
            raise ValueError(
                f"solver={self.solver!r}: this model has started with {started!r}, and goes on "
                "with that; call fit to start again, or set the parameter back."
            )
        self._agreed = self.solver

    # Rows as they are passed

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """X as rows that can be learned: integers become floats later, block by block."""
        if not reset and self._are_usual(X, self.start_value):
            return X
        origin, X = origin_of(X), received(X, "X")
        if not reset:
            started = self.start_value
            device = self.device or getattr(started.template, "device", None)
            check_place(started.solver.shape.backend, device, origin, "X")
        if is_on_device(X):
            return check_tensor_rows(self, X, "X", reset=reset)
        return check_rows(self, X, "X", reset=reset, dtype="numeric", accept_sparse="csr")

    def _are_usual(self, X: Any, started: Fitted) -> bool:
        """Whether X is a finite NumPy array that a model without column names takes as it is."""
        if type(X) is not np.ndarray or X.ndim != 2 or "feature_names_in_" in vars(self):
            return False
        hidden, b = started.hidden, started.solver.shape.backend
        fits = X.dtype == hidden.dtype and X.shape[1] == hidden.n_inputs and X.flags.c_contiguous
        if not fits or not len(X) or not b.has_kernels:
            return False
        flat = X.reshape(-1)
        return bool(DOT[X.dtype](flat, flat) < np.inf)

    def _dtype_for(self, X: Any, *, reset: bool) -> Any:
        """float32 for float32, else float64; a model keeps that of its first rows."""
        if not reset:
            return self.start_value.hidden.dtype
        if is_on_device(X):
            return float_of(X)
        return np.dtype(np.float32 if X.dtype == np.float32 else np.float64)

    @abstractmethod
    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool = False
    ) -> tuple[Examples, Targets]:
        """The rows, if they are valid, and their targets.

        `reset` for the first rows, and `whole` if no others will come before all is measured.
        """

    def _checked_known(self, X: Any, y: Any, sample_weight: Any) -> Examples:
        """Rows whose labels, if they have labels, must all be known."""
        check_is_fitted(self)
        examples, targets = self._checked(X, y, sample_weight, reset=False)
        if targets is not self.start_value.targets:
            raise ValueError(_NEVER_LEARNED)
        return examples

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
            examples, targets = new._checked(X, y, sample_weight, reset=True, whole=True)
            check_something_counts(examples.weight)
            with reporting(self.verbose, "learned", examples.n) as tell:
                fitted, examples = start(new, examples, targets, whole=True)
                rows, kept = fitted.rows(examples, tell), list[Array]()
                places = rows_of_fit(examples.n)
                if fitted.can_leave_out:
                    rows, kept = rows.keeping(places)
                fitted = fitted._replace(solver=fitted.solver.learn_all(rows))
                if fitted.can_leave_out:
                    whole = sum(map(len, kept)) == len(places)
                    H = fitted.solver.shape.backend.xp.concat(kept) if whole else None
                    fitted = fitted.calibrated(examples.at(places), H)
                new._fitted = fitted
        return self

    def prepare(
        self, X: Any, y: Any, *, n_rows: int | None = None, sample_weight: Any = None
    ) -> Self:
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
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with self.replacement() as new:
            examples, targets = new._checked(X, y, sample_weight, reset=True, whole=True)
            new._fitted, _ = start(new, examples, targets, whole=True, n_rows=n_rows)
        return self

    @solver_removes
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
        with self._lock:
            examples = self._checked_known(X, y, sample_weight)
            self._check_solver()

            def without(fitted: Fitted) -> tuple[Fitted, None]:
                return fitted.with_sums(fitted.solver.unlearn(fitted.rows(examples))), None

            self.change(without)
        return self

    def _left_out(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
        """Return the fitted model, and leave-one-out outputs for its rows."""
        examples, fitted = self._checked_known(X, y, sample_weight), self.fitted_
        return fitted, fitted.solver.leave_out(fitted.rows(examples))

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
        """Learn rows of a stream; the first rows start the model.

        With `predict` each is predicted before: their targets, the outputs for each, and which
        classes were not known yet.
        """

        with self._lock:
            if self._fitted is None:
                with suppress(StartedMeanwhile):
                    with self.replacement(first=True) as new:
                        examples, targets = new._checked(X, y, sample_weight, reset=True, **options)
                        started, _ = start(new, examples, targets, whole=False)
                        learned = new._learned(started, examples, predict, spread, options)
                        new._fitted, answer = learned
                    return answer
            if self.solver is not self._agreed:
                self._check_solver()
            examples, targets = self._checked(X, y, sample_weight, reset=False, **options)

            def more(fitted: Fitted) -> tuple[Fitted, Any]:
                fitted.solver.check_learns()
                fitted = fitted if targets is fitted.targets else fitted.with_targets(targets)
                return self._learned(fitted, examples, predict, spread, options)

            return self.convert(more)

    def _learned(
        self, fitted: Fitted, examples: Examples, predict: bool, spread: bool, options: Any
    ) -> tuple[Fitted, Any]:
        """Return the model after more rows, and what `_learn` returns."""
        fitted = fitted.spanning(examples.X)
        calibrates = fitted.calibration is not None and fitted.calibrates_within(
            fitted.n_seen, examples.n
        )
        if not (predict or self.verbose or calibrates or fitted.warmup):
            return fitted._replace(solver=fitted.solver.learn(fitted.rows(examples))), None
        unknown = self._unknown(examples.y, fitted.targets, **options)
        self._check_spread(fitted, spread)
        outputs, units = list[list[Array]](), fitted.targets.scaling
        task = "predicted and learned" if predict else "learned"
        with reporting(self.verbose, task, examples.n) as tell:
            for piece, scored in fitted.pieces(examples.n, predict):
                part, solver = examples.at(piece), None
                not_yet = None if unknown is None else unknown[piece]
                if scored:
                    rows, before = fitted.rows(part, later(tell, piece.start)), fitted.solver
                    solver, (predicted, *spreads) = before.record(rows, spread=spread)
                    predicted = units.undo(before.shape.backend.to_numpy(predicted))
                    outputs.append([predicted, *map(units.undo_spread, spreads)])
                    if fitted.calibration is not None:
                        outputs[-1].append(fitted.sharpness_at(part.n, not_yet))
                        fitted = fitted.calibrated_by(predicted, part, not_yet)
                fitted, again = self._warmed_up(fitted, part)
                if solver is None or again is not part:
                    rows = fitted.rows(again, later(tell, piece.stop - again.n))
                    solver = fitted.solver.learn(rows)
                fitted, units = fitted._replace(solver=solver), fitted.targets.scaling
        parts = [np.concatenate(each) for each in zip(*outputs, strict=True)] if predict else []
        return fitted, (fitted.targets, parts, unknown)

    def _warmed_up(self, fitted: Fitted, part: Examples) -> tuple[Fitted, Examples]:
        """Keep more first rows; return the rows to learn now: these or, in new units, all again.

        Units are measured from the first 1, 2, 4, ... rows, up to 1024. After those they stay.
        """
        if fitted.warmup is None:
            return fitted, part
        rows, measured = fitted.warmup.appended(part.on_host()), n_measured(fitted.warmup.n)
        fitted = fitted._replace(warmup=rows if rows.n < WARMUP_ROWS else None)
        if n_measured(rows.n) == measured:
            return fitted, part
        again = measured_again(self, fitted, rows.at(slice(n_measured(rows.n))))
        return fitted if again is None else again, part if again is None else rows

    def _unknown(self, y: Array, targets: Any) -> Array | None:
        """Mark, for each row, the classes not known yet; None for numbers or if all are known."""
        return None

    @solver_is_online
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row: what ``partial_fit([x], [y])`` does, without its checks of whole tables.

        Mixed with any other method at any point, the answers are those of either alone.

        Parameters
        ----------
        x : array of shape (n_features,)
        y : number or label, or array of shape (n_outputs,)

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from greville import ELMRegressor
        >>> model = ELMRegressor(20, random_state=0)
        >>> for x in np.random.default_rng(0).normal(size=(200, 2)):
        ...     _ = model.learn_one(x, x[0] * x[1])
        >>> round(float(model.predict_one(np.array([1.0, -0.5]))), 1)
        -0.5
        """
        live = self._live
        if self._fitted is not None and (live is None or self.solver is not self._agreed):
            with self._lock:
                self._check_solver()
                live = self.started_live()
        status = -1 if live is None else live.learned(x, y)
        if status == DUE:
            self.renew(live)
        return self if status >= 0 else self._learn_without_kernels(x, y)

    def _learn_without_kernels(self, x: Any, y: Any) -> Self:
        """Learn one row by `partial_fit`."""
        row = x
        if not is_on_device(x):
            row = received(x, "x")
            started = None if self._fitted is None else self.start_value.hidden
            row = check_one(row, "x", None, FLOATS) if started is None else started.checked_one(row)
        y = on_host(received(y, "y")).item() if is_tensor(y) and y.ndim == 0 else y
        with self._lock, warnings.catch_warnings():  # one row has no column names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            self.partial_fit(row[None], y[None] if is_tensor(y) else np.asarray(y)[None])
            self.convert(lambda old: (old._replace(solver=old.solver.flushed()), None))
        return self

    def _made_live(self, fitted: Fitted) -> LiveRows | None:
        return LiveRows.start(fitted)

    # Models as sums over rows

    merge = solver_adds(Publishing.merge)

    def _check_alike(self, other: Any) -> None:
        ours, its = ((f.hidden, f.targets) for f in (self.fitted_, other.fitted_))
        weights = [getattr(targets, "label_weights", None) for _, targets in (ours, its)]
        message = ""
        if (ours[0].scaling, ours[1].scaling) != (its[0].scaling, its[1].scaling):
            message = (
                "it has learned other units for its inputs or targets than this model; let one "
                "model prepare from some rows, and give copies of it to all, or bring the data to "
                "order one yourself, and pass standardize=False."
            )
        elif weights[0] != weights[1]:
            message = (
                "its rows count by other weights of classes than those of this model; pass both "
                "the same dict as class_weight."
            )
        elif (ours[0].dtype, ours[0].n_inputs) != (its[0].dtype, its[0].n_inputs):
            message = (
                f"it has learned in {its[0].dtype}, and this model in {ours[0].dtype}, of "
                f"{its[0].n_inputs} and {ours[0].n_inputs} inputs; only alike ones can be merged."
            )
        elif not is_same_transformer(ours[0].layer, its[0].layer):
            message = (
                "its hidden layer is not that of this model; give both the same random_state, or "
                "the same fitted transformer as hidden; hidden='auto' is chosen from the rows: let "
                "one model prepare from some, and give copies of it to all."
            )
        if message:
            raise ValueError(f"other: {message}")

    def emptied(self) -> Self:
        """A model with the same units, hidden layer and classes that has learned nothing."""
        old = self.fitted_
        b = old.solver.shape.backend
        return self.with_fitted(Fitted.start(old.hidden, old.targets, old.template, b))

    def accumulator(self) -> Self:
        """A model with the same units, hidden layer and classes that only adds rows up.

        `merge` learns all of them as if they had come in one `fit`, and `subtract` unlearns them.
        """
        fitted = self.fitted_
        solver = fitted.solver.accumulator()
        return self.with_fitted(fitted._replace(solver=solver, warmup=None, calibration=None))

    def subtract(self, sums: Self) -> Self:
        """Unlearn the rows of an accumulator; a ValueError if the rows cannot be removed."""

        def without(fitted: Fitted) -> tuple[Fitted, None]:
            if fitted.targets.merged(sums.fitted_.targets) is not fitted.targets:
                raise ValueError(_NEVER_LEARNED)
            added_up = sums.fitted_.with_targets(fitted.targets).solver
            return fitted.with_sums(fitted.solver.without(added_up)), None

        self.change(without)
        return self

    def choose(self) -> Self:
        """Choose epsilon again from all rows, as at the end of `fit`, where it is chosen."""
        check_is_fitted(self)
        self.change(lambda fitted: (fitted._replace(solver=fitted.solver.chosen()), None))
        return self

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
        examples = self._checked_known(X, y, sample_weight)
        self.change(lambda fitted: (fitted.calibrated(examples), None))
        return self

    def _compact(self) -> None:
        """Learn the pending rows, and drop caches that a loaded model does not have."""
        with self._lock:
            if self._fitted is not None:
                self.convert(lambda old: (old._replace(solver=old.solver.compact()), None))
                self._live_from = 0  # as of one that is loaded: both go on with equal bits

    # Predicting

    def predict_one(self, x: Any) -> Any:
        """The prediction for one row.

        Parameters
        ----------
        x : array of shape (n_features,)

        Returns
        -------
        y : number or label, or ndarray of shape (n_outputs,)
            What ``predict([x])[0]`` gives, to rounding.
        """
        live = self._live
        if type(x) is not np.ndarray and is_tensor(x):
            if x.ndim != 1:
                raise ValueError(
                    f"x: expected one row as a 1-d tensor, got shape {tuple(x.shape)}; for several "
                    "rows there are partial_fit and predict."
                )
            return self.predict(x[None])[0]
        if live is not None:
            predicted = live.predicted(x)
            if predicted is not None:
                return predicted
        check_is_fitted(self)
        fitted = self.fitted_ if live is None else live.close()
        hidden = fitted.hidden
        if not fitted.solver.shape.backend.has_kernels:
            return self.predict(check_one(x, "x", hidden.n_inputs, FLOATS)[None])[0]
        if live is None and worth_loading() and self.started_live(wait=False) is not None:
            return self.predict_one(x)
        return fitted.targets.decode_one(fitted.solver.predict_one(hidden.activations_one(x)))

    def _predicted(
        self, X: Any, *, spread: bool = False, on_device: bool = False
    ) -> tuple[Any, list[Any]]:
        """Return the fitted model, outputs (n_samples, n_outputs) and standard deviations.

        They are NumPy's, or with `on_device` where the model is.
        """
        check_is_fitted(self)
        fitted = self.fitted_
        self._check_spread(fitted, spread)
        X = self._checked_rows(X, reset=False)
        with reporting(self.verbose, "predicted", X.shape[0]) as tell:
            outputs = fitted.predict(X, spread=spread, tell=tell)
        stay = [on_device and is_on_device(A) for A in outputs]
        return fitted, [A if s else on_host(A) for A, s in zip(outputs, stay, strict=True)]

    @staticmethod
    def _check_spread(fitted: Fitted, spread: bool) -> None:
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
        """Compute exactly how much each of some learned rows moves the prediction for another row.

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
        examples = self._checked_known(X, y, None)
        targets = self.fitted_.targets
        encoded = on_host(targets.encode(examples.y)(slice(0, examples.n)))
        Y = targets.scaling.undo(np.asarray(encoded, np.float64))
        return influence_of(self, self._dense_rows([x])[0], self._dense_rows(X), Y)

    def _dense_rows(self, X: Any) -> Array:
        rows = self._checked_rows(X, reset=False)
        rows = rows.toarray() if sparse.issparse(rows) else on_host(rows)
        return np.asarray(rows, np.float64)

    def _place_of(self, column: Any) -> int:
        """Return the index of a column that is passed by index or by name."""
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
        """A table of what was learned, in words, as notebooks show it; empty before `fit`.

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
        started, n_seen = (
            (fitted, fitted.n_seen) if live is None else (live.start_value, live.n_seen)
        )
        hidden, targets, solver = started.hidden, started.targets, started.solver
        classes = targets.classes.tolist() if targets.calibrates else ()
        arrays = [hidden, targets, solver, started.warmup, *([] if live is None else [live.array])]
        return {
            "rows": f"{n_seen:,}",
            "inputs": named_list(getattr(self, "feature_names_in_", ()), hidden.n_inputs),
            "hidden layer": hidden.in_words(solver.shape.n_hidden),
            "classes" if classes else "outputs": named_list(classes, targets.n_outputs),
            "solver": " ".join(repr(started.template).split()),
            **solver.in_words(n_seen),
            **place_summary(solver, *arrays),
        }

    @solver_chooses
    def path(self) -> Any:
        """Return the evidence for each epsilon that was tried at the last choice.

        Returns
        -------
        path : Path
            With arrays `epsilon` and `evidence`, and the number `chosen`.
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def set_direct_inputs(model: T, n: int, old: Any) -> T:
    """Use the last n inputs directly as hidden units, beside the units of the layer.

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
    old = np.asarray(old, np.int64)
    with model.replacement() as new:
        fitted = model.leave_live()
        fitted.check_learns()
        hidden, warmup = fitted.hidden.with_direct(n), fitted.warmup
        n_layer = hidden.n_inputs - n
        n_units = fitted.solver.shape.n_hidden - fitted.hidden.n_direct
        if warmup is not None:
            warmup = warmup.with_columns(hidden.n_inputs, np.r_[:n_layer, n_layer + old])
        solver = fitted.solver.with_units(n_units + n, np.r_[:n_units, n_units + old])
        new._fitted = fitted._replace(hidden=hidden, solver=solver, warmup=warmup)
        new.n_features_in_ = hidden.n_inputs
    return model
