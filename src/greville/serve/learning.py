"""What requests do to a model and its log, one after the other, in one thread."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..tables import Stream, TableError, Troubles
from .bodies import shown
from .limits import Limits
from .log import Log, Run
from .record import ErrorRecord
from .refusals import RequestError

logger = logging.getLogger("greville.serve")

# Characters of an id, and outcomes in news.
_LONGEST_ID, _MOST_SHOWN = 200, 20

# Where tables say that an error is; a request has its own rows.
_WHERE = re.compile(r"standard input, row ([\d,]+)( to standard input, row [\d,]+)?: ", re.I)

# Steps in one direction, without one in the other, after which targets are taken to be sorted.
_STEPS_OF_SORTED = 100

_SORTED = (
    "The last {:,} targets are in ascending or descending order. If rows are sorted by their "
    "target and not by time, predictions that follow the last target are wrong: shuffle them, or "
    "start the server with --no-mix."
)

Row = dict[str, Any]


class TargetOrder:
    """Whether numbers come sorted; it says so once for each run of them."""

    def __init__(self) -> None:
        self.n = 0  # of the run
        self._last, self._sign, self._steps = 0.0, 0, 0

    def add(self, targets: Sequence[Any]) -> bool:
        """Whether the run has just become long enough to be told."""
        told = False
        for target in targets:
            if isinstance(target, bool) or not isinstance(target, (int, float)):
                self.n = self._steps = 0
                continue
            sign = (target > self._last) - (target < self._last) if self.n else 0
            if sign and self._sign and sign != self._sign:
                self.n, self._steps, self._sign = 1, 0, 0
            self.n, self._last = self.n + 1, target
            if sign:
                self._sign, self._steps = sign, self._steps + 1
                told = told or self._steps == _STEPS_OF_SORTED
        return told


@dataclass
class Work:
    """What a request asks for: to "learn", "unlearn" or "keep" rows, or a "copy" of the stream."""

    action: str
    rows: list[Row] = field(default_factory=list)
    predictions: Sequence[Any] = ()  # of rows to keep
    key: str | None = None  # of a request that may be repeated
    digest: str = ""  # of what it asks for
    done: Future[Any] = field(default_factory=Future)


@dataclass
class Outcome:
    """A row whose target has come, and what was predicted."""

    row: Row
    prediction: Any
    target: Any

    def error(self, is_number: bool) -> float | None:
        """How far off it was: a distance, or 1 for a wrong class."""
        if self.prediction is None:
            return None
        if not is_number:
            return float(str(self.prediction) != str(self.target))
        try:
            return abs(float(self.prediction) - float(self.target))
        except (TypeError, ValueError, OverflowError):
            return None


@dataclass
class Done:
    """What a request has done: its answer, the rows that changed the model, and outcomes."""

    answer: Any
    rows: list[Row] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


@dataclass
class News:
    """How many rows were learned together, the last of them, all their ids, and alarms of drift."""

    learned: int = 0
    outcomes: Sequence[Outcome] = ()
    alarms: list[tuple[int, float]] = field(default_factory=list)
    ids: set[Any] = field(default_factory=set)


class Learning:
    """A stream that learns what stands in a log, and nothing else.

    Parameters
    ----------
    stream : Stream
        With the name of the field of ids.
    log : Log
        Used by `act` alone.
    record : ErrorRecord
    limits : Limits
    """

    def __init__(self, stream: Stream, log: Log, record: ErrorRecord, limits: Limits) -> None:
        assert stream.id is not None
        self.stream, self.log, self.record, self.limits = stream, log, record, limits
        self.id, self.target = stream.id, stream.model.target
        self.is_half_done = False  # rows were learned of a request that was then refused
        self._order = TargetOrder()
        self._n_alarms = 0 if stream.monitor is None else len(stream.monitor.alarms_)

    def replay(self, run: Run) -> News:
        """Learn, or unlearn, what stands in a log again."""
        if run.action == "learn":
            answers = self.stream.relearn(run.rows, run.joined)
            for row, answer in zip(run.rows, answers, strict=True):
                if "error" in answer:
                    logger.warning("a row of the log was not learned: %s: %s", answer["error"], row)
            with suppress(Exception):  # what is only looked at must not keep a model from starting
                return self.see(self._outcomes(run.rows, answers, run.given))
        else:
            self.stream.unlearn(run.rows)
        return News()

    def act(self, work: Work, now: float) -> Done:
        """Do what a request asks for, here and in the log.

        If an exception comes out and it `is_half_done`, `restore` must follow.
        """
        self.is_half_done = False
        if work.action == "keep":
            for row, prediction in zip(work.rows, work.predictions, strict=True):
                self._keep(row, prediction, now)
            return Done({})
        if work.key is not None:
            known = self.log.answer_to(work.key)
            if known is not None:
                if known[0] != work.digest:
                    raise RequestError(
                        422,
                        "The Idempotency-Key was used for another request; make a new one for "
                        "each request, and repeat it only with the same body.",
                        "Idempotency-Key",
                    )
                return Done(known[1])
        done = (self._learn if work.action == "learn" else self._unlearn)(work.rows, now)
        if work.key is not None:
            self.log.remember(work.key, work.digest, done.answer, now)
        return done

    def restore(self, base: Stream, works: Sequence[tuple[Work, list[Row]]]) -> None:
        """Go back to an earlier stream, and do again what was done since, but for the last."""
        self.stream = base.copy()
        for work, rows in works:
            if work.action == "learn" and rows:
                self.stream.relearn(rows, [k > 0 for k in range(len(rows))])
            elif work.action == "unlearn" and rows:
                self.stream.unlearn(rows)

    def see(self, outcomes: Sequence[Outcome]) -> News:
        """Count the errors of rows that were learned, and the alarms of drift."""
        is_number = self.stream.model.task != "classification"
        errors = [each.error(is_number) for each in outcomes]
        before = self.record.n
        self.record.add([error for error in errors if error is not None])
        ids = {each.row.get(self.id) for each in outcomes} - {None}
        news = News(len(outcomes), outcomes[-_MOST_SHOWN:], ids=ids)
        monitor = self.stream.monitor
        if monitor is not None:
            # The monitor counts the errors it has seen; the last of them are those of these rows.
            for k in monitor.alarms_[self._n_alarms :]:
                row = max(before + 1, self.record.n - (monitor.n_seen_ - 1 - k))
                news.alarms.append((row, time.time()))
                self.record.add_alarm(*news.alarms[-1])
            self._n_alarms = len(monitor.alarms_)
        return news

    def _keep(self, row: Row, prediction: Any, now: float) -> None:
        id = id_text(row[self.id], self.id)
        if self.log.learned(id) is not None:
            return  # its target has come already
        if self.log.n_waiting >= self.limits.waiting and self.log.kept(id) is None:
            raise RequestError(
                429,
                f"{self.log.n_waiting:,} rows wait for their targets; send targets first, or "
                f"leave the field {shown(self.id)} out.",
                self.id,
            )
        self.log.keep(id, row, prediction, now)

    def _learn(self, rows: list[Row], now: float) -> Done:
        whole: list[Row] = []
        places: list[str] = []
        ids: list[str | None] = []
        given: list[Any] = []  # predictions that were given earlier
        targets: dict[str, Any] = {}  # of ids in this request
        for k, row in enumerate(rows):
            place, target = _place(rows, k), self._target_of(row, _place(rows, k))
            if row.get(self.id) is None:
                whole.append(row)
                places.append(place)
                given.append(None)
                ids.append(None)
                continue
            id = id_text(row[self.id], self.id, place)
            known = {self.target: targets[id]} if id in targets else self.log.learned(id)
            if known is not None:
                if known[self.target] != target:
                    raise RequestError(
                        409,
                        f"{place}The row with the {self.id} {shown(row[self.id])} was learned with "
                        f"the target {shown(known[self.target])}; unlearn it first.",
                        self.id,
                    )
                continue
            kept = self.log.kept(id)
            if kept is None and row.keys() <= {self.id, self.target}:
                raise RequestError(
                    422,
                    f"{place}No row with the {self.id} {shown(row[self.id])} waits for its target; "
                    "send the whole row.",
                    self.id,
                )
            whole.append(row if kept is None else {**kept.row, **row})
            places.append(place)
            given.append(None if kept is None else kept.prediction)
            ids.append(id)
            targets[id] = target
        outcomes = self._learned(whole, given, places)
        for id in targets:
            self.log.drop_kept(id)
        position = self.log.append("learn", ids, whole, now, given)
        n = len(whole)
        answer: dict[str, Any] = {"learned": n, "repeated": len(rows) - n, "position": position}
        is_sorted = self._order.add([row[self.target] for row in whole])
        if is_sorted and self.stream.follows and self.stream.model.task != "classification":
            answer["warning"] = _SORTED.format(self._order.n)
            logger.warning("%s", answer["warning"])
        return Done(answer, whole, outcomes)

    def _target_of(self, row: Row, place: str) -> Any:
        target = row.get(self.target)
        if target is None or (isinstance(target, str) and target.strip().lower() in ("", "nan")):
            raise RequestError(
                422, f"{place}The target {shown(self.target)} is missing.", self.target
            )
        if isinstance(target, list):
            raise RequestError(
                422,
                f"{place}The target {shown(self.target)} is a list; send a number, text, true or "
                "false.",
                self.target,
            )
        return target

    def _learned(
        self, rows: list[Row], given: Sequence[Any], places: Sequence[str]
    ) -> list[Outcome]:
        """Learn rows, and what was predicted for each; a RequestError if one cannot be learned."""
        if not rows:
            return []
        reason = self.stream.trouble_with(rows[0]) if len(rows) == 1 else None
        if reason is not None:
            raise unusable(reason, rows[0], places[0])
        for row, place in zip(rows, places, strict=True):
            reason = self.stream.no_number(row)
            if reason is not None:
                raise unusable(reason, row, place)
        without_target = self.stream.n_without_target
        self.is_half_done = True
        number = self.stream.lines + 1
        answers = self.stream.answer(rows, number, Troubles(skip=True), together=True)
        for k, answer in enumerate(answers):
            if "error" in answer:
                raise unusable(answer["error"], rows[k], places[k])
        if self.stream.n_without_target > without_target:  # as with "nan", or a blank
            where = "" if len(rows) == 1 else "A row has no target: "
            raise RequestError(
                422,
                f"{where}The target {shown(self.target)} is missing; leave such rows out.",
                self.target,
            )
        return self._outcomes(rows, answers, given)

    def _outcomes(
        self, rows: Sequence[Row], answers: Sequence[Any], given: Sequence[Any]
    ) -> list[Outcome]:
        return [
            Outcome(row, answer.get("prediction") if early is None else early, row[self.target])
            for row, answer, early in zip(rows, answers, given, strict=True)
        ]

    def _unlearn(self, rows: list[Row], now: float) -> Done:
        whole: list[Row] = []
        ids: list[str | None] = []
        for k, row in enumerate(rows):
            place = _place(rows, k)
            id = None if row.get(self.id) is None else id_text(row[self.id], self.id, place)
            known = None if id is None else self.log.learned(id)
            if id is not None and (known is None or id in ids):
                what = "is there twice" if id in ids else "was not learned, or is unlearned already"
                raise RequestError(
                    422, f"{place}The row with the {self.id} {shown(row[self.id])} {what}.", self.id
                )
            if known is None:
                self._target_of(row, place)
            whole.append(known or row)
            ids.append(id)
        try:
            self.stream.unlearn(whole)
        except TableError as error:
            reason, k = error.message, 0
            found = _WHERE.match(reason)
            if found is not None:
                k = min(int(found[1].replace(",", "")), len(whole)) - 1
                reason = reason[found.end() :]
            place = "" if found is None or found[2] else _place(whole, k)
            raise unusable(reason, whole[k], place) from error
        position = self.log.append("unlearn", ids, whole, now)
        return Done({"unlearned": len(whole), "position": position}, whole)


def id_text(id: Any, name: str, place: str = "") -> str:
    """An id as it stands in the log; a RequestError if it cannot be one."""
    if isinstance(id, bool) or not isinstance(id, (str, int)):
        raise RequestError(
            422, f"{place}The {name} {shown(id)} is neither text nor a whole number.", name
        )
    if id == "":
        raise RequestError(422, f"{place}The {name} is empty; leave it out, or send one.", name)
    text = json.dumps(id)
    if len(text) > _LONGEST_ID:
        raise RequestError(
            422, f"{place}The {name} {shown(id)} is longer than {_LONGEST_ID} characters.", name
        )
    return text


def unusable(reason: str, row: Row, place: str) -> RequestError:
    """What a client is told about a row that cannot be used."""
    places = {reason.find(repr(name)): name for name in row if repr(name) in reason}
    field = places[min(places)] if places else None  # the first that is named
    text = reason.rstrip(".")
    return RequestError(422, f"{place}{text[:1].upper()}{text[1:]}.", field)


def _place(rows: Sequence[Row], k: int) -> str:
    """Which of several rows is meant."""
    return "" if len(rows) == 1 else f"Row {k + 1:,}: "
