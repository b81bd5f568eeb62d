"""A read-only snapshot of a stream, which predicts while the stream goes on learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from ..following import Follower, LabelFollower
from ._rows import batch_of_rows, batches_of_rows, runs_of_one_kind
from .insights import shares
from .model import TableModel
from .predictions import Answers, UnlearnedValues
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
    unlearned : UnlearnedValues, optional
        Counts values that were never learned.

    Examples
    --------
    >>> from greville.tables import Stream, TableModel
    >>> stream = Stream(TableModel("y"))
    >>> _ = stream.answer([{"x": i / 10, "y": i / 5} for i in range(60)])
    >>> [answer] = stream.answering().answers([{"x": 2.0}])
    >>> round(answer["prediction"], 1)
    4.0
    """

    def __init__(
        self,
        model: TableModel,
        follower: Follower | LabelFollower | None,
        unlearned: UnlearnedValues | None = None,
    ) -> None:
        self.model, self._unlearned = model, unlearned
        self._follower = follower if fits(follower, model) else None

    @cached_property
    def units(self) -> int:
        """Number of hidden units."""
        estimator = self.model.estimator
        return 0 if estimator is None else int(estimator.solver_.n_features_in_)

    @cached_property
    def _names(self) -> frozenset[str]:
        """Columns that rows may have; an empty set if rows may have any column."""
        model = self.model
        if not model.has_schema or model.settings.features is not None:
            return frozenset()
        columns = [column.name for column in model.schema.columns]
        return frozenset([*columns, *model.settings.ignore, model.target])

    def unused(self, row: Row) -> set[str]:
        """Names in a row that the model knows nothing of: they may be misspelled."""
        return row.keys() - self._names if self._names else set()

    def importance(self, rows: Sequence[Row]) -> dict[str, float]:
        """How far predictions move with each column at some rows, the farthest first."""
        numbers = self.model.importance(batches_of_rows(rows, "the rows")).as_dict()
        return {name: each["change"] for name, each in numbers.items()}

    def answers(
        self, rows: Sequence[Row], *, std: bool = False, proba: bool = False, why: bool = False
    ) -> list[Answer]:
        """An answer for each row: a "prediction" (None before anything was learned) or an "error".

        Parameters
        ----------
        rows : sequence of dict
        std, proba : bool
            Whether to answer also with a standard deviation, or with the probability of each class.
        why : bool
            Whether to answer also with the prediction for the mean row and the share of each
            column, the largest first: they add up to the prediction, with what the last targets
            have changed, or to the score of the class that is predicted.
        """
        if self.model.estimator is None:
            return [{"prediction": None} for _ in rows]
        wants = proba or isinstance(self._follower, LabelFollower)
        if len(rows) == 1 and not (std or why) and infinite_value(rows[0]) is None:
            alone = self.model.answer_usual(rows[0], proba=wants)
            if alone is not None:
                return [self._answer(alone, 0, proba)]
        predicted = self.model.answers_to_rows(rows, std=std, proba=wants)
        for i, row in enumerate(rows):
            reason = infinite_value(row)
            if reason is not None:
                predicted.wrong[i] = reason
        if self._unlearned is not None:
            self._unlearned.add(predicted)
        answers = [self._answer(predicted, i, proba) for i in range(len(rows))]
        if why:
            self._add_shares(rows, answers)
        return answers

    def _add_shares(self, rows: Sequence[Row], answers: list[Answer]) -> None:
        """Add to answers each column's share and, with a follower, that of the last targets."""
        places = [i for i, answer in enumerate(answers) if "error" not in answer]
        kept = [rows[i] for i in places]
        for run in runs_of_one_kind(kept):
            names, numbers = self.model.schema.names, range(run.start + 1, run.stop + 1)
            batch = batch_of_rows(kept[run], names, "the rows", numbers)
            labels = np.array([answers[i]["prediction"] for i in places[run]])
            parts = shares(self.model, batch, labels)
            for i, (base, answer) in zip(places[run], parts, strict=True):
                answers[i]["why"] = {"base": base, "shares": answer}
                if isinstance(self._follower, Follower):
                    mixed = answers[i]["prediction"] - base - sum(answer.values())
                    answers[i]["why"]["last_targets"] = mixed

    def _answer(self, predicted: Answers, i: int, proba: bool) -> Answer:
        if self._follower is not None and i not in predicted.wrong:
            _mix(predicted, i, self._follower, _own(predicted, i))
        return answer_of(predicted, i, proba=proba)


def fits(follower: Follower | LabelFollower | None, model: TableModel) -> bool:
    """Whether a follower is for what a model predicts."""
    kind = Follower if model.task == REGRESSION else LabelFollower
    return isinstance(follower, kind)


class Following(NamedTuple):
    """A follower, and its value before the targets that came together with the last target."""

    now: Any
    since: Any

    def after(
        self, parts: Sequence[Answers], with_previous: Sequence[bool], *, mixes: bool = True
    ) -> Following:
        """Follow rows that a model has answered and learned; mix the follower into the answers.

        Rows that have no prediction, and those that are wrong, keep what they have. `with_previous`
        says of each row whether its target came together with that of the row before it: it is then
        predicted by what was known before both.
        """
        (now, since), start = self, 0
        for part in parts:
            flags = with_previous[start : start + len(part.prediction)]
            start += len(flags)
            if part.target is None:
                continue
            if isinstance(now, Follower) and part.target.dtype.kind not in "fiu":
                continue  # labels, from before a row that made numbers of them
            for k in range(len(part.prediction)):
                since, before = since if flags[k] else now, now
                own = _own(part, k)
                if k not in part.wrong and part.has_target[k]:  # type: ignore[index]
                    now = _learned(now, part, k, own, since if flags[k] else None)
                if mixes:
                    _mix(part, k, since if flags[k] else before, own)
        return Following(now, since)


def _own(answers: Answers, k: int) -> Any:
    """Return what the model alone predicts for a row: a number, or classes and probabilities.

    Of the classes those that were known then: others came later in the same batch, and have none.
    """
    if answers.prediction.dtype.kind == "f":
        return float(answers.prediction[k])
    if answers.proba is None:
        return None
    pairs = zip(answers.classes, answers.proba[k].tolist(), strict=True)
    return tuple(map(list, zip(*[pair for pair in pairs if pair[1] > 0], strict=True))) or None


def _learned(follower: Any, answers: Answers, k: int, own: Any, since: Any) -> Any:
    """Return the follower after a row with a target; `own` is the model's prediction."""
    target = answers.target[k : k + 1].tolist()[0]  # type: ignore[index]
    if isinstance(follower, Follower):
        meet = k in answers.guessed
        return follower.meet(own, target) if meet else follower.learn(own, target, since)
    if k in answers.guessed or own is None:
        return follower.meet(target)
    return follower.learn(*own, target, since)


def _mix(answers: Answers, k: int, follower: Any, own: Any) -> None:
    """Put the follower's prediction in the place of the model's `own`, where that has one."""
    value = answers.prediction[k]
    if k in answers.wrong or own is None or value is None or value != value:  # noqa: PLR0124 - nan
        return
    if isinstance(follower, LabelFollower):
        classes, mixed = own[0], follower.predict(*own)
        answers.proba[k, answers.proba[k] > 0] = mixed  # type: ignore[index]
        answers.prediction[k] = classes[mixed.index(max(mixed))]
    elif answers.std is None:
        answers.prediction[k] = follower.predict(own)
    else:
        both = follower.predict(own, float(answers.std[k]))
        answers.prediction[k], answers.std[k] = both


def infinite_value(row: Mapping[str, Any]) -> str | None:
    """Describe what is wrong with a row that has an infinite number."""
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


def answer_of(predicted: Answers, i: int, *, proba: bool) -> Answer:
    """Return the prediction for a row as JSON has it, or what is wrong with the row."""
    if i in predicted.wrong:
        return {"error": predicted.wrong[i]}
    answer = {"prediction": _as_json(predicted.prediction[i : i + 1].tolist()[0])}
    if predicted.std is not None:
        answer["std"] = _as_json(float(predicted.std[i]))
    if proba and predicted.proba is not None:
        each = zip(predicted.classes, predicted.proba[i].tolist(), strict=True)
        answer["proba"] = {label: p for label, p in each if p > 0}  # 0: it came in a later row
    return answer


def _as_json(value: Any) -> Any:
    """A prediction as JSON has it: there is no nan and no infinity."""
    return None if isinstance(value, float) and not isfinite(value) else value
