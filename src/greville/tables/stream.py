"""Rows that come one by one or in bursts, are answered at once, and are learned exactly once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from ..fields import compact, count, each, flag, known, nothing, stored, text
from ..fields import number as any_number
from ..monitor import DriftMonitor
from ._first import FirstRows
from .batch import Batch, Troubles, listed, record_batch
from .model import TableModel
from .readers.json import array_of
from .target import REGRESSION

# Rows that are learned together. How they arrived, alone or in bursts, then changes no bit of the
# model: whatever answered them meanwhile, it is made of whole blocks.
_ROWS_PER_BLOCK = 256

# Rows that may be without their target. The oldest are forgotten.
_MOST_WITHOUT_TARGET = 100_000

Row = dict[str, Any]
Answer = dict[str, Any]


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
    """

    def __init__(
        self, model: TableModel, id: str | None = None, monitor: DriftMonitor | None = None
    ) -> None:
        self.model = model  # of all whole blocks
        self.id = id
        self.monitor = monitor
        self.lines = 0  # that were answered
        self.rows: list[Row] = []  # of the block that is not whole
        # Rows without a target, and their predictions.
        self.waiting: dict[Any, tuple[Row | _StoredRow, Any]] = {}
        self.forgotten = 0
        self._live: TableModel | None = None  # the model and the rows

    def settled(self) -> TableModel:
        """A model of all rows so far."""
        return self._with_rows().settle(Troubles(skip=True))

    def _with_rows(self) -> TableModel:
        live = self.model.twin()
        if self.rows:
            live.record(self._batch(self.rows), Troubles(skip=True))
        return live

    def answer(
        self, rows: Sequence[Row | str | None], first: int, troubles: Troubles
    ) -> list[Answer]:
        """An answer for each row.

        Text in the place of a row says what was wrong with it; None is a line without one, which
        is counted and gets no answer. `first` is the number of the first line.
        """
        return [answer for part in self.answers(rows, first, troubles) for answer in part]

    def answers(
        self, rows: Sequence[Row | str | None], first: int, troubles: Troubles
    ) -> Iterator[list[Answer]]:
        """The same as they are found. If an exception comes out, `lines` says how many were."""
        run: list[Row] = []
        for number, row in enumerate(rows, first):
            kind, reason = self._kind(row)
            if kind == "learn" and isinstance(row, dict):
                run.append(row)
                continue
            yield from self._learn(run, number - len(run), troubles)
            run = []
            if row is None:
                self.lines += 1
                continue
            if isinstance(row, str) or kind == "wrong":
                troubles.meet(f"standard input, line {number:,}: {reason}")
                answers = [{"line": number, "error": reason}]
                self.lines += 1
            elif kind == "late":
                answers = self._learn_late(row, number, troubles)
            else:
                answers = [self._predict(row, number, troubles)]
            yield answers
        yield from self._learn(run, first + len(rows) - len(run), troubles)

    def _kind(self, row: Row | str | None) -> tuple[str, str]:
        """What to do with a row: learn it, predict it, learn an earlier one; or what is wrong."""
        if row is None or isinstance(row, str):
            return "wrong", row or ""
        target = row.get(self.model.target)
        key = None if self.id is None else row.get(self.id)
        if isinstance(key, (list, dict)):
            return "wrong", f"the id {self.id!r} should be text or a number, got {key!r}"
        has_target = not (target is None or target == "" or target != target)  # noqa: PLR0124 - nan
        if key is not None and has_target:
            if key in self.waiting:
                return "late", ""
            if set(row) <= {self.id, self.model.target}:
                return "wrong", f"no row with the {self.id} {key!r} waits for its target"
        model = self._live or self.model
        if model.has_schema and not any(name in row for name in model.schema.names):
            return "wrong", f"it has none of the columns {listed(model.schema.names)}"
        return "learn" if has_target else "predict", ""

    def _learn(self, rows: list[Row], first: int, troubles: Troubles) -> Iterator[list[Answer]]:
        """Answer rows that have a target, and learn them."""
        while rows:
            room = _ROWS_PER_BLOCK - len(self.rows)
            some, rows = rows[:room], rows[room:]
            numbers = range(first, first + len(some))
            batch = self._batch(some, numbers)
            if len(some) == _ROWS_PER_BLOCK:
                found = self.model.record(batch, troubles)
                self._live = None
            else:
                live = self._with_rows() if self._live is None else self._live
                found = live.record(batch, troubles)
                block = [*self.rows, *some]
                if len(block) == _ROWS_PER_BLOCK:
                    self.model.record(self._batch(block), Troubles(skip=True))
                    self.rows, self._live = [], None
                else:
                    self.rows, self._live = block, live
            self.lines += len(some)
            first += len(some)
            yield self._answers_to(some, numbers, found)

    def _answers_to(self, rows: list[Row], numbers: range, found: Sequence[Any]) -> list[Answer]:
        answers: list[Answer] = []
        for part in found:
            for k, value in enumerate(part.prediction.tolist()):
                i = len(answers)
                answer: Answer = {"line": numbers[i]}
                if self.id is not None:
                    answer["id"] = rows[i].get(self.id)
                if k in part.wrong:
                    answer["error"] = part.wrong[k]
                else:
                    answer["prediction"] = _as_json(value)
                    if part.target is not None and part.known[k]:
                        self._update_monitor(value, part.target[k])
                answers.append(answer)
        return answers

    def _predict(self, row: Row, number: int, troubles: Troubles) -> Answer:
        """Answer a row that has no target."""
        answer: Answer = {"line": number}
        if self.id is not None:
            answer["id"] = row.get(self.id)
        if self._live is None:
            self._live = self._with_rows()
        if self._live.settle(Troubles(skip=True)).estimator is None:
            answer["prediction"] = None
        else:
            found = self._live.answers(self._batch([row], [number]))
            if found.wrong:
                troubles.meet(f"standard input, line {number:,}: {found.wrong[0]}")
                answer["error"] = found.wrong[0]
            else:
                answer["prediction"] = _as_json(found.prediction.tolist()[0])
        key = answer.get("id")
        if key is not None and "error" not in answer:
            self.waiting[key] = row, answer["prediction"]
            if len(self.waiting) > _MOST_WITHOUT_TARGET:
                del self.waiting[next(iter(self.waiting))]  # the oldest
                self.forgotten += 1
        self.lines += 1
        return answer

    def _learn_late(self, row: Row, number: int, troubles: Troubles) -> list[Answer]:
        """Learn a row whose target has come."""
        assert self.id is not None
        key = row[self.id]
        asked, prediction = self.waiting[key]
        whole = {**_as_row(asked), self.id: key, self.model.target: row[self.model.target]}
        (answers,) = self._learn([whole], number, troubles)
        del self.waiting[key]
        if "error" not in answers[0]:
            answers[0]["prediction"] = prediction  # the one that was given
            answers[0]["learned"] = True
        return answers

    def _update_monitor(self, predicted: Any, target: Any) -> None:
        if self.monitor is None or predicted is None or predicted != predicted:  # noqa: PLR0124
            return
        error = predicted - target if self.model.task == REGRESSION else predicted != target
        self.monitor.update(float(error))

    def _batch(self, rows: Sequence[Row], numbers: Sequence[int] = ()) -> Batch:
        """Rows as a batch. What a row does not have is missing."""
        names = self.model.needed
        if names is None:
            names = [n for n in dict.fromkeys(n for row in rows for n in row) if n != self.id]
        columns = {name: array_of([row.get(name) for row in rows]) for name in names}
        lines = np.array(numbers if len(numbers) else range(1, len(rows) + 1), np.int64)
        return Batch(record_batch(columns), "standard input", lines, 0.0, sparse=True)

    # Files

    def _compact(self) -> None:
        """Drop the model of all rows, which is made again from the blocks and the rows."""
        self._live = None
        compact(self.model)

    def _to_fields(self) -> dict[str, Any]:
        """Rows as columns, which take no more room than their numbers."""
        waiting = [_as_row(row) for row, _ in self.waiting.values()]
        return {
            **{k: v for k, v in vars(self).items() if not k.startswith("_")},
            "rows": self._in_columns(self.rows),
            "waiting": self._in_columns(waiting),
            "ids": [json.dumps(key) for key in self.waiting],
            "predictions": [prediction for _, prediction in self.waiting.values()],
        }

    def _in_columns(self, rows: list[Row]) -> FirstRows:
        return FirstRows().with_batch(self._batch(rows), lambda name: True) if rows else FirstRows()

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        """The stream again; an exception if something in it does not go together."""
        stream = cls(fields["model"], fields["id"], fields["monitor"])
        stream.lines, stream.forgotten = fields["lines"], fields["forgotten"]
        ids = [json.loads(key) for key in fields["ids"]]
        block, waiting = fields["rows"], fields["waiting"]
        usable = all(isinstance(key, (str, int, float)) for key in ids)
        fits = (
            block.n < _ROWS_PER_BLOCK
            and waiting.n <= _MOST_WITHOUT_TARGET
            and len(set(ids)) == waiting.n
        )
        if not usable or not fits:
            raise ValueError("rows: not those of a part of a block, or that wait for a target.")
        stream.rows = [_as_row((block, i)) for i in range(block.n)]
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


def _as_json(value: Any) -> Any:
    """A prediction as JSON has it: there is no nan."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124
