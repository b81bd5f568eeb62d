"""A model of tables: learns a column from the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from ..elm import set_direct_inputs
from ..fields import compact, stored
from ..insight import Effect, Importance, Why
from ..persistence import check_fits
from ._fields import FIELDS, check_fields, from_fields, try_out
from ._first_rows import EncodedRows, FirstRows, first_columns, naming_rows
from ._rows import RowEncoder, batch_of_rows, batches_of_rows, checked_row, runs_of_one_kind
from ._sample import sampled
from ._settings import FIRST_ROWS, NAMING_COLUMNS, ROWS_OF_UNITS, ModelParameters, Settings
from .batch import Batch, RowErrors, TableError, batches_of, listed
from .doubts import totals_row
from .findings import Finding
from .insights import table_effect, table_importance, table_why
from .numerals import usual_decimal
from .predictions import Answers
from .schema import Schema
from .target import CLASSIFICATION, REGRESSION, Target, check_target

# Classes of a target. Time and memory grow with their number.
MOST_CLASSES = 10_000

# Columns, or hundreds of characters of names, from which it is tried whether a file holds them.
_MANY_NAMES = 1000

_NOTHING_LEARNED = "the model has learned nothing yet; give it rows with a target first."
_NO_PROBABILITIES = "the model predicts a number; there are no probabilities."

# What says that a single row has a target, and types of values that never change.
_HAS_TARGET = np.ones(1, bool)
_SIMPLE = frozenset({float, int, str, bool, type(None)})

Row = Mapping[str, Any]
T = TypeVar("T")


@stored(
    parameters=FIELDS,
    whole=True,
    to_fields=lambda model: {name: getattr(model, name) for name in FIELDS},
    from_fields=from_fields,
    check=check_fields,
    try_out=try_out,
    compact=lambda model: compact(model.estimator),
)
class TableModel:
    """Learns a column of a table from the others, batch by batch.

    Column types (numbers, true or false, text, times) and categories are decided from the first
    4096 rows, or from a sample of all (`prepare`), and then frozen; but values of text columns that
    come later are learned too. Until so many have come they are kept as they came, and all of them
    are looked at and learned when the model is used: how rows are cut into batches, files or runs
    changes nothing.

    Parameters
    ----------
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
        "auto" is classification for text, true or false, and a few whole numbers.
    hidden : "auto", "inputs", "stream" or int
        "auto" chooses the layer and its size from the rows as `ELMRegressor` does (`prepare` tells
        it how many there are; without it they are taken to be the first 4096); with a solver that
        does not choose epsilon, ten units for each input or 15 times the root of the number of
        rows, from 100 to 1000. "inputs" is ten units for each input, from 100 to 1000. "stream"
        is 200 units, or four for each input, chosen by the first rows: what `greville stream` has.
        A number is that of the units of a `RandomLayer`.
    solver : {"opium", "dynamic", "sliding", "light", "greville"}
    alpha, epsilon, window : float, "auto" or None
        Parameters of the solver; None for its default.
    seed : int
        The same seed gives the same hidden layer.
    features : list of str, optional
        The columns to learn from; all others by default.
    ignore, categorical : list of str
        Columns not to use, and columns of numbers that are names.
    decimal, thousands : str, optional
        The marks in numbers such as 1.234,50; found by itself where a column shows which they are.
    na : list of str
        Values that stand for a missing one, besides the usual ones.
    date_format : str, optional
        A format of `strptime`, "seconds" or "milliseconds" (since 1970): for all columns of which
        it reads the values.
    number, text : list of str
        Columns that are numbers, or text, whatever their values look like.
    fold : list of str
        Columns of text, or the target, whose values are the same if they differ only in small
        letters and blanks.
    categories : int, optional
        How many values of a text column are told apart, at most; by default 50, and as many as come
        in three of the first rows.
    device : str, optional
        Where to learn: "cuda" or another device of torch, or "auto"; see docs/devices.md.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import TableModel
    >>> table = pa.table({"x": range(100), "kind": ["a", "b"] * 50, "y": range(0, 200, 2)})
    >>> model = TableModel("y", task="regression").learn(table)
    >>> model.predict(pa.table({"x": [10], "kind": ["a"]})).round(1)
    array([20.])
    """

    def __init__(self, target: str, **settings: Unpack[ModelParameters]) -> None:
        self.settings = Settings(target=target, **settings)
        self._first: FirstRows | None = FirstRows()  # as long as they may change the schema
        self._kept: list[Row] = []  # the last of them, each learned alone
        self.stale = False  # whether some of these are not learned yet
        self.columns: Schema | None = None  # and the values of them that were learned
        self.fitted_target: Target | None = None
        self.estimator: Any = None  # an ELMRegressor or ELMClassifier, once there are rows
        self.n_expected = FIRST_ROWS  # how many rows will be learned: layers depend on it
        self.n_rows = self.n_without_target = 0
        self._row_encoder: RowEncoder | None = None  # of the last schema
        self._labels: tuple[Any, list[Any], frozenset[Any]] = (None, [], frozenset())
        self._answered: tuple[Any, ...] = (None,)  # inputs, the number of rows, and their answer

    # What is known

    def __repr__(self) -> str:
        """Say what is predicted from which columns; rows that wait are not learned for it."""
        parts = [repr(self.target)]
        if self.task is not None:
            parts.append(self.task)
        parts.append(f"{self.n_waiting or self.n_rows:,} rows")
        if self.has_schema and self.schema.names:
            parts.append(f"from {listed(self.schema.names)}")
        return f"<TableModel: {', '.join(parts)}>"

    @property
    def target(self) -> str:
        """The column to predict."""
        return self.settings.target

    @property
    def task(self) -> str | None:
        """Regression or classification, once it is known."""
        return None if self.fitted_target is None else self.fitted_target.task

    @property
    def target_kind(self) -> str | None:
        """Kind of the targets: number, text, integer or flag."""
        return None if self.fitted_target is None else self.fitted_target.kind

    @property
    def decimal(self) -> str:
        """Decimal mark of the numbers that were learned: a point or a comma."""
        columns: list[Any] = [*self.schema.columns, self.fitted_target]
        numerals = (each.numerals for each in columns if hasattr(each, "numerals"))
        return usual_decimal(numerals) or "."

    @property
    def has_schema(self) -> bool:
        """Whether the columns of the model are decided."""
        return self.columns is not None

    @property
    def schema(self) -> Schema:
        """Schema: what the columns of the table are."""
        return _learned(self.columns)

    @property
    def first(self) -> FirstRows | None:
        """The first rows, as long as they may change the schema."""
        if self._kept:
            rows, self._kept = self._kept, []
            for batch in batches_of_rows(rows, "the rows"):
                self._keep(batch, stale=False)
        return self._first

    @first.setter
    def first(self, rows: FirstRows | None) -> None:
        self._first, self._kept = rows, []

    @property
    def schema_may_change(self) -> bool:
        """Whether more of the first rows are to come."""
        return self._first is not None

    @property
    def rows_until_look(self) -> int:
        """Number of rows until columns and units are decided again; 0 after 256 rows."""
        n = ROWS_OF_UNITS if self.first is None else self.first.n
        return 0 if n >= ROWS_OF_UNITS else _n_until_due(n)

    @property
    def _fitted_target(self) -> Target:
        return _learned(self.fitted_target)

    @property
    def classes(self) -> list[Any]:
        """The labels that were learned, sorted."""
        has_classes = self.task == CLASSIFICATION and self.estimator is not None
        return self.estimator.classes_.tolist() if has_classes else []

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about the first rows, for the owner of the table."""
        return self.schema.findings if self.has_schema else ()

    def say(self, finding: Finding) -> None:
        """Add a finding about the table."""
        self.columns = self.schema.saying([finding, *self.schema.findings])

    @property
    def n_waiting(self) -> int:
        """Rows that are kept, and learned when the model is used or more have come."""
        return self.first.n if self.first is not None and self.stale else 0

    @property
    def needed(self) -> list[str] | None:
        """Names of the columns that must be read; None for all columns."""
        if self.first is None:
            return [*self.schema.names, self.target]
        features = self.settings.features
        return None if features is None else [*features, self.target]

    @property
    def says_how_sure(self) -> bool:
        """Whether predictions come with standard deviations."""
        return self.task == REGRESSION and self.settings.make_solver().capabilities.tells_spread

    @property
    def leaves_out(self) -> bool:
        """Whether rows that were learned can be predicted as if they had not been."""
        return self.settings.make_solver().capabilities.leaves_out

    # Copies

    def twin(self) -> Self:
        """A copy that learns on its own."""
        other = copy(self)
        other.first, other._answered = self.first, (None,)
        other.estimator = None if self.estimator is None else copy(self.estimator)
        return other

    @contextmanager
    def _replacement(self) -> Iterator[Self]:
        """A copy to change, which takes the place of this model if no exception comes out."""
        new = self.twin()
        yield new
        self.__dict__ = new.__dict__

    def _empty(self) -> None:
        """Forget all rows, but neither columns, nor units, nor the hidden layer."""
        self.first, self.stale = None, False
        self.estimator = self.estimator.emptied()
        self.n_rows = self.n_without_target = 0
        self.columns = Schema(self.schema.columns, self.schema.findings)

    def forgotten(self) -> Self:
        """Forget all rows; columns, units and hidden layer stay."""
        if self.settle().estimator is None:
            raise TableError(
                "the model has learned nothing yet; train it before another is made like it."
            )
        other = self.twin()
        other._empty()
        return other

    def accumulator(self) -> Self:
        """A model with the same columns, units and hidden layer that only adds rows up.

        It learns and merges as others do, and cannot predict. `merge` of this model then learns
        all of its rows, as if they had come in one call.
        """
        other = self._additive("be trained on a cluster").twin()
        estimator = other.estimator.accumulator()
        other._empty()
        other.estimator = estimator
        return other

    def to(self, device: Any) -> Self:
        """Learn on another device from now on: "cpu", or a device of torch such as "cuda"."""
        if self.settle().estimator is not None:
            with self._replacement() as new:
                new.estimator.to(device)
        self.settings = replace(self.settings, device=str(device))
        return self

    # Learning

    def prepare(self, table: Any) -> Self:
        """Decide columns and units from rows that will be learned; learn none.

        What the columns are, and in which units they are learned, then comes from 4096 rows taken
        at random from all of these, always the same ones, and not from the first. If there are no
        more than that, nothing is done: they will all be looked at.

        Parameters
        ----------
        table : a table, a batch, or batches in a list or an iterator
        """
        if self.first is None or self.first.n or self.has_schema:
            raise TableError("prepare: the model has rows or columns already; make a new one.")
        batches = table if isinstance(table, Iterator) else batches_of(table)
        sample, n = sampled(batches, FIRST_ROWS)
        return self if n <= FIRST_ROWS else self.prepare_from(sample, n)

    def prepare_from(self, sample: Iterable[Batch], n: int) -> Self:
        """Take columns and units from exactly these rows, out of n; learn none."""
        with self._replacement() as new:
            for batch in sample:
                new._keep(batch)
            rows = new._fit_columns()[1]
            new.n_expected = n
            new._measure(rows)
            new.first, new.stale = None, False
        return self

    def learn(self, table: Any, row_errors: RowErrors | None = None) -> Self:
        """Learn all rows of a table, or of a batch or a list of batches, that have a target.

        All of them or, if an exception comes out, none. What is wrong with one of the first rows
        is said when they are looked at: by `settle`, or when there are enough of them.
        """
        row_errors = row_errors or RowErrors()
        with self._replacement() as new:
            left = deque(batches_of(table))
            for batch in left:
                row_errors.count_skipped(batch)
            while left and new.first is not None:
                batch = left.popleft()
                stop = min(FIRST_ROWS - new.first.n, len(batch))
                new._keep(batch.part(0, stop), batch)
                if new.first.n >= FIRST_ROWS:
                    new._settle(row_errors)
                    new.first = None
                if stop < len(batch):
                    left.appendleft(batch.part(stop, len(batch)))
            if left:
                new._learn_encoded(list(left), [new._checked(batch, row_errors) for batch in left])
        return self

    def settle(self, row_errors: RowErrors | None = None) -> Self:
        """Decide columns and units from the first rows and learn these, unless that is done."""
        if self.stale:
            with self._replacement() as new:
                new._settle(row_errors or RowErrors())
        return self

    def weigh(self, table: Any, weight: NDArray[np.float64]) -> None:
        """Learn all rows again with weights; the table must have all rows learned so far."""
        start, (n_rows, n_without) = 0, (self.n_rows, self.n_without_target)
        with self._replacement() as new:
            new._empty()
            for batch in batches_of(table):
                rows, weights = new._encoded(batch), weight[start : start + len(batch)]
                start, use = start + len(batch), rows.usable
                if use.any():
                    X, y = rows.learned_from()
                    new.estimator.partial_fit(X, y, sample_weight=weights[use])
                    new.columns = new.schema.after(X)
            new.estimator.choose()
            new.n_rows, new.n_without_target = n_rows, n_without

    def calibrate(self, batch: Batch) -> Self:
        """Learn how sharp probabilities are from rows that were learned, each without itself.

        What learns in one process does so by itself, from rows before it has learned them.
        """
        with self.settle()._replacement() as new:
            rows = new._encoded(batch)
            if new.task == CLASSIFICATION and new.estimator is not None and rows.usable.any():
                new.estimator.calibrate(*rows.learned_from())
        return self

    def choose(self) -> Self:
        """Choose epsilon again from all rows, with care, where it is chosen."""
        with self.settle()._replacement() as new:
            if new.estimator is not None:
                new.estimator.choose()
        return self

    # The first rows

    def _keep(self, batch: Batch, whole: Batch | None = None, *, stale: bool = True) -> None:
        """Keep more of the first rows, which are part of `whole`; `stale` if not learned yet."""
        rows = self.first
        assert rows is not None
        self._check_names(whole or batch)
        self.first = rows.with_batch(batch, self.settings.uses)
        self.stale = stale

    def _settle(self, row_errors: RowErrors) -> None:
        """Learn all of the first rows, except a last row of totals."""
        rows = self.first
        if rows is None or not self.stale:
            return
        total = totals_row(rows.batch(), rows.where(rows.n - 1)) if rows.n else None
        if total is not None:
            self.first = rows.without([rows.n - 1])
        self._relearn(*self._fit_columns(), row_errors)
        if total is not None:
            self.say(total)

    def _fit_columns(self) -> tuple[Batch, EncodedRows]:
        """Decide the columns of the first rows, and forget all that was learned from these."""
        assert self.first is not None
        schema, self.fitted_target, batch = first_columns(self.settings, self.first)
        self.columns, self.estimator = schema, None
        self.n_expected, self.n_rows, self.n_without_target = self.first.n, 0, 0
        n_columns = len(schema.columns)
        if n_columns + sum(map(len, schema.inputs)) // 100 >= _MANY_NAMES:
            try:
                check_fits(self)
            except ValueError as error:
                raise TableError(
                    f"{n_columns:,} columns cannot be kept in a model file: {error}",
                    " Name fewer with {features}, or leave some out with {ignore}.",
                    features=None,
                    ignore=None,
                ) from error
        return batch, self._encoded(batch)

    def _relearn(
        self, batch: Batch, rows: EncodedRows, row_errors: RowErrors, *, drop: bool = False
    ) -> None:
        """Learn all of the first rows; `drop` removes those that cannot be used."""
        assert self.first is not None
        row_errors.add_rows(self.first, rows.wrong)
        self._measure(rows)
        self._learn_encoded([batch], [rows])
        self.stale = False
        if drop and rows.wrong:
            self.first = self.first.without(list(rows.wrong))
        if drop and self.first.n >= FIRST_ROWS:
            self.first = None

    def _measure(self, rows: EncodedRows) -> None:
        """Measure the units of inputs and targets, if there are rows that can be learned."""
        use, n_late = rows.usable, self.schema.n_late
        if not use.any():
            self._extend({text.name: [] for text in self.schema.texts})
            return
        self._check_classes(rows.y[use])
        n_rows = max(1, round(self.n_expected * float(use.mean())))
        n_layer = len(self.schema.inputs) - n_late
        self.estimator = self.settings.make_estimator(self.task, n_layer, self.n_expected)
        self.estimator.prepare(rows.X[use][:, :n_layer], rows.y[use], n_rows=n_rows)
        if n_late:
            set_direct_inputs(self.estimator, n_late, [])

    # Rows that were encoded

    def _encoded(self, batch: Batch) -> EncodedRows:
        """The rows of a batch as the estimator takes them."""
        batch = batch.with_gaps(self.settings.na)
        X, wrong = self.schema.encode(batch)
        y, has_target, wrong_targets = self._fitted_target.read(batch)
        return EncodedRows(X, y, has_target, wrong_targets | wrong)

    def _checked(self, batch: Batch, row_errors: RowErrors) -> EncodedRows:
        rows = self._encoded(batch)
        row_errors.add_rows(batch, rows.wrong)
        return rows

    def _learn_encoded(self, batches: Sequence[Batch], rows: Sequence[EncodedRows]) -> None:
        """Learn several batches of encoded rows together."""
        rows = self._with_late_inputs(batches, rows)
        parts = [each.learned_from() for each in rows]
        X, y = map(np.concatenate, zip(*parts, strict=True)) if len(parts) > 1 else parts[0]
        self.n_without_target += sum(int((~each.has_target).sum()) for each in rows)
        if len(X):
            self._check_classes(y)
            with naming_rows(batches):
                self._started().partial_fit(X, y)
            self.n_rows += len(X)
            self.columns = self.schema.after(X)

    def _with_late_inputs(
        self, batches: Sequence[Batch], rows: Sequence[EncodedRows]
    ) -> Sequence[EncodedRows]:
        """Encode batches, with a new input for each new value in the rows to be learned.

        It was zero in all rows so far, which has changed nothing: none has to be learned again.
        """
        if self.estimator is None:  # it will be made for the inputs that there are then
            return rows
        batches = [batch.with_gaps(self.settings.na) for batch in batches]
        grown = self.schema
        for batch, each in zip(batches, rows, strict=True):
            labels = grown.new_labels(batch, each.usable)
            grown = grown.with_late(labels)[0] if labels else grown
        if grown is self.schema:
            return rows
        self._extend({text.name: text.late for text in grown.texts})
        return [
            replace(each, X=self.schema.encode(batch)[0])
            for batch, each in zip(batches, rows, strict=True)
        ]

    def _extend(self, late: Mapping[str, list[str]]) -> None:
        """Add inputs for late values of columns."""
        self.columns, old = self.schema.with_late(late)
        if self.estimator is not None and len(old) < self.schema.n_late:
            set_direct_inputs(self.estimator, self.schema.n_late, old)

    def _started(self) -> Any:
        """The estimator, which is made where there is none."""
        if self.estimator is None:
            n_inputs = len(self.schema.inputs)
            self.estimator = self.settings.make_estimator(self.task, n_inputs, self.n_expected)
        return self.estimator

    # Predicting

    def predict(self, table: Any) -> NDArray[Any]:
        """The predictions for all rows of a batch or a table."""
        parts = []
        for batch in batches_of(table):
            answers = self.answers(batch)
            for row, reason in answers.wrong.items():
                raise TableError(f"{batch.where(row)}: {reason}.")
            parts.append(answers.prediction)
        return np.concatenate(parts)

    def answers(self, batch: Batch, *, std: bool = False, proba: bool = False) -> Answers:
        """Predict a batch, with deviations and probabilities if wanted."""
        model = copy(self.settle())  # in which nothing changes that another thread learns
        batch = batch.with_gaps(self.settings.na)
        X, wrong = model.schema.encode(batch)
        answers = model._predicted(X, wrong, std=std, proba=proba)
        answers.unlearned = model.schema.unlearned(batch)
        return answers

    def _predicted(
        self, X: NDArray[Any], wrong: dict[int, str], *, std: bool, proba: bool
    ) -> Answers:
        """Predict encoded rows."""
        estimator, classes = _learned(self.estimator), self.classes if proba else ()
        answers = Answers(self._no_predictions(len(X)), wrong, classes=classes)
        if not len(X):
            return answers
        X[list(wrong)] = 0
        X = self.schema.with_learned_values(X)
        if std:
            answers.prediction, answers.std = estimator.predict(X, return_std=True)
        elif proba:
            answers.proba = estimator.predict_proba(X)
            answers.prediction = estimator.classes_[answers.proba.argmax(axis=1)]
        else:
            answers.prediction = estimator.predict(X)
        return answers

    def _no_predictions(self, n: int) -> NDArray[Any]:
        """Return placeholders for predictions where there are none."""
        return np.full(n, np.nan if self.task == REGRESSION else None)

    def leave_out(self, batch: Batch) -> Answers:
        """Predict learned rows, each as if that row alone had not been learned.

        A ValueError if a row determines its own prediction, as with fewer rows than units it may.
        """
        model = copy(self.settle())
        rows, estimator = model._encoded(batch), model.estimator
        use = rows.usable if estimator is not None else np.zeros(len(batch), bool)
        answers = Answers(
            model._no_predictions(len(batch)), rows.wrong, target=rows.y, has_target=use
        )
        if use.any() and model.task == CLASSIFICATION:
            proba = estimator.loo_predict(*rows.learned_from(), method="predict_proba")
            answers.prediction[use] = estimator.classes_[proba.argmax(axis=1)]
            answers.proba = np.zeros((len(batch), proba.shape[1]))
            answers.proba[use] = proba
        elif use.any():
            answers.prediction[use] = estimator.loo_predict(*rows.learned_from())
        return answers

    def targets(self, batch: Batch) -> tuple[NDArray[Any], NDArray[np.bool_], dict[int, str]]:
        """Return the targets of a batch, a mask of present ones, and the reasons for wrong ones."""
        return self.settle()._fitted_target.read(batch)

    # Predicted and then learned

    def record(
        self,
        table: Any,
        row_errors: RowErrors | None = None,
        *,
        std: bool = False,
        proba: bool = False,
    ) -> list[Answers]:
        """Predict every row before it is learned, and learn them all.

        As long as the first rows come, what the columns are is learned afresh from 1, 2, 4, ... of
        them, and when one does not fit.
        """
        answers, row_errors = [], row_errors or RowErrors()
        options = {"std": std, "proba": proba}
        with self._replacement() as new:
            new._settle(RowErrors(skip=True))
            for batch in batches_of(table):
                row_errors.count_skipped(batch)
                start = 0
                while start < len(batch) and new.first is not None:
                    stop = min(start + _n_until_due(new.first.n), len(batch))
                    answers.append(new._record_first(batch.part(start, stop), row_errors, options))
                    start += len(answers[-1].prediction)
                if start < len(batch):
                    more = batch.part(start, len(batch))
                    answers.append(new._record(more, new._checked(more, row_errors), **options))
        return answers

    def _record_first(
        self, piece: Batch, row_errors: RowErrors, options: dict[str, bool]
    ) -> Answers:
        """Predict and learn first rows up to one that does not fit the schema, or only that row."""
        assert self.first is not None
        rows = self._encoded(piece) if self.has_schema else None
        if rows is None or 0 in rows.wrong:
            reason = "" if rows is None else rows.wrong[0]
            return self._record_misfit(piece.part(0, 1), reason, row_errors)
        rows, is_due = rows.until_wrong(), _n_until_due(self.first.n)
        piece = piece.part(0, len(rows.X))
        answers = self._record(piece, rows, **options)
        self._keep(piece, stale=False)
        if len(piece) >= is_due and not self._fits_first_rows():
            self._relearn(*self._fit_columns(), row_errors, drop=True)
        return answers

    def _fits_first_rows(self) -> bool:
        """Whether the first rows still give the same schema, and enough rows measured its units."""
        assert self.first is not None
        if not self.settings.has_fixed_units(self.first.n):
            return False
        schema, target, _ = first_columns(self.settings, self.first)
        if target != self.fitted_target or not schema.is_like(self.schema):
            return False
        self.columns = self.schema.saying(schema.findings)
        if self.first.n >= FIRST_ROWS:
            self.first = None
        return True

    def _record_misfit(self, row: Batch, reason: str, row_errors: RowErrors) -> Answers:
        """Fit the schema anew to the first row, or to one that does not fit the schema.

        If it does not fit then, it is wrong for `reason`, and nothing changes.
        """
        new = self.twin()
        new._keep(row)
        batch, rows = new._fit_columns()
        if len(batch) - 1 in rows.wrong:
            wrong = {0: reason or rows.wrong[len(batch) - 1]}
            row_errors.add_rows(row, wrong)
            return Answers((self if self.has_schema else new)._no_predictions(1), wrong)
        new._relearn(batch, rows, row_errors, drop=True)
        self.__dict__ = new.__dict__
        return Answers(
            self._no_predictions(1), {}, target=rows.y[-1:], has_target=rows.has_target[-1:]
        )

    def _record(
        self, batch: Batch, rows: EncodedRows, *, std: bool = False, proba: bool = False
    ) -> Answers:
        """Predict every row before it is learned, and learn those that have a target."""
        batch, proba = batch.with_gaps(self.settings.na), proba and self.task == CLASSIFICATION
        (rows,) = self._with_late_inputs([batch], [rows])
        X, y, use = rows.X, rows.y, rows.usable
        answers = Answers(self._no_predictions(len(batch)), rows.wrong, target=y, has_target=use)
        parts: list[tuple[Any, Answers]] = []
        self.n_without_target += int((~rows.has_target).sum())
        self._check_classes(y[use])
        # Rows with a new value are alone: they are predicted as rows without a target are.
        new = np.flatnonzero(use)[self.schema.new_rows(X[use])]
        cuts = {0, len(use), *(np.flatnonzero(np.diff(use)) + 1), *new, *(new + 1)}
        with naming_rows([batch]):
            for start, stop in pairwise(sorted(cuts)):
                run, learns = np.arange(start, stop), use[start]
                is_new = start in new
                if self.n_rows > 0 and (is_new or not learns):
                    part = self._predicted(X[run], {}, std=std, proba=proba)
                    part.guessed = {0} if is_new else set()
                    if not learns:
                        part.unlearned = self.schema.unlearned(batch.part(start, stop))
                    parts.append((run, part))
                if learns:
                    part = self._prequential(X[run], y[run], std=std, proba=proba)
                    if not is_new:
                        parts.append((run, part))
                    self.n_rows += int(stop - start)
                    self.columns = self.schema.after(X[run])
        answers.collect(parts, self.classes)
        return answers

    def _prequential(self, X: NDArray[Any], y: NDArray[Any], *, std: bool, proba: bool) -> Answers:
        estimator = self._started()
        if std:
            predicted, spread = estimator.prequential(X, y, return_std=True)
            return Answers(predicted, {}, std=spread)
        if proba:
            probabilities = estimator.prequential(X, y, method="predict_proba")
            labels = estimator.classes_[probabilities.argmax(axis=1)]
            return Answers(labels, {}, proba=probabilities, classes=self.classes)
        return Answers(estimator.prequential(X, y), {})

    # Rows as dicts

    def learn_one(self, row: Row) -> Self:
        """Learn one row, without the checks of whole tables.

        What the columns are is learned afresh from the first 1, 2, 4, ... rows, and when one does
        not fit.

        Parameters
        ----------
        row : dict
            Values by the names of their columns, the target among them. A column that is left
            out, or is None, is missing; a row without a target is counted, and not learned.

        Returns
        -------
        self

        Examples
        --------
        >>> from greville.tables import TableModel
        >>> model = TableModel("y", task="regression")
        >>> for i in range(100):
        ...     _ = model.learn_one({"x": i / 10, "kind": "ab"[i % 2], "y": i / 5})
        >>> round(model.predict_one({"x": 2.5, "kind": "a"}), 1)
        5.0
        """
        row = checked_row(row)
        x, y = self._usual(row)
        if y is not None:
            self._learn_usual(row, x, y)
            return self
        (answers,) = self.record(self._batch([row]), RowErrors(skip=True))
        for reason in answers.wrong.values():
            raise TableError(f"{reason}.")
        return self

    def record_one(self, row: Row, *, proba: bool = False, learns: bool = True) -> Answers | None:
        """Predict one row and then learn it, if it needs no table; None if it does.

        With `proba`, classes are answered with their probabilities. Without `learns` the row is
        only looked at.
        """
        x, y = self._usual(row, learns=learns)
        if y is None:
            return None
        answers = self._answer_usual(x, proba=proba)
        answers.target, answers.has_target = np.array([y]), _HAS_TARGET
        if learns:
            self._learn_usual(row, x, y)
        return answers

    def answer_usual(self, row: Row, *, proba: bool = False) -> Answers | None:
        """Answer one row without gaps whose values were all learned before; None for other rows.

        With `proba`, classes are answered with their probabilities.
        """
        x = self.settle()._usual_inputs(row)
        return None if x is None else self._answer_usual(x, proba=proba)

    def _answer_usual(self, x: NDArray[Any], *, proba: bool) -> Answers:
        """Answer a row of usual values; one that is predicted and then learned is answered once."""
        last = self._answered  # read once: other threads predict meanwhile
        if last[0] is not x or last[1:3] != (self.n_rows, proba):
            last = self._answered = x, self.n_rows, proba, *self._predicted_one(x, proba)
        prediction, found = last[3:]
        if found is None:
            return Answers(prediction.copy(), {})
        return Answers(prediction.copy(), {}, proba=found.copy(), classes=self._known_labels()[1])

    def _predicted_one(self, x: NDArray[Any], proba: bool) -> tuple[Any, Any]:
        """The prediction for one row and, if wanted, the probabilities of classes."""
        if self.task == REGRESSION:
            return np.array([self.estimator.predict_one(x)], np.float64), None
        if not proba:
            return np.array([self.estimator.predict_one(x)]), None
        probabilities = self.estimator.predict_proba_one(x)
        return self.estimator.classes_[[int(probabilities.argmax())]], probabilities[None]

    def predict_one(self, row: Row) -> Any:
        """The prediction for one row.

        Parameters
        ----------
        row : dict
            Values by the names of their columns. A column that is left out, or is None, is
            missing; other names are passed over.

        Returns
        -------
        prediction : float, str, int or bool
            What `predict` gives for a table of this row, to rounding.
        """
        return self._answer_alone(row).prediction.item()

    def predict_proba_one(self, row: Row) -> dict[Any, float]:
        """The probability of each class for one row; see `predict_one`."""
        if self.settle().task == REGRESSION:
            raise TableError(_NO_PROBABILITIES)
        answers = self._answer_alone(row, proba=True)
        assert answers.proba is not None
        return dict(zip(answers.classes, answers.proba[0].tolist(), strict=True))

    def _answer_alone(self, row: Row, *, proba: bool = False) -> Answers:
        row = checked_row(row)
        answers = self.answer_usual(row, proba=proba)
        answers = answers or self.answers_to_rows([row], proba=proba)
        for reason in answers.wrong.values():
            raise TableError(f"{reason}.")
        return answers

    def answers_to_rows(
        self, rows: Sequence[Row], *, std: bool = False, proba: bool = False
    ) -> Answers:
        """Predictions for rows as dicts, each what it would be if the row were alone."""
        rows = list(map(checked_row, rows))
        model = copy(self.settle())
        _learned(model.estimator)
        if proba and model.task == REGRESSION:
            raise TableError(_NO_PROBABILITIES)
        answers, parts = Answers(model._no_predictions(len(rows)), {}), []

        def answer(start: int, stop: int) -> None:
            try:
                part = model.answers(model._batch(rows[start:stop]), std=std, proba=proba)
            except TableError as error:
                if stop == start + 1:
                    answers.wrong[start] = error.message.removeprefix("the row: ")
                    return
                middle = (start + stop) // 2  # each half alone, where one of them is no row
                answer(start, middle)
                answer(middle, stop)
            else:
                parts.append((np.arange(start, stop), part))

        for run in runs_of_one_kind(rows):
            answer(run.start, run.stop)
        answers.collect(parts, model.classes)
        return answers

    def target_error(self, row: Row) -> str | None:
        """Return why a row's target cannot be read like earlier targets; None if it can."""
        return self._target_of(row)[1] if self.has_schema else None

    def _batch(self, rows: Sequence[Row]) -> Batch:
        """Rows as a batch, if each has one of the columns."""
        used = self.schema.names if self.has_schema else []
        if used and any(map(frozenset(used).isdisjoint, rows)):
            raise TableError(f"the row: it has none of the columns {listed(used)}")
        names = self.needed if self.first is None else None
        return batch_of_rows(rows, names or list(dict.fromkeys(chain(*rows))), "the row")

    def _usual(self, row: Row, *, learns: bool = True) -> tuple[Any, Any]:
        """Return inputs and target of a row whose values were all learned before.

        The target is None for any other row, and as long as the first rows come.
        """
        may = self._first is None or not learns or self._may_keep(row)
        x = self._usual_inputs(row) if may else None
        y = None if x is None else self._target_of(row)[0]
        if y is None or self.task == REGRESSION:
            return x, y
        return x, y if y in self._known_labels()[2] else None

    def _may_keep(self, row: Row) -> bool:
        """Whether a first row is like the earlier ones, and may wait for the next decision."""
        assert self._first is not None
        is_last = _n_until_due(self._first.n + len(self._kept)) == 1
        if is_last or self.stale or not row.keys() <= self._first.columns.keys():
            return False
        return all(type(value) in _SIMPLE for value in row.values())

    def _known_labels(self) -> tuple[Any, list[Any], frozenset[Any]]:
        """The classes of the estimator, as a list, and as a set."""
        classes = self.estimator.classes_
        if self._labels[0] is not classes:
            labels = classes.tolist()
            self._labels = classes, labels, frozenset(labels)
        return self._labels

    def _usual_inputs(self, row: Row) -> NDArray[Any] | None:
        """The inputs of a row whose values were all learned before; else None."""
        if self.estimator is None:
            return None
        encoder, schema = self._row_encoder, self.schema
        if encoder is None or encoder.columns is not schema.columns:
            encoder = self._row_encoder = RowEncoder(schema, self.settings.na)
        x = encoder.encode(row)
        return x if x is not None and schema.was_learned(x) else None

    def _target_of(self, row: Row) -> tuple[Any, str | None]:
        """Return the target of a row, None if missing or wrong, and the reason if wrong."""
        return self._fitted_target.read_one(row.get(self.target), self.settings.na)

    def _learn_usual(self, row: Row, x: NDArray[Any], y: Any) -> None:
        """Learn a row of usual values."""
        try:
            self.estimator.learn_one(x, y)
        except ValueError as error:
            raise TableError(str(error)) from error
        self.n_rows += 1
        if self._first is not None:
            self._kept.append(row)

    # Models as sums over rows

    def unlearn(self, table: Any, row_errors: RowErrors | None = None) -> int:
        """Remove rows learned earlier, all of them or none; return the number of removed rows."""
        before = self.settle().n_rows
        with self._additive("unlearn rows")._replacement() as new:
            for batch in batches_of(table):
                rows = new._checked(batch, row_errors or RowErrors())
                X, y = rows.learned_from()
                if len(X):
                    with naming_rows([batch]):
                        new.estimator.unlearn(X, y)
                new.n_rows -= len(X)
            new.first = None
        return before - self.n_rows

    def merge(self, *others: TableModel) -> Self:
        """Learn all that other models have learned."""
        with self._additive("merge models")._replacement() as new:
            for other in others:
                new._merge(other.settle())
            new.first = None
        return self

    def _merge(self, other: TableModel) -> None:
        """Learn all that another has learned, once both have the inputs of both."""
        late = self.schema.united(other.schema)
        if late is None or self.fitted_target != other.fitted_target or other.estimator is None:
            raise _different_columns()
        theirs, grew = other.twin(), self.schema.columns != other.schema.columns
        self._extend(late)
        theirs._extend(late)
        try:
            self.estimator.merge(theirs.estimator)
        except ValueError as error:
            if not grew:
                raise
            raise _different_columns() from error
        self.n_rows += other.n_rows
        self.n_without_target += other.n_without_target
        self.columns = copy(self.schema)
        self.columns.learned = self.schema.learned | theirs.schema.learned

    def _additive(self, what: str) -> Self:
        """Return this model; a TableError if rows cannot be added and removed."""
        if not hasattr(self.settle().estimator, "unlearn"):
            raise TableError(
                f"this model cannot {what}; only those with the solver opium or greville can."
            )
        return self

    # What matters to it

    def importance(self, table: Any = None) -> Importance:
        """How much each column matters, exactly from what was learned, and at rows.

        Parameters
        ----------
        table : a table, a batch, or batches in a list or an iterator, optional
            Rows at which derivatives are taken; a sample of 2000, if there are more.
        """
        return table_importance(self.settle(), None if table is None else batches_of(table))

    def effect(self, column: str | Sequence[str], table: Any) -> Effect:
        """The mean prediction over some rows, with a column set to each of some values.

        Parameters
        ----------
        column : str, or two in a list
            Two for their interaction.
        table : a table, a batch, or batches in a list or an iterator
        """
        columns = [column] if isinstance(column, str) else list(column)
        if not 1 <= len(columns) <= 2:
            raise TableError(f"column={column!r}: name one or two.")
        return table_effect(self.settle(), columns, batches_of(table))

    def why(self, batch: Batch) -> tuple[Why, dict[int, str]]:
        """Predictions as sums: that of a mean row, and the share of each column.

        Returns
        -------
        why : Why
        wrong : dict of int to str
            What is wrong with rows that cannot be predicted.
        """
        return table_why(self.settle(), batch)

    # Checks

    def _check_names(self, batch: Batch) -> None:
        """Raise a TableError if a batch lacks columns of the settings or the first rows.

        New ones are no part of the table.
        """
        assert self.first is not None
        if batch.sparse:
            return
        check_target(batch, self.target)
        names = batch.table.schema.names
        present, features = set(names), self.settings.features
        for key in NAMING_COLUMNS:
            for name in set(getattr(self.settings, key) or ()) - present:
                if features is None or name in features:
                    raise TableError(
                        f"{batch.source}: there is no column {name!r}; it has {listed(names)}.",
                        " Pass other names as {" + key + "}.",
                        **{key: None},
                    )
        missing = [name for name in self.first.columns if name not in present]
        if missing:
            raise TableError(
                f"{batch.source}: it has no column {listed(missing)}, which the rows before had; "
                f"it has {listed(names)}."
            )

    def _check_classes(self, y: NDArray[Any]) -> None:
        """Raise a TableError for more classes than can be learned in reasonable time."""
        n = len(set(self.classes).union(y.tolist())) if self.task == CLASSIFICATION else 0
        if n > MOST_CLASSES:
            raise TableError(
                f"the target {self.target!r} has {n:,} different values, and at most "
                f"{MOST_CLASSES:,} classes can be learned; is it the right column?",
                " For numbers pass {task}.",
                task=REGRESSION,
            )


def _learned(value: T | None) -> T:
    """Return what the model has learned; a TableError before the first row."""
    if value is None:
        raise TableError(_NOTHING_LEARNED)
    return value


def _n_until_due(n: int) -> int:
    """Return after how many more than n first rows to look at all: at 1, 2, 4, ... of them."""
    return (1 << n.bit_length()) - n


def _different_columns() -> TableError:
    return TableError(
        "the models have different columns, types or categories",
        "; start the second from first.forgotten(), then they can be merged.",
    )
