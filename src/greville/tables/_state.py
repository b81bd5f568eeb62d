"""All that a model of tables has learned, as one value that never changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..elm import Warmup
from ..persistence import check_fits
from ._answers import Answers
from ._first import FirstRows
from ._learner import EncodedRows, Learner
from ._rows import Row
from ._sample import sampled
from ._settings import NAMING_COLUMNS, is_used
from .batch import Batch, TableError, Troubles, listed
from .target import check_target
from .totals import totals_row

# Rows from which is learned what columns are. They are kept until so many have come.
FIRST_ROWS = 4096

# Columns, or hundreds of characters of names, from which it is tried whether a file holds them.
_MANY_NAMES = 1000

# Types of values that never change.
_SIMPLE = frozenset({float, int, str, bool, type(None)})


@dataclass(frozen=True)
class State:
    """The first rows, and a learner of rows; learning returns another state.

    `warmup` has the first rows, as long as they may change the schema. They are `stale` if some of
    them are not in the `learner` yet.
    """

    settings: dict[str, Any]
    warmup: Warmup[FirstRows] | None
    stale: bool = False
    learner: Learner | None = None

    @classmethod
    def started(cls, settings: dict[str, Any]) -> State:
        """Before the first row."""
        return cls(settings, Warmup(FirstRows(), 0, FIRST_ROWS))

    def learned(self, batches: Iterator[Batch], troubles: Troubles) -> State:
        """With the rows of these batches."""
        state, left = self, deque(batches)
        for batch in left:
            troubles.count_skipped(batch)
        while left and state.warmup is not None:
            batch = left.popleft()
            self._check_names(batch, state.warmup.rows)
            room = min(state.warmup.length - state.warmup.n, len(batch))
            state = state._extended(batch.part(0, room))
            if state.warmup is not None and state.warmup.is_over:
                state = replace(state.settled(troubles), warmup=None)
            if room < len(batch):
                left.appendleft(batch.part(room, len(batch)))
        if left:
            assert state.learner is not None
            learner = state.learner.copy()
            learner.learn(list(left), troubles)
            state = replace(state, learner=learner)
        return state

    def prepared(self, batches: Iterator[Batch]) -> State:
        """With columns and units as a sample of these rows shows them, and no row learned.

        Before any row only; the same state if there are no more than the first rows.
        """
        assert self.warmup is not None
        sample, n = sampled(batches, self.warmup.length)
        return self if n <= self.warmup.length else self.prepared_from(sample, n)

    def prepared_from(self, sample: Iterable[Batch], n: int) -> State:
        """The same from exactly these rows, however few they are, out of n."""
        state = self
        for batch in sample:
            assert state.warmup is not None
            self._check_names(batch, state.warmup.rows)
            state = state._extended(batch)
        learner, _, rows = state._fit_schema()
        learner.n_expected = n
        learner.prepare(rows)
        return State(self.settings, None, False, learner)

    def settled(self, troubles: Troubles) -> State:
        """With all of the first rows learned, but for a last one of totals."""
        if not self.stale:
            return self
        assert self.warmup is not None
        rows = self.warmup.rows
        found = totals_row(rows.batch(), rows.where(rows.n - 1)) if rows.n else None
        if found is None:
            return self._relearned(*self._fit_schema(), troubles)
        rows = rows.without([rows.n - 1])
        state = replace(self, warmup=self.warmup.with_rows(rows, rows.n))
        state = state._relearned(*state._fit_schema(), troubles)
        assert state.learner is not None
        state.learner.say(found)
        return state

    def recorded(
        self, batches: Iterator[Batch], troubles: Troubles, **wanted: bool
    ) -> tuple[State, list[Answers]]:
        """With the rows of these batches, and what was predicted for each before.

        As long as the first rows come, the schema is fitted to 1, 2, 4, ... of them. `wanted` is
        what to predict too: `std` or `proba`.
        """
        state, answers = self.settled(Troubles(skip=True)), []
        if state is self and state.learner is not None:
            state = replace(state, learner=state.learner.copy())
        for batch in batches:
            troubles.count_skipped(batch)
            start = 0
            while start < len(batch) and state.warmup is not None:
                stop = min(start + state.warmup.n_until_due, len(batch))
                state, found = state._record_first(batch.part(start, stop), troubles, wanted)
                answers.append(found)
                start += len(found.prediction)
            if start < len(batch):
                assert state.learner is not None
                rest = batch.part(start, len(batch))
                answers.append(state.learner.record(rest, troubles, None, **wanted))
        return state, answers

    def _record_first(
        self, piece: Batch, troubles: Troubles, wanted: dict[str, bool]
    ) -> tuple[State, Answers]:
        """The same for some of the first rows: those up to one that does not fit, or that one."""
        assert self.warmup is not None
        if self.learner is None:
            return self._refit_schema_with(piece.part(0, 1), "", troubles)
        rows = self.learner.read(piece)
        if 0 in rows.wrong:
            return self._refit_schema_with(piece.part(0, 1), rows.wrong[0], troubles)
        rows = rows.until_wrong()
        piece = piece.part(0, len(rows.X))
        answers = self.learner.record(piece, troubles, rows, **wanted)
        longer = self._extended(piece)
        assert longer.warmup is not None
        if longer.warmup.is_due_after(self.warmup):
            return longer._relearned(*longer._fit_schema(), troubles, drop=True), answers
        return replace(longer, stale=False), answers

    def _refit_schema_with(
        self, row: Batch, reason: str, troubles: Troubles
    ) -> tuple[State, Answers]:
        """Fit the schema to a row that does not fit into it, or that is the first.

        If it does not fit then, it is wrong for `reason`, and nothing changes.
        """
        longer = self._extended(row)
        learner, batch, rows = longer._fit_schema()
        if len(batch) - 1 in rows.wrong:
            wrong = {0: reason or learner.read(row).wrong[0]}
            troubles.meet_rows(row, wrong)
            return self, Answers((self.learner or learner).no_predictions(1), wrong)
        unpredicted = learner.no_predictions(1)
        answers = Answers(unpredicted, {}, target=rows.y[-1:], known=rows.known[-1:])
        return longer._relearned(learner, batch, rows, troubles, drop=True), answers

    def _extended(self, batch: Batch) -> State:
        """With more of the first rows, which are not learned yet."""
        assert self.warmup is not None
        rows = self.warmup.rows.with_batch(batch, lambda name: is_used(self.settings, name))
        return replace(self, warmup=self.warmup.with_rows(rows, rows.n), stale=True)

    def learned_one(self, row: Row) -> State | None:
        """With one more of the first rows, which the learner learns in place.

        None, and nothing is learned, where more is to be done: where the columns are to be looked
        at again, or a value or a name is not as usual.
        """
        warmup, learner = self.warmup, self.learner
        if warmup is None or learner is None or self.stale or warmup.n_until_due == 1:
            return None
        if not all(type(value) in _SIMPLE for value in row.values()):
            return None
        if not warmup.rows.takes_names_of(row):
            return None
        rows = warmup.rows.with_row(row, lambda name: is_used(self.settings, name))
        state = replace(self, warmup=warmup.with_rows(rows, rows.n))
        return state if learner.learned_known(row) else None

    def _fit_schema(self) -> tuple[Learner, Batch, EncodedRows]:
        """A learner that knows what the columns of the first rows are, and these rows for it."""
        assert self.warmup is not None
        learner, batch = Learner.fit_schema(self.settings, self.warmup.rows)
        self._check_fits(learner)
        return learner, batch, learner.read(batch)

    def _relearned(
        self,
        learner: Learner,
        batch: Batch,
        rows: EncodedRows,
        troubles: Troubles,
        *,
        drop: bool = False,
    ) -> State:
        """With all of the first rows learned; `drop` removes those that cannot be used."""
        warmup = self.warmup
        assert warmup is not None
        troubles.meet_rows(warmup.rows, rows.wrong)
        learner.prepare(rows)
        learner.learn([batch], troubles, [rows])
        if drop and rows.wrong:
            first = warmup.rows.without(list(rows.wrong))
            warmup = warmup.with_rows(first, first.n)
        return State(self.settings, None if drop and warmup.is_over else warmup, False, learner)

    def _check_fits(self, learner: Learner) -> None:
        """Raise a TableError, before rows are learned, if no file can hold the columns."""
        from .model import TableModel  # which is made of states

        columns, inputs = learner.schema.columns, learner.schema.inputs
        if len(columns) + sum(map(len, inputs)) // 100 < _MANY_NAMES:
            return
        try:
            check_fits(TableModel.of(replace(self, learner=learner)))
        except ValueError as error:
            raise TableError(
                f"{len(columns):,} columns cannot be kept in a model file: {error}",
                " Name fewer with {features}, or leave some out with {ignore}.",
                features=None,
                ignore=None,
            ) from error

    def _check_names(self, batch: Batch, first: FirstRows) -> None:
        """Raise a TableError for columns that settings name, or first rows have, and it does not.

        New ones are no part of the table.
        """
        if batch.sparse:
            return
        check_target(batch, self.settings["target"])
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
        missing = [name for name in first.columns if name not in known]
        if missing:
            raise TableError(
                f"{batch.source}: it has no column {listed(missing)}, which the rows before had; "
                f"it has {listed(names)}."
            )
