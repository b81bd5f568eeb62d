"""The first rows, a schema, a target and an estimator: how a `TableModel` learns batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..elm import set_direct_inputs
from ..persistence import check_fits
from ._answers import NOTHING_LEARNED
from ._categories import Categories
from ._encoded import EncodedRows, first_columns, naming_rows
from ._first import FirstRows
from ._sample import sampled
from ._settings import NAMING_COLUMNS, is_used, make_estimator
from .batch import Batch, TableError, Troubles, batches_of, listed
from .findings import Finding
from .schema import Schema
from .target import CLASSIFICATION, REGRESSION, Target, check_target
from .totals import totals_row

# Rows from which is learned what columns are. They are kept until so many have come.
FIRST_ROWS = 4096

# Classes of a target. Time and memory grow with their number.
MOST_CLASSES = 10_000

# Columns, or hundreds of characters of names, from which it is tried whether a file holds them.
_MANY_NAMES = 1000


class Learning:
    """Learns batches; whatever learns is done aside and published when it is done.

    Attributes
    ----------
    settings : dict
    first : FirstRows or None
        The first rows, as long as they may change the schema.
    stale : bool
        Whether some of these are not learned yet.
    categories : Categories or None
        The schema, and which values of text columns were learned.
    fitted_target : Target or None
    estimator : ELMRegressor, ELMClassifier or None
        Made when there are rows to learn.
    n_expected : int
        How many rows will be learned, as far as that is known: the size of a hidden layer depends
        on it.
    n_rows, n_without_target : int
        Rows that were learned, and those that could not be.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.first: FirstRows | None = FirstRows()
        self.stale = False
        self.categories: Categories | None = None
        self.fitted_target: Target | None = None
        self.estimator: Any = None
        self.n_expected = FIRST_ROWS
        self.n_rows = self.n_without_target = 0

    # What is known

    @property
    def target(self) -> str:
        return str(self.settings["target"])

    @property
    def task(self) -> str | None:
        """Regression or classification, once it is known."""
        return None if self.fitted_target is None else self.fitted_target.task

    @property
    def has_schema(self) -> bool:
        return self.categories is not None

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self._known_categories.schema

    @property
    def _known_categories(self) -> Categories:
        if self.categories is None:
            raise TableError(NOTHING_LEARNED)
        return self.categories

    @property
    def _known_target(self) -> Target:
        if self.fitted_target is None:
            raise TableError(NOTHING_LEARNED)
        return self.fitted_target

    @property
    def classes(self) -> list[Any]:
        known = self.task == CLASSIFICATION and self.estimator is not None
        return self.estimator.classes_.tolist() if known else []

    # Copies

    def twin(self) -> Self:
        """A copy that learns on its own."""
        other = copy(self)
        other.estimator = None if self.estimator is None else copy(self.estimator)
        return other

    @contextmanager
    def _replacement(self) -> Iterator[Self]:
        """A copy to change, which takes the place of this model if no exception comes out."""
        new = self.twin()
        yield new
        self.__dict__ = new.__dict__

    # Learning

    def prepare(self, table: Any) -> Self:
        """Look at rows that will be learned, before the first is; learn none.

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

    def learn(self, table: Any, troubles: Troubles | None = None) -> Self:
        """Learn all rows of a table, or of a batch or a list of batches, that have a target.

        All of them or, if an exception comes out, none. What is wrong with one of the first rows
        is said when they are looked at: by `settle`, or when there are enough of them.
        """
        with self._replacement() as new:
            new._learn(batches_of(table), troubles or Troubles())
        return self

    def _learn(self, batches: Iterable[Batch], troubles: Troubles) -> None:
        left = deque(batches)
        for batch in left:
            troubles.count_skipped(batch)
        while left and self.first is not None:
            batch = left.popleft()
            stop = min(FIRST_ROWS - self.first.n, len(batch))
            self._keep(batch.part(0, stop), batch)
            if self.first.n >= FIRST_ROWS:
                self._settle(troubles)
                self.first = None
            if stop < len(batch):
                left.appendleft(batch.part(stop, len(batch)))
        if left:
            self._learn_encoded(list(left), [self._checked(each, troubles) for each in left])

    def settle(self, troubles: Troubles | None = None) -> Self:
        """Look at all of the first rows, and learn them, if that is still to be done."""
        if self.stale:
            with self._replacement() as new:
                new._settle(troubles or Troubles())
        return self

    def _settle(self, troubles: Troubles) -> None:
        """Learn all of the first rows, but for a last one of totals."""
        rows = self.first
        if rows is None or not self.stale:
            return
        found = totals_row(rows.batch(), rows.where(rows.n - 1)) if rows.n else None
        if found is not None:
            self.first = rows.without([rows.n - 1])
        self._relearn(*self._fit_columns(), troubles)
        if found is not None:
            self.say(found)

    def _keep(self, batch: Batch, named: Batch | None = None) -> None:
        """Keep more of the first rows, which are not learned yet; `named` is what they are of."""
        assert self.first is not None
        self._check_names(named or batch)
        self.first = self.first.with_batch(batch, lambda name: is_used(self.settings, name))
        self.stale = True

    def _fit_columns(self) -> tuple[Batch, EncodedRows]:
        """Find out what the columns of the first rows are, and forget what was learned of them."""
        assert self.first is not None
        schema, self.fitted_target, batch = first_columns(self.settings, self.first)
        self.categories, self.estimator = Categories(schema), None
        self.n_expected, self.n_rows, self.n_without_target = self.first.n, 0, 0
        if len(schema.columns) + sum(map(len, schema.inputs)) // 100 >= _MANY_NAMES:
            self._check_fits(len(schema.columns))
        return batch, self._encoded(batch)

    def _relearn(
        self, batch: Batch, rows: EncodedRows, troubles: Troubles, *, drop: bool = False
    ) -> None:
        """Learn all of the first rows; `drop` removes those that cannot be used."""
        assert self.first is not None
        troubles.meet_rows(self.first, rows.wrong)
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
            self.categories = Categories(self.schema.without_late())
            return
        self._check_classes(rows.y[use])
        n_rows = max(1, round(self.n_expected * float(use.mean())))
        n_layer = len(self.schema.inputs) - n_late
        estimator = self._started(n_layer)
        estimator.prepare(rows.X[use][:, :n_layer], rows.y[use], n_rows=n_rows)
        if n_late:
            set_direct_inputs(estimator, n_late, [])

    def _learn_encoded(self, batches: Sequence[Batch], rows: Sequence[EncodedRows]) -> None:
        """Learn the rows of batches, and what they are encoded as, together."""
        rows = self._with_late_inputs(batches, rows)
        parts = [each.learned_from() for each in rows]
        X, y = (
            np.concatenate(part) if len(parts) > 1 else part[0] for part in zip(*parts, strict=True)
        )
        self.n_without_target += sum(int((~each.known).sum()) for each in rows)
        if len(X):
            self._check_classes(y)
            with naming_rows(batches):
                self._started().partial_fit(X, y)
            self.n_rows += len(X)
            self.categories = self._known_categories.with_rows(X)

    def _with_late_inputs(
        self, batches: Sequence[Batch], rows: Sequence[EncodedRows]
    ) -> Sequence[EncodedRows]:
        """The rows of batches, with an input for each value that is new in those to be learned.

        It was zero in all rows so far, which has changed nothing: none has to be learned again.
        """
        new: dict[str, list[str]] = {}
        if self.estimator is None:  # it will be made for the inputs that there are then
            return rows
        batches = [batch.with_gaps(self.settings["na"]) for batch in batches]
        for batch, each in zip(batches, rows, strict=True):
            found = self._known_categories.new_labels(batch, each.X, each.usable)
            for name, labels in found.items():
                new[name] = list(dict.fromkeys([*new.get(name, ()), *labels]))
        if not new:
            return rows
        self._extend(self._known_categories.grown(new))
        return [
            replace(each, X=self.schema.encode(batch)[0][: len(each.X)])
            for batch, each in zip(batches, rows, strict=True)
        ]

    def _extend(self, schema: Schema) -> None:
        """Take a schema with the same columns, and maybe more late values of them."""
        self.categories, old = self._known_categories.in_schema(schema)
        if self.estimator is not None and len(old) < schema.n_late:
            set_direct_inputs(self.estimator, schema.n_late, old)

    def _started(self, n_inputs: int | None = None) -> Any:
        """The estimator, which is made for so many inputs of its layer where there is none."""
        if self.estimator is None:
            n_inputs = n_inputs or len(self.schema.inputs)
            self.estimator = make_estimator(self.settings, self.task, n_inputs, self.n_expected)
        return self.estimator

    # Rows on the way to the estimator

    def _encoded(self, batch: Batch) -> EncodedRows:
        """The rows of a batch as the estimator takes them."""
        batch = batch.with_gaps(self.settings["na"])
        X, wrong = self.schema.encode(batch)
        y, known, wrong_targets = self._known_target.read(batch)
        return EncodedRows(X, y, known, wrong_targets | wrong)

    def _checked(self, batch: Batch, troubles: Troubles) -> EncodedRows:
        rows = self._encoded(batch)
        troubles.meet_rows(batch, rows.wrong)
        return rows

    def _no_predictions(self, n: int) -> NDArray[Any]:
        """What stands for so many predictions where there are none."""
        return np.full(n, np.nan if self.task == REGRESSION else None)

    def say(self, finding: Finding) -> None:
        """Have one more finding about the table."""
        schema = Schema(self.schema.columns, [finding, *self.schema.findings])
        self.categories = Categories(schema, self._known_categories.learned)

    # Checks

    def _check_names(self, batch: Batch) -> None:
        """Raise a TableError for columns that settings name, or first rows have, and it does not.

        New ones are no part of the table.
        """
        assert self.first is not None
        if batch.sparse:
            return
        check_target(batch, self.target)
        names = batch.table.schema.names
        known, features = set(names), self.settings["features"]
        for key in NAMING_COLUMNS:
            for name in self.settings[key] or ():
                if name not in known and (features is None or name in features):
                    raise TableError(
                        f"{batch.source}: there is no column {name!r}; it has {listed(names)}.",
                        " Pass other names as {" + key + "}.",
                        **{key: None},
                    )
        missing = [name for name in self.first.columns if name not in known]
        if missing:
            raise TableError(
                f"{batch.source}: it has no column {listed(missing)}, which the rows before had; "
                f"it has {listed(names)}."
            )

    def _check_fits(self, n_columns: int) -> None:
        """Raise a TableError, before rows are learned, if no file can hold the columns."""
        try:
            check_fits(self)
        except ValueError as error:
            raise TableError(
                f"{n_columns:,} columns cannot be kept in a model file: {error}",
                " Name fewer with {features}, or leave some out with {ignore}.",
                features=None,
                ignore=None,
            ) from error

    def _check_classes(self, y: NDArray[Any]) -> None:
        """Raise a TableError for more classes than can be learned in reasonable time."""
        if self.task == CLASSIFICATION:
            n = len(set(self.classes).union(y.tolist()))
            if n > MOST_CLASSES:
                raise TableError(
                    f"the target {self.target!r} has {n:,} different values, and at most "
                    f"{MOST_CLASSES:,} classes can be learned; is it the right column?",
                    " For numbers pass {task}.",
                    task=REGRESSION,
                )
