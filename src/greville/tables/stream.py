"""Streams of rows: each is predicted at once, and learned exactly once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, Self

from ..fields import compact, count, each, flag, known, nothing, stored, text
from ..fields import number as any_number
from ..following import Follower
from ..monitor import DriftMonitor
from ._answers import Answers
from ._blocks import ROWS_PER_BLOCK, Blocks, Row, Wanted, is_mixed
from ._first import FirstRows
from ._rows import FEW_ROWS
from .answering import Answer, Answering, fill_answer, infinite_value
from .batch import TableError, Troubles, listed, unusable_row
from .model import TableModel
from .target import CLASSIFICATION, REGRESSION
from .unlearned import UnlearnedValues

# Rows that may be without their target. The oldest are forgotten.
_MOST_WITHOUT_TARGET = 100_000

# Text in the place of a number.
_INFINITE = re.compile(r"\s*[+-]?inf(inity)?\s*", re.IGNORECASE)


@stored(
    parameters={
        "model": known(TableModel),
        "id": nothing | text,
        "monitor": nothing | known(DriftMonitor),
        "lines": count,
        "rows": known(FirstRows),
        "waiting": known(FirstRows),
        "ids": each(text),
        "predictions": each(nothing | text | any_number | flag),
        "forgotten": count,
    },
    optional={  # older files lack them
        "follower": nothing | known(Follower),
        "mixed_rows": nothing | each(text),
        "joined": each(flag),
    },
    whole=True,
    compact=lambda stream: stream._compact(),
    to_fields=lambda stream: stream._to_fields(),
    from_fields=lambda cls, fields: cls._from_fields(fields),
    try_out=lambda stream: stream.settled(),
)
class Stream:
    """A model that answers every row, and learns those that have a target.

    Parameters
    ----------
    model : TableModel
        What has been learned before; it goes on learning.
    id : str, optional
        The column under which a target may come later than its row.
    monitor : DriftMonitor, optional
        Sees every error.
    follow : bool
        Whether predictions of numbers are mixed with what the last targets say (`Follower`), so
        that they are never much worse than the last target or the mean of all. The model that is
        learned is the same.

    Examples
    --------
    >>> from greville.tables import Stream, TableModel, Troubles
    >>> stream = Stream(TableModel("y"))
    >>> rows = [{"x": i / 10, "y": i / 5} for i in range(60)]
    >>> answers = stream.answer(rows, 1, Troubles())
    >>> stream.n_rows, round(answers[-1]["prediction"], 1)
    (60, 11.8)
    """

    def __init__(
        self,
        model: TableModel,
        id: str | None = None,
        monitor: DriftMonitor | None = None,
        *,
        follow: bool = True,
    ) -> None:
        self.id = id
        self.monitor = monitor
        self.lines = 0  # that were answered
        follower = Follower(trained=model.n_rows > 0) if follow else None
        self._blocks = Blocks(model, id, follower)
        # Rows without a target, and their predictions.
        self.waiting: dict[Any, tuple[Row | _StoredRow, Any]] = {}
        self.forgotten = 0
        self._unlearned = UnlearnedValues()

    @property
    def unlearned(self) -> UnlearnedValues:
        """Values that were not learned yet when a row with them was answered."""
        return self._unlearned

    @property
    def model(self) -> TableModel:
        """The model of all whole blocks."""
        return self._blocks.model

    @property
    def follows(self) -> bool:
        """Whether predictions of numbers are mixed with what the last targets say."""
        return self._blocks.follower is not None

    @property
    def rows(self) -> list[Row]:
        """The rows of the block that is not whole."""
        return self._blocks.rows

    def settled(self) -> TableModel:
        """A model of all rows so far."""
        return self._blocks.with_rows().settle(Troubles(skip=True))

    @property
    def n_rows(self) -> int:
        """Rows that were learned."""
        return self._blocks.newest.n_rows + (0 if self._blocks.has_live else len(self.rows))

    @property
    def n_without_target(self) -> int:
        """Rows whose target was there, and stands for a missing one, such as "nan"."""
        return self._blocks.newest.n_without_target

    def trouble_with(self, row: Row) -> str | None:
        """What is wrong with a row that is to be learned, if that can be told before."""
        kind, reason = self._kind(row)
        return reason if kind == "wrong" else self._blocks.newest.trouble_with(row)

    def no_number(self, row: Row) -> str | None:
        """What is wrong with a target that is no number where all so far were.

        While the first rows come, it would make classes of all of them.
        """
        model = self._blocks.newest
        target = row.get(model.target)
        if model.task != REGRESSION or isinstance(target, (int, float)):
            return None
        return model.trouble_with_target(row)

    def answering(self) -> Answering:
        """What answers rows as this stream does now, and goes on doing so."""
        return self._blocks.answering()

    def copy(self) -> Stream:
        """Another stream that goes on from here, to the bit."""
        other = copy(self)
        other._blocks = self._blocks.copy()
        other.monitor = None if self.monitor is None else self.monitor.copy()
        other.waiting = dict(self.waiting)
        other._unlearned = UnlearnedValues()
        return other

    def name_ids(self, id: str) -> None:
        """Have rows named by a column from now on; it is not learned from."""
        if self.id not in (None, id):
            raise ValueError(f"id={id!r}: rows are named by {self.id!r} already.")
        self.id = self._blocks.id = id

    def take_waiting(self) -> dict[Any, tuple[Row, Any]]:
        """The rows that wait for their targets, and what was predicted; they do so here no more."""
        taken = {key: (_as_row(row), predicted) for key, (row, predicted) in self.waiting.items()}
        self.waiting = {}
        return taken

    def unlearn(self, rows: Sequence[Row]) -> int:
        """Remove rows learned earlier, all of them or none; how many.

        What the columns are then stands as it is, and the last rows are learned as a shorter
        block. Predictions follow the last targets only after new ones have come.

        Parameters
        ----------
        rows : sequence of dict
            Each with its target.

        Raises
        ------
        TableError
            If the model cannot unlearn, or a row could not have been learned.
        """
        return self._blocks.unlearn(list(rows))

    def answer(
        self,
        rows: Sequence[Row | str | None],
        first: int,
        troubles: Troubles,
        *,
        std: bool = False,
        proba: bool = False,
        together: bool = False,
    ) -> list[Answer]:
        """An answer for each row.

        Parameters
        ----------
        rows : sequence of dict, str or None
            Text in the place of a row says what was wrong with it; None is a line without one,
            which is counted and gets no answer.
        first : int
            The number of the first line.
        troubles : Troubles
            Whether a row that cannot be used is answered with an error, or is the end.
        std, proba : bool
            Whether to answer also with a standard deviation, or with the probability of each class.
        together : bool
            Whether the targets of these rows came at the same time. None of them is then predicted
            from the target of another (in blocks of 256 rows), however they are sorted.

        Returns
        -------
        answers : list of dict
            With a "line", and a "prediction" (None before anything was learned) or an "error".
        """
        parts = self.answers(rows, first, troubles, std=std, proba=proba, together=together)
        return [answer for part in parts for answer in part]

    def answers(
        self,
        rows: Sequence[Row | str | None],
        first: int,
        troubles: Troubles,
        *,
        std: bool = False,
        proba: bool = False,
        together: bool = False,
    ) -> Iterator[list[Answer]]:
        """The same as they are found. If an exception comes out, `lines` says how many were."""
        wanted = {"std": std, "proba": proba}
        run: list[Row] = []  # rows to learn, or rows to predict
        run_kind = ""

        def finish(number: int) -> Iterator[list[Answer]]:
            nonlocal run
            some, run = run, []
            begin = number - len(some)
            if run_kind == "learn":
                joined = [together and k > first for k in range(begin, number)]
                yield from self._learn(some, begin, troubles, wanted, joined)
            else:
                yield from self._predict(some, begin, troubles, wanted)

        for number, row in enumerate(rows, first):
            if run_kind == "predict" and run and self._may_be_late(row):
                yield from finish(number)  # its row may be among them
            kind, reason = self._kind(row)
            if kind != run_kind or not self._knows_columns:
                yield from finish(number)
                run_kind = kind
            if kind in ("learn", "predict"):
                assert isinstance(row, dict)
                run.append(row)
            elif kind == "late":
                assert isinstance(row, dict)
                yield self._learn_late(row, number, troubles)
            else:
                if kind == "wrong":
                    troubles.meet(f"standard input, line {number:,}: {reason}")
                self.lines += 1
                if kind == "wrong":
                    yield [{"line": number, "error": reason}]
        yield from finish(first + len(rows))

    def relearn(self, rows: Sequence[Row], joined: Sequence[bool]) -> list[Answer]:
        """Learn rows with targets that this stream, or one like it, has accepted before.

        Parameters
        ----------
        rows : sequence of dict
        joined : sequence of bool
            Of each, whether its target came together with that of the row before it.
        """
        parts = self._learn(list(rows), self.lines + 1, Troubles(skip=True), {}, joined)
        return [answer for part in parts for answer in part]

    def _kind(self, row: Row | str | None) -> tuple[str, str]:
        """What to do with a row: learn it, predict it, learn an earlier one; or what is wrong."""
        if row is None or isinstance(row, str):
            return ("none", "") if row is None else ("wrong", row)
        key = None if self.id is None else row.get(self.id)
        if isinstance(key, (list, dict)):
            return "wrong", f"the id {self.id!r} should be text or a number, got {key!r}"
        has_target = self._has_target(row)
        if key is not None and has_target:
            if key in self.waiting:
                return "late", ""
            if set(row) <= {self.id, self.model.target}:
                return "wrong", f"no row with the {self.id} {key!r} waits for its target"
        model = self._blocks.newest
        if model.has_schema and row.keys().isdisjoint(model.schema.names):
            return "wrong", f"it has none of the columns {listed(model.schema.names)}"
        reason = infinite_value(row)
        if reason is not None:
            return "wrong", reason
        if has_target and self._is_infinite(row[self.model.target]):
            return "wrong", f"the target {self.model.target!r} is infinite; it cannot be learned"
        return "learn" if has_target else "predict", ""

    def _has_target(self, row: Row) -> bool:
        target = row.get(self.model.target)
        return not (target is None or target == "" or target != target)  # noqa: PLR0124 - nan

    def _is_infinite(self, target: Any) -> bool:
        """Whether text is an infinite number, where it is not a label."""
        if not isinstance(target, str) or _INFINITE.fullmatch(target) is None:
            return False
        return CLASSIFICATION not in (self.model.settings["task"], self.model.task)

    def _may_be_late(self, row: Row | str | None) -> bool:
        """Whether a line may bring the target of an earlier one."""
        return self.id is not None and isinstance(row, dict) and self._has_target(row)

    @property
    def _knows_columns(self) -> bool:
        return self._blocks.newest.has_schema

    # Rows with a target

    def _learn(
        self,
        rows: list[Row],
        first: int,
        troubles: Troubles,
        wanted: Wanted,
        joined: Sequence[bool],
    ) -> Iterator[list[Answer]]:
        """Answer rows that have a target, and learn them."""
        while rows:
            room = self._blocks.room
            if len(rows) <= FEW_ROWS and not self.model.schema_may_change:
                room = 1  # alone they are learned without a table
            yield from self._learn_part(rows[:room], first, troubles, wanted, joined[:room])
            first, rows, joined = first + len(rows[:room]), rows[room:], joined[room:]

    def _learn_part(
        self,
        rows: list[Row],
        first: int,
        troubles: Troubles,
        wanted: Wanted,
        joined: Sequence[bool],
    ) -> Iterator[list[Answer]]:
        """The same for rows that fit into the block.

        Where one of them cannot be learned none is, and each half is tried alone: so the answers
        to all rows before it come out.
        """
        met = troubles.copy()
        try:
            found = self._blocks.record(rows, first, met, wanted, joined)
        except TableError as error:
            if len(rows) > 1:
                half = len(rows) // 2
                yield from self._learn_part(rows[:half], first, troubles, wanted, joined[:half])
                yield from self._learn_part(
                    rows[half:], first + half, troubles, wanted, joined[half:]
                )
                return
            if not troubles.skip:
                raise
            reason = error.message.removeprefix(f"standard input, row {first:,}: ")
            troubles.meet(f"standard input, line {first:,}: {reason}")
            answers = [{**self._head(rows[0], first), "error": reason}]
        else:
            troubles.count, troubles.first = met.count, met.first
            answers = self._answers_to(rows, first, found)
        self.lines += len(rows)
        yield answers

    def _answers_to(self, rows: list[Row], first: int, found: Sequence[Answers]) -> list[Answer]:
        answers: list[Answer] = []
        for part in found:
            self._unlearned.add(part)
            for k, value in enumerate(part.prediction.tolist()):
                i = len(answers)
                answer = self._head(rows[i], first + i)
                fill_answer(answer, part, k, value)
                known = part.target is not None and part.known is not None and part.known[k]
                if known and "error" not in answer:
                    self._update_monitor(value, part.target[k])  # type: ignore[index]
                answers.append(answer)
        return answers

    def _head(self, row: Row, number: int) -> Answer:
        """The beginning of an answer: which line it is to."""
        return {"line": number} if self.id is None else {"line": number, "id": row.get(self.id)}

    # Rows without a target

    def _predict(
        self, rows: list[Row], first: int, troubles: Troubles, wanted: Wanted
    ) -> Iterator[list[Answer]]:
        """Answer rows that have no target."""
        if not rows:
            return
        answers: list[Answer] = []
        found = self._blocks.answers_to_rows(rows, wanted)
        if found is not None:
            self._unlearned.add(found)
        values = [None] * len(rows) if found is None else found.prediction.tolist()
        for i, (row, value) in enumerate(zip(rows, values, strict=True)):
            answer = self._head(row, first + i)
            if found is None:
                answer["prediction"] = None
            else:
                fill_answer(answer, found, i, value)
            if "error" not in answer:
                self._wait(row, answer)
            elif troubles.skip:
                troubles.meet(f"standard input, line {first + i:,}: {answer['error']}")
            else:
                yield answers
                raise unusable_row(f"standard input, line {first + i:,}: {answer['error']}")
            self.lines += 1
            answers.append(answer)
        yield answers

    def _wait(self, row: Row, answer: Answer) -> None:
        """Keep a row for its target, if that may come later."""
        key = answer.get("id")
        if key is not None:
            self.waiting[key] = row, answer["prediction"]
            if len(self.waiting) > _MOST_WITHOUT_TARGET:
                del self.waiting[next(iter(self.waiting))]  # the oldest
                self.forgotten += 1

    def _learn_late(self, row: Row, number: int, troubles: Troubles) -> list[Answer]:
        """Learn a row whose target has come."""
        assert self.id is not None
        key = row[self.id]
        asked, prediction = self.waiting[key]
        whole = {**_as_row(asked), self.id: key, self.model.target: row[self.model.target]}
        (answers,) = self._learn([whole], number, troubles, {}, [False])
        del self.waiting[key]
        if "error" not in answers[0]:
            answers[0]["prediction"] = prediction  # the one that was given
            answers[0]["learned"] = True
        return answers

    def _update_monitor(self, predicted: Any, target: Any) -> None:
        if self.monitor is None or predicted is None or predicted != predicted:  # noqa: PLR0124
            return
        is_number = self._blocks.newest.task == REGRESSION
        error = predicted - target if is_number else predicted != target
        self.monitor.update(float(error))

    # Files

    def _compact(self) -> None:
        """Drop the model of all rows, which is made again from the blocks and the rows."""
        self._blocks.drop_live()
        compact(self.model)

    def _to_fields(self) -> dict[str, Any]:
        """Rows as columns, which take no more room than their numbers."""
        waiting = [_as_row(row) for row, _ in self.waiting.values()]
        return {
            **{k: v for k, v in vars(self).items() if not k.startswith("_")},
            "model": self.model,
            "follower": self._blocks.follower,
            "rows": self._in_columns([] if is_mixed(self.rows) else self.rows),
            "mixed_rows": list(map(json.dumps, self.rows)) if is_mixed(self.rows) else None,
            "joined": self._blocks.joined,
            "waiting": self._in_columns(waiting),
            "ids": [json.dumps(key) for key in self.waiting],
            "predictions": [prediction for _, prediction in self.waiting.values()],
        }

    def _in_columns(self, rows: list[Row]) -> FirstRows:
        return (
            FirstRows().with_batch(self._blocks.batch(rows), lambda name: True)
            if rows
            else FirstRows()
        )

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        """The stream again; an exception if something in it does not go together."""
        stream = cls(fields["model"], fields["id"], fields["monitor"])
        stream._blocks.follower = fields.get("follower", stream._blocks.follower)
        stream.lines, stream.forgotten = fields["lines"], fields["forgotten"]
        ids = [json.loads(key) for key in fields["ids"]]
        block, waiting = fields["rows"], fields["waiting"]
        mixed = [json.loads(row) for row in fields.get("mixed_rows") or ()]
        usable = all(isinstance(key, (str, int, float)) for key in ids)
        usable = usable and all(isinstance(row, dict) for row in mixed)
        joined = fields.get("joined", [False] * (block.n + len(mixed)))
        fits = (
            len(joined) == block.n + len(mixed) < ROWS_PER_BLOCK
            and waiting.n <= _MOST_WITHOUT_TARGET
            and len(set(ids)) == waiting.n
        )
        if not usable or not fits:
            raise ValueError("rows: not those of a part of a block, or that wait for a target.")
        stream._blocks.rows = mixed or [_as_row((block, i)) for i in range(block.n)]
        stream._blocks.joined = joined
        entries = enumerate(zip(ids, fields["predictions"], strict=True))
        stream.waiting = {key: ((waiting, i), prediction) for i, (key, prediction) in entries}
        return stream


# A row that a file has brought: a dict is made of it when it is wanted.
_StoredRow = tuple[FirstRows, int]


def _as_row(row: Row | _StoredRow) -> Row:
    if isinstance(row, dict):
        return row
    kept, i = row
    return {name: column[i].as_py() for name, column in kept.columns.items()}
