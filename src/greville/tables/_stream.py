"""Rows that come one by one or in bursts, are answered at once, and are learned exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..monitor import DriftMonitor
from ._batch import Batch, Troubles
from ._formats import array_of, record_batch
from ._model import TableModel

# Rows that are learned together. How they arrived, alone or in bursts, then changes no bit of the
# model: whatever answered them meanwhile, it is made of whole blocks.
BLOCK = 256

# Rows that may wait for their target. The oldest are forgotten.
MOST_WAITING = 100_000

Row = dict[str, Any]
Answer = dict[str, Any]


class Stream:
    """A model that answers every row, and learns those that have a target.

    Parameters
    ----------
    model : TableModel
        What has been learned before. It changes.
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
        self.waiting: dict[Any, tuple[Row, Any]] = {}  # rows without a target, and their prediction
        self.forgotten = 0
        self._live: TableModel | None = None  # the model and the rows

    def _file_fields(self) -> dict[str, Any]:
        fields = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        return fields | {"waiting": [[key, *entry] for key, entry in self.waiting.items()]}

    @classmethod
    def _from_file_fields(cls, fields: dict[str, Any]) -> Self:
        """The stream again; an exception if something in it does not go together."""
        stream = cls(fields["model"], fields["id"], fields["monitor"])
        waiting = {key: (row, prediction) for key, row, prediction in fields["waiting"]}
        vars(stream).update(fields | {"waiting": waiting})
        rows = [*stream.rows, *(row for row, _ in waiting.values())]
        if len(stream.rows) >= BLOCK or not all(isinstance(row, dict) for row in rows):
            raise ValueError("rows: not those of a part of a block, or that wait for a target.")
        stream.settled()
        return stream

    def settled(self) -> TableModel:
        """A model of all rows so far."""
        live = self.model.twin()
        if self.rows:
            live.record(self._batch(self.rows, []), Troubles(skip=True))
        return live

    def answer(self, rows: Sequence[Row | str], first: int, troubles: Troubles) -> list[Answer]:
        """An answer for each row; text in the place of a row says what was wrong with it.

        `first` is the number of its line. If an exception comes out, `lines` says how many were
        answered and learned before it.
        """
        answers: list[Answer] = []
        run: list[Row] = []
        for number, row in enumerate(rows, first):
            kind = self._kind(row)
            if kind == "learn" and isinstance(row, dict):
                run.append(row)
                continue
            answers += self._learned(run, number - len(run), troubles)
            run = []
            if isinstance(row, str):
                troubles.meet(f"standard input, line {number:,}: {row}")
                answers.append({"line": number, "error": row})
                self.lines += 1
            elif kind == "late":
                answers += self._learned_late(row, number, troubles)
            else:
                answers.append(self._asked(row, number, troubles))
        return answers + self._learned(run, first + len(rows) - len(run), troubles)

    def _kind(self, row: Row | str) -> str:
        if isinstance(row, str):
            return "wrong"
        if row.get(self.model.target) in (None, ""):
            return "ask"
        if self.id is not None and row.get(self.id) in self.waiting:
            return "late"
        return "learn"

    def _learned(self, rows: list[Row], first: int, troubles: Troubles) -> list[Answer]:
        """Answer rows that have a target, and learn them."""
        answers: list[Answer] = []
        while rows:
            room = BLOCK - len(self.rows)
            some, rows = rows[:room], rows[room:]
            numbers = list(range(first, first + len(some)))
            batch = self._batch(some, numbers)
            if len(some) == BLOCK:
                found = self.model.record(batch, troubles)
                self._live = None
            else:
                if self._live is None:
                    self._live = self.settled()
                found = self._live.record(batch, troubles)
                self.rows += some
                if len(self.rows) == BLOCK:
                    self.model.record(self._batch(self.rows, []), Troubles(skip=True))
                    self.rows, self._live = [], None
            answers += self._worded(some, numbers, found)
            first += len(some)
            self.lines += len(some)
        return answers

    def _worded(self, rows: list[Row], numbers: list[int], found: Sequence[Any]) -> list[Answer]:
        answers = []
        i = 0
        for part in found:
            for k, value in enumerate(part.prediction.tolist()):
                answer: Answer = {"line": numbers[i]}
                if self.id is not None:
                    answer["id"] = rows[i].get(self.id)
                if k in part.wrong:
                    answer["error"] = part.wrong[k]
                else:
                    answer["prediction"] = _said(value)
                    if part.target is not None:
                        self._watch(value, part.target[k])
                answers.append(answer)
                i += 1
        return answers

    def _asked(self, row: Row, number: int, troubles: Troubles) -> Answer:
        """Answer a row that has no target."""
        answer: Answer = {"line": number}
        if self.id is not None:
            answer["id"] = row.get(self.id)
        answer["prediction"] = self._prediction(row, number, answer, troubles)
        key = None if self.id is None else row.get(self.id)
        if key is not None and "error" not in answer:
            self.waiting[key] = row, answer["prediction"]
            if len(self.waiting) > MOST_WAITING:
                del self.waiting[next(iter(self.waiting))]  # the oldest
                self.forgotten += 1
        self.lines += 1
        return answer

    def _prediction(self, row: Row, number: int, answer: Answer, troubles: Troubles) -> Any:
        if self._live is None:
            self._live = self.settled()
        if self._live.estimator is None:
            return None
        found = self._live.answers(self._batch([row], [number]))
        if found.wrong:
            troubles.meet(f"standard input, line {number:,}: {found.wrong[0]}")
            answer["error"] = found.wrong[0]
            return None
        return _said(found.prediction.tolist()[0])

    def _learned_late(self, row: Row, number: int, troubles: Troubles) -> list[Answer]:
        """Learn a row whose target has come."""
        key = row[self.id]  # type: ignore[index]
        asked, prediction = self.waiting[key]
        whole = {**asked, self.model.target: row[self.model.target]}
        answers = self._learned([whole], number, troubles)
        del self.waiting[key]
        if "error" not in answers[0]:
            answers[0]["prediction"] = prediction  # the one that was given
            answers[0]["learned"] = True
        return answers

    def _watch(self, predicted: Any, target: Any) -> None:
        if self.monitor is None or predicted is None or predicted != predicted:  # noqa: PLR0124
            return
        error = predicted - target if self.model.task == "regression" else predicted != target
        self.monitor.update(float(error))

    def _batch(self, rows: Sequence[Row], numbers: Sequence[int]) -> Batch:
        """Rows as a batch. What a row does not have is missing, whatever stands beside it."""
        names = self.model.needed
        if names is None:
            asked = self.model.settings["ignore"] + self.model.settings["categorical"]
            given = [name for row in rows for name in row]
            names = list(dict.fromkeys([*(self.model.first or ()), *asked, *given]))
            names = [name for name in names if name != self.id]
        columns = {name: array_of([row.get(name) for row in rows]) for name in names}
        lines = np.array(numbers if len(numbers) else range(1, len(rows) + 1), np.int64)
        return Batch(record_batch(columns), "standard input", lines, 0.0)


def _said(value: Any) -> Any:
    """A prediction as JSON has it: there is no nan."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124
