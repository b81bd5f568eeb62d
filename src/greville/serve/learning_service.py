"""A served model that learns: one thread does what requests ask for, and keeps a log of it."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import ChainMap, deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ..persistence import ModelFileError, save
from ..tables import RowErrors, TableError
from .board import Outcome
from .bodies import BUG, RequestError, naming_row, shown, unusable
from .log import LOG_ERRORS, Log, Row
from .parameters import ServeOptions
from .service import Service, Snapshot

logger = logging.getLogger("greville.serve")

# Rows of requests that share one transaction, if so many are there.
_ROWS_AT_ONCE = 2048

# Seconds between two looks at whether a snapshot is due, while nothing comes.
_IDLE = 1.0

_LONGEST_ID = 200  # characters

# Numbers in one order, and different ones among them, from which targets are taken to be sorted.
_SORTED, _DIFFERENT = 100, 20

_WARNING = (
    f"The last {_SORTED} targets are in ascending or descending order. If rows are sorted by their "
    "target and not by time, predictions that follow the last target are wrong: shuffle them, or "
    "start the server with --no-mix."
)


@dataclass
class Work:
    """A request's work for the writer thread: to "learn", "unlearn" or "keep" rows."""

    action: str
    rows: list[Row]
    predictions: Sequence[Any] = ()  # of rows to keep
    key: str | None = None  # of a request that may be repeated
    digest: str = ""  # of what it asks for
    done: Future[Any] = field(default_factory=Future)


class Entry(NamedTuple):
    """A row to learn: its number in the request, its id, and a prediction from before."""

    number: int
    id: str | None
    row: Row
    prediction: Any = None


class LearningService(Service):
    """A served model that learns: its stream, its log, and a thread.

    Parameters
    ----------
    path : path-like
        The file of the model, in which snapshots are written.
    snapshot : Snapshot
        What was learned until its place; what stands in the log behind it is learned first.
    log : Log
    options : ServeOptions
    """

    snapshot_failed = False  # the last one

    def __init__(
        self, path: str | os.PathLike[str], snapshot: Snapshot, log: Log, options: ServeOptions
    ) -> None:
        super().__init__(Path(path))
        self.load(snapshot)
        self.log, self._options, self.log_uid = log, options, log.uid
        self.snapshot_at = os.path.getmtime(path)
        self._tended_at = time.monotonic()  # a snapshot was due then
        self._targets: deque[Any] = deque(maxlen=_SORTED)  # the last
        self._order = 0  # of these
        self._outcomes: list[Outcome] = []  # of this group of requests
        self._queue: deque[Work] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"writer of {path}", daemon=True)

    # For those who ask, in any thread

    @property
    def n_waiting(self) -> int:  # type: ignore[override]
        return self.log.n_waiting

    @property
    def to_replay(self) -> int:  # type: ignore[override]
        return 0 if self.published is not None else self.log.position - self.position

    def start(self) -> None:
        """Replay the log, and then learn what comes."""
        self._thread.start()

    def submit(self, work: Work) -> Future[Any]:
        """Give the writer thread some work; the answer comes when the change is on the disk."""
        with self._changed:
            self.answering()
            if self._closing:
                raise RequestError(503, "The server is stopping; try again later.")
            self._queue.append(work)
            self._changed.notify()
        return work.done

    def close(self) -> None:
        """Finish the waiting requests, write a snapshot and close the log."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.ident is None:  # it was never started
            self.log.close()
        else:
            self._thread.join()

    # The writer

    def _run(self) -> None:
        try:
            for run in self.log.runs(self.position):
                self.replay(run)
                if self._closing:
                    return
            self.publish()
            while (group := self._next_group()) or not self._closing:
                if group:
                    self._do(group)
                self._tend()
            self._tend(ends=True)
        except Exception as error:
            logger.exception("The writer of %s has stopped.", self.path)
            with self._changed:
                self.failure = f"The model is not served any more: {error}"
            for work in self._queue:
                work.done.set_exception(RequestError(503, self.failure))
        finally:
            self.log.close()

    def _next_group(self) -> list[Work]:
        """Return the waiting requests in order; an empty list when other work may be due."""
        with self._changed:
            if not self._queue and not self._closing:
                self._changed.wait(_IDLE)
            group, n = [], 0
            while self._queue and n < _ROWS_AT_ONCE:
                work = self._queue.popleft()
                if work.done.set_running_or_notify_cancel():  # else nobody waits for it
                    group.append(work)
                    n += len(work.rows)
            return group

    def _do(self, group: list[Work]) -> None:
        """Do the work of requests, write to the disk, publish the model, and only then answer."""
        answers: list[Any] = [RequestError(500, BUG) for _ in group]
        try:
            with self.lock:
                answers = self._answers(group)
        finally:
            for work, answer in zip(group, answers, strict=True):
                if isinstance(answer, Exception):
                    work.done.set_exception(answer)
                else:
                    work.done.set_result(answer)

    def _answers(self, group: list[Work]) -> list[Any]:
        """Return the answers, or exceptions, once the changes are on the disk."""
        base, now, answers = self.stream.copy(), time.time(), list[Any]()
        self._outcomes = []
        try:
            with self.log.transaction():
                for work in group:
                    lines = self.stream.lines
                    try:
                        with self.log.transaction():
                            answers.append(self._act(work, now))
                    except LOG_ERRORS:
                        raise
                    except Exception as error:
                        answers.append(_refusal(error))
                        is_refused = isinstance(error, RequestError)
                        if self.stream.lines > lines or not is_refused:  # it may have learned
                            self.stream = base.copy()
                            for run in self.log.runs(self.position):
                                self.relearn(run)
        except LOG_ERRORS as error:
            logger.error("%s: it cannot be written: %s", self.log.path, error)
            self.stream = base
            what = "The log cannot be written; nothing of this was learned. Try again later."
            return [RequestError(503, what) for _ in group]
        if self.log.position > self.position:
            self.position = self.log.position
            self.count(self._outcomes)
            self.publish()
        return answers

    # What requests ask for

    def _act(self, work: Work, now: float) -> Any:
        if work.action == "keep":
            for row, prediction in zip(work.rows, work.predictions, strict=True):
                self._keep(row, prediction, now)
            return {}
        earlier = None if work.key is None else self.log.kept("request", work.key)
        if earlier is not None:
            if earlier[0] == work.digest:
                return earlier[1]
            what = "The Idempotency-Key was used for another request; make a new one for each."
            raise RequestError(422, what, "Idempotency-Key")
        answer = (self._learn if work.action == "learn" else self._unlearn)(work.rows, now)
        answer["position"] = self.log.position
        if work.key is not None:
            self.log.keep("request", work.key, (work.digest, answer), now)
        return answer

    def _keep(self, row: Row, prediction: Any, now: float) -> None:
        id = id_text(row, self.id)
        if id is None or self.log.learned(id) is not None:
            return  # its target has come already
        most = self._options.limits.waiting
        if self.log.n_waiting >= most and self.log.kept("row", id) is None:
            raise RequestError(429, f"{most:,} rows wait for their targets; send some.", self.id)
        self.log.keep("row", id, (row, prediction), now)

    def _learn(self, rows: list[Row], now: float) -> dict[str, Any]:
        entries: list[Entry] = []
        request = self.log.position + 1
        for k, row in enumerate(rows):
            with naming_row(rows, k):
                entry = self._entry(k, row)
            if entry is not None:
                entries.append(entry)
                self.log.append("learn", request, entry.id, entry.row, now, entry.prediction)
        outcomes = self._learn_entries(entries, rows) if entries else []
        answer: dict[str, Any] = {"learned": len(entries), "repeated": len(rows) - len(entries)}
        self._targets.extend(entry.row[self.target] for entry in entries)
        before, self._order = self._order, _order_of(self._targets)
        if self._order not in (0, before) and self.stream.follows:
            answer["warning"] = _WARNING
            logger.warning("%s", _WARNING)
        self._outcomes += outcomes
        return answer

    def _entry(self, number: int, row: Row) -> Entry | None:
        """Return the whole row to learn; None if this row was learned before."""
        target, id = self._target_of(row), id_text(row, self.id)
        if id is None:
            return Entry(number, None, row)
        learned = self.log.learned(id)
        if learned is not None:
            if learned[self.target] == target:
                return None
            what = f"was learned with the target {shown(learned[self.target])}; unlearn it first"
            raise self._wrong_id(row, what, 409)
        kept = self.log.kept("row", id)
        if kept is not None:
            self.log.drop_kept("row", id)
            return Entry(number, id, {**kept[0], **row}, kept[1])
        if row.keys() <= {self.id, self.target}:
            raise self._wrong_id(row, "does not wait for its target; send the whole row")
        return Entry(number, id, row)

    def _wrong_id(self, row: Row, why: str, status: int = 422) -> RequestError:
        name = f"The row with the {self.id} {shown(row[self.id])}"
        return RequestError(status, f"{name} {why}.", self.id)

    def _target_of(self, row: Row) -> Any:
        target = row.get(self.target)
        if target is None or target == "" or isinstance(target, list):
            what = "a list" if isinstance(target, list) else "missing"
            raise RequestError(422, f"The target {shown(self.target)} is {what}.", self.target)
        return target

    def _learn_entries(self, entries: list[Entry], rows: list[Row]) -> list[Outcome]:
        """Learn rows; return their earlier predictions, or raise a RequestError."""
        stream, without_target = self.stream, self.stream.n_without_target
        for entry in entries:
            reason = stream.no_number(entry.row)
            if reason is not None:
                raise unusable(reason, rows, entry.number)
        whole = [entry.row for entry in entries]
        answers = stream.answer(whole, stream.lines + 1, RowErrors(skip=True), together=True)
        for entry, answer in zip(entries, answers, strict=True):
            if "error" in answer:
                raise unusable(answer["error"], rows, entry.number)
        if stream.n_without_target > without_target:  # as with "nan", or a blank
            what = f"The target {shown(self.target)} of a row is missing; leave such rows out."
            raise RequestError(422, what, self.target)
        return self.outcomes(whole, answers, [entry.prediction for entry in entries])

    def _unlearn(self, rows: list[Row], now: float) -> dict[str, Any]:
        whole: list[Row] = []
        request = self.log.position + 1
        for k, row in enumerate(rows):
            with naming_row(rows, k):
                id = id_text(row, self.id)
                learned = None if id is None else self.log.learned(id)
                if id is None:
                    self._target_of(row)
                elif learned is None:
                    raise self._wrong_id(row, "was not learned, or is unlearned already")
            whole.append(learned or row)
            self.log.append("unlearn", request, id, whole[-1], now)
        try:
            self.stream.unlearn(whole)
        except TableError as error:
            raise unusable(error.message, [dict(ChainMap(*whole))]) from error
        return {"unlearned": len(whole)}

    # Snapshots

    def _tend(self, ends: bool = False) -> None:
        """Write a snapshot and tidy the log, if that is due."""
        new, options = self.position - self.snapshot_position, self._options
        are_many = new >= options.every and not self.snapshot_failed
        if ends or are_many or time.monotonic() - self._tended_at >= options.every_seconds:
            self._tended_at = time.monotonic()
            if new:
                self.save()
            self.clean_up()

    def save(self) -> None:
        """Try to write a snapshot; a failure is logged, and the log still has all rows."""
        stream, extra = self.copy()
        try:
            save(stream, self.path, extra=extra)
            self.snapshot_position, self.snapshot_at = self.position, time.time()
            self.snapshot_failed = False
        except Exception as error:
            is_bug = not isinstance(error, (OSError, ModelFileError))
            text = "%s; the log has all that was learned."
            logger.error(text, str(error).rstrip("."), exc_info=is_bug)
            self.snapshot_failed = True

    def clean_up(self) -> None:
        """Drop old rows and keys, and erase unlearned rows from the log."""
        now, keep_log = time.time(), self._options.keep_log
        try:
            with self.log.transaction():
                self.forgotten += self.log.forget(now - self._options.keep)
                erased = self.log.erase_unlearned(self.snapshot_position)
                old = keep_log is not None and now - self.log.last_base_at() > keep_log / 2
                if erased or (old and not self.snapshot_failed):
                    content = self.path.read_bytes()
                    self.log.add_base(self.snapshot_position, self.snapshot_at, content)
                if keep_log is not None:
                    self.log.trim(now - keep_log)
        except (OSError, *LOG_ERRORS) as error:
            logger.error("%s: it cannot be written: %s", self.log.path, error)


def _refusal(error: Exception) -> RequestError:
    if isinstance(error, RequestError):
        return error
    logger.error("A request failed.", exc_info=error)
    return RequestError(500, BUG)


def _order_of(targets: Sequence[Any]) -> int:
    """Return 1 for many targets that rise, -1 for many that fall, and 0 for all others."""
    if len(targets) < _SORTED or not all(type(target) in (int, float) for target in targets):
        return 0
    rises, falls = (all(sign * (b - a) >= 0 for a, b in pairwise(targets)) for sign in (1, -1))
    return rises - falls if len(set(targets)) >= _DIFFERENT else 0


def id_text(row: Row, name: str) -> str | None:
    """Return a row's id as text for the log, if any; a RequestError for an unusable id."""
    id = row.get(name)
    if id is None:
        return None
    text = json.dumps(id)
    is_id = isinstance(id, (str, int)) and not isinstance(id, bool)
    if not is_id or id == "" or len(text) > _LONGEST_ID:
        what = f"must be text or a whole number, of 1 to {_LONGEST_ID} characters"
        raise RequestError(422, f"The {name} {what}, not {shown(id)}.", name)
    return text
