"""A read-only snapshot of a stream, which predicts while the stream goes on learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

from ..following import Follower
from ._answers import Answers
from ._following import predicted
from .batch import TableError
from .model import TableModel
from .target import REGRESSION

Row = dict[str, Any]
Answer = dict[str, Any]


class Answering:
    """The model of a stream as it is at a moment: it answers rows, and learns none.

    The stream may go on meanwhile, in another thread: this does not change.

    Parameters
    ----------
    model : TableModel
        A copy of its own, which does not learn.
    follower : Follower, optional
        Mixes predictions of numbers with what the last targets say.

    Examples
    --------
    >>> from greville.tables import Stream, TableModel, Troubles
    >>> stream = Stream(TableModel("y"))
    >>> _ = stream.answer([{"x": i / 10, "y": i / 5} for i in range(60)], 1, Troubles())
    >>> [answer] = stream.answering().answers([{"x": 2.0}])
    >>> round(answer["prediction"], 1)
    4.0
    """

    def __init__(self, model: TableModel, follower: Follower | None) -> None:
        self.model = model
        self._follower = follower if model.task == REGRESSION else None
        self._names = frozenset(self._known_names())
        self.units = 0 if model.estimator is None else int(model.estimator.solver_.n_features_in_)

    def _known_names(self) -> list[str]:
        model = self.model
        if not model.has_schema or model.settings["features"] is not None:
            return []  # any column may come, or those that are wanted are known
        columns = [column.name for column in model.schema.columns]
        return [*columns, *model.settings["ignore"], model.target]

    def unused(self, row: Row) -> set[str]:
        """Names in a row that the model knows nothing of: they may be misspelled."""
        return row.keys() - self._names if self._names else set()

    def answers(
        self, rows: Sequence[Row], *, std: bool = False, proba: bool = False
    ) -> list[Answer]:
        """An answer for each row: a "prediction" (None before anything was learned) or an "error".

        Parameters
        ----------
        rows : sequence of dict
        std, proba : bool
            Whether to answer also with a standard deviation, or with the probability of each class.
        """
        if self.model.estimator is None:
            return [{"prediction": None} for _ in rows]
        if len(rows) == 1 and not std and not proba and infinite_value(rows[0]) is None:
            try:
                value = self.model.predict_one(rows[0])
            except TableError:  # the error is reported below
                pass
            else:
                value = value if self._follower is None else self._followed(value)
                return [{"prediction": _as_json(value)}]
        found = self.model.answers_to_rows(rows, std=std, proba=proba)
        if self._follower is not None:
            found = predicted(self._follower, found)
        answers = []
        for i, (row, value) in enumerate(zip(rows, found.prediction.tolist(), strict=True)):
            answer: Answer = {}
            reason = infinite_value(row)
            if reason is None:
                fill_answer(answer, found, i, value)
            else:
                answer["error"] = reason
            answers.append(answer)
        return answers

    def _followed(self, value: float) -> Any:
        assert self._follower is not None
        return self._follower.predict(value) if isfinite(value) else value


def infinite_value(row: Mapping[str, Any]) -> str | None:
    """What is wrong with a row that has an infinite number."""
    try:
        if inf not in (values := row.values()) and -inf not in values:
            return None
    except (TypeError, ValueError):  # an array, or pandas.NA
        pass
    for name, value in row.items():
        if _is_infinite(value):
            return f"column {name!r} is infinite; only finite numbers can be used"
    return None


def _is_infinite(value: Any) -> bool:
    try:
        return value in (inf, -inf)
    except (TypeError, ValueError):
        return False


def fill_answer(answer: Answer, found: Answers, i: int, value: Any) -> None:
    """Write into an answer what was found for a row."""
    if i in found.wrong:
        answer["error"] = found.wrong[i]
        return
    answer["prediction"] = _as_json(value)
    if found.std is not None:
        answer["std"] = _as_json(float(found.std[i]))
    if found.proba is not None:
        each = zip(found.classes, found.proba[i].tolist(), strict=True)
        answer["proba"] = {label: p for label, p in each if p > 0}  # 0: it came in a later row


def _as_json(value: Any) -> Any:
    """A prediction as JSON has it: there is no nan and no infinity."""
    return None if isinstance(value, float) and not isfinite(value) else value
