"""Rows of a stream, learned in blocks; and a model that has learned also the rows since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..fields import compact
from ..following import Follower
from ._answers import Answers
from ._following import Following, followed, predicted
from ._rows import batch_of_rows, runs_of_one_kind
from .answering import Answering
from .batch import Batch, Troubles
from .model import TableModel
from .target import REGRESSION

# Rows that are learned together. How they arrived, alone or in bursts, then changes no bit of the
# model: whatever answered them meanwhile, it is made of whole blocks.
ROWS_PER_BLOCK = 256

Row = dict[str, Any]
Wanted = dict[str, bool]  # std or proba


class Blocks:
    """A model of whole blocks of rows, and the rows of the block that is not whole.

    Parameters
    ----------
    model : TableModel
        What has been learned before.
    id : str, optional
        A column that names rows, and is not learned from.
    follower : Follower, optional
        Mixes predictions of numbers with what the last targets say.
    """

    def __init__(self, model: TableModel, id: str | None, follower: Follower | None = None) -> None:
        self.model = model
        self.id = id
        self.follower = follower  # after all whole blocks
        self.rows: list[Row] = []
        self.joined: list[bool] = []  # of each row, whether its target came with the one before
        self._live: TableModel | None = None  # the model and the rows
        self._live_following: Following | None = None

    @property
    def room(self) -> int:
        """How many rows fit into the block."""
        return ROWS_PER_BLOCK - len(self.rows)

    @property
    def newest(self) -> TableModel:
        """A model that knows the columns as well as any."""
        return self._live or self.model

    @property
    def live(self) -> TableModel:
        """The model of all rows so far."""
        if self._live is None:
            self._live, self._live_following = self._with_rows()
        return self._live

    def drop_live(self) -> None:
        """Forget that model, which is made again when it is wanted."""
        self._live = None

    def with_rows(self) -> TableModel:
        """Another model, of all rows so far."""
        return self._with_rows()[0]

    def _with_rows(self) -> tuple[TableModel, Following | None]:
        live, found = self.model.twin(), []
        if self.rows:
            found = live.record(self.batches(self.rows), Troubles(skip=True))
        return live, self._followed(live, self._following, found, self.joined)[0]

    @property
    def _following(self) -> Following | None:
        """The follower after all whole blocks."""
        return None if self.follower is None else Following(self.follower, self.follower)

    @staticmethod
    def _followed(
        model: TableModel,
        following: Following | None,
        found: list[Answers],
        joined: Sequence[bool],
    ) -> tuple[Following | None, list[Answers]]:
        """The follower after what a model has answered, and its answers, if they are numbers."""
        if following is None or model.task != REGRESSION:
            return following, found
        return followed(following, found, joined)

    @property
    def has_live(self) -> bool:
        """Whether there is a model of all rows so far."""
        return self._live is not None

    def copy(self) -> Blocks:
        """The same blocks and rows, which go on on their own."""
        other = Blocks(self.model.twin(), self.id, self.follower)
        other.rows, other.joined = list(self.rows), list(self.joined)
        return other

    def answering(self) -> Answering:
        """The model of all rows so far, which learns no more."""
        model = self.live.twin().settle(Troubles(skip=True))
        return Answering(model, self._live_following and self._live_following.now)

    def unlearn(self, rows: list[Row]) -> int:
        """Remove rows that were learned, all of them or none; how many.

        The rows of the block are learned before, as a shorter one. The follower starts again: it
        knows the last target, the mean and the range, and so maybe those of removed rows.
        """
        model, following = self._with_rows()
        removed = model.unlearn(self.batches(rows), Troubles())
        compact(model)
        self.model = model
        self.follower = None if following is None else Follower(trained=True)
        self.rows, self.joined, self._live = [], [], None
        return removed

    def answers_to_rows(self, rows: list[Row], wanted: Wanted) -> Answers | None:
        """Predictions for rows without a target; None if nothing was learned yet."""
        live = self.live.settle(Troubles(skip=True))
        if live.estimator is None:
            return None
        found = live.answers_to_rows(rows, **wanted)
        if self._live_following is None or live.task != REGRESSION:
            return found
        return predicted(self._live_following.now, found)

    def record(
        self,
        rows: list[Row],
        first: int,
        troubles: Troubles,
        wanted: Wanted,
        joined: Sequence[bool],
    ) -> list[Answers]:
        """Learn rows that fit into the block, all of them or none, and what was predicted."""
        if len(rows) == ROWS_PER_BLOCK:
            batches = self.batches(rows, range(first, first + len(rows)))
            found = self.model.record(batches, troubles, **wanted)
            self._live = None
            return self._learned(found, joined)
        live = self.live
        if len(rows) == 1 and not live.schema_may_change and not any(wanted.values()):
            found = [live.record_one(rows[0])]
            if found[0].wrong:
                troubles.meet(f"standard input, line {first:,}: {found[0].wrong[0]}")
        else:
            found = live.record(
                self.batches(rows, range(first, first + len(rows))), troubles, **wanted
            )
        following, answers = self._followed(live, self._live_following, found, joined)
        block, flags = [*self.rows, *rows], [*self.joined, *joined]
        if len(block) == ROWS_PER_BLOCK:
            self._live = None
            self._learned(self.model.record(self.batches(block), Troubles(skip=True)), flags)
            self.rows, self.joined = [], []
        else:
            self.rows, self.joined = block, flags
            self._live, self._live_following = live, following
        return answers

    def _learned(self, found: list[Answers], joined: Sequence[bool]) -> list[Answers]:
        """Have the follower see what the model has answered to a whole block; its answers."""
        following, answers = self._followed(self.model, self._following, found, joined)
        self.follower = following and following.now
        return answers

    def batches(self, rows: Sequence[Row], numbers: Sequence[int] = ()) -> list[Batch]:
        """Rows as batches in which no column has values of different kinds.

        So that each row is read as it would be alone: of text and numbers together, a column of
        text would be made.
        """
        numbers = numbers if len(numbers) else range(1, len(rows) + 1)
        return [self.batch(rows[run], numbers[run]) for run in runs_of_one_kind(rows)]

    def batch(self, rows: Sequence[Row], numbers: Sequence[int] = ()) -> Batch:
        """Rows as one batch. What a row does not have is missing."""
        names = self.model.needed
        if names is None:
            names = [n for n in dict.fromkeys(n for row in rows for n in row) if n != self.id]
        return batch_of_rows(rows, names, "standard input", numbers)


def is_mixed(rows: Sequence[Row]) -> bool:
    """Whether a column has values of different types, which a column of Arrow cannot keep."""
    types: dict[str, type] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None and types.setdefault(name, type(value)) is not type(value):
                return True
    return False
