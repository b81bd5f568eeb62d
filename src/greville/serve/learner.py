"""A served model that learns: one thread does what requests ask for, and keeps a log of it."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..persistence import ModelFileError, save
from ..tables import RowErrors, Stream, TableError
from .board import Outcome
from .bodies import shown
from .log import LOG_ERRORS, Log, Row
from .options import ServeOptions
from .refusals import BUG, RequestError, naming_row, unusable
from .service import Service, Snapshot

logger = logging.getLogger("greville.serve")

# Rows of requests that share one transaction, if so many are there.
_ROWS_AT_ONCE = 2048

# Seconds between two looks at what is due while nothing comes, and between two clean-ups.
_IDLE, _CLEAN_UP = 1.0, 60.0

_LONGEST_ID = 200  # characters

# Where tables say that an error is; a request has its own rows.
_WHERE = re.compile(r"standard input, row ([\d,]+)(?: to standard input, row [\d,]+)?: ", re.I)

# Steps in one direction, without one in the other, after which targets are taken to be sorted.
_STEPS_OF_SORTED = 100

_SORTED = (
    "The last {:,} targets are in ascending or descending order. If rows are sorted by their "
    "target and not by time, predictions that follow the last target are wrong: shuffle them, or "
    "start the server with --no-mix."
)


class TargetOrder:
    """A check for sorted targets, which warns once for each sorted run."""

    def __init__(self) -> None:
        self.n = self._steps = self._direction = 0
        self._last: float | None = None

    def add(self, targets: Sequence[Any]) -> bool:
        """Add a number; return whether the sorted run is now long enough for a warning."""
        is_long = False
        for target in targets:
            is_number = isinstance(target, (int, float)) and not isinstance(target, bool)
            last, self._last = self._last, target if is_number else None
            step = 0 if last is None or not is_number else (target > last) - (target < last)
            if not is_number or step * self._direction < 0:
                self.n, self._steps, self._direction = int(is_number), 0, 0
            self.n += is_number
            self._steps, self._direction = self._steps + abs(step), step or self._direction
            is_long = is_long or (step != 0 and self._steps == _STEPS_OF_SORTED)
        return is_long


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
    given: Any = None


class Learner(Service):
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

    def __init__(
        self, path: str | os.PathLike[str], snapshot: Snapshot, log: Log, options: ServeOptions
    ) -> None:
        super().__init__(Path(path))
        self.load(snapshot)
        self.log, self._options, self.log_uid = log, options, log.uid
        self.snapshot_at = os.path.getmtime(path)
        self.snapshot_failed = False  # the last one
        self._order = TargetOrder()
        self._changed_rows: list[tuple[str, list[Row]]] = []  # of this group of requests
        self._outcomes: list[Outcome] = []
        self._is_half_done = False  # rows were learned of a request that is not done
        self._queue: deque[Work] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._cleaned_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"writer of {path}", daemon=True)

    # For those who ask, in any thread

    @property
    def n_waiting(self) -> int:
        return self.log.n_waiting

    @property
    def to_replay(self) -> int:
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
            while True:
                group = self._next_group()
                if group:
                    self._do(group)
                elif self._closing:
                    break
                self._do_what_is_due()
            if self.position > self.snapshot_position:
                self.save()
            self.clean_up()
        except Exception as error:
            logger.exception("The writer of %s has stopped.", self.path)
            self.fail(str(error))
        finally:
            self.log.close()

    def fail(self, reason: str) -> None:
        """Refuse all further requests, after an error."""
        with self._changed:
            self.failure = f"The model is not served any more: {reason}"
            works, self._queue = list(self._queue), deque()
        for work in works:
            work.done.set_exception(RequestError(503, self.failure))

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
        base, now = self.stream.copy(), time.time()
        self._changed_rows, self._outcomes = [], []
        try:
            with self.log.transaction():
                answers = [self._answer(work, base, now) for work in group]
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

    def _answer(self, work: Work, base: Stream, now: float) -> Any:
        """Return the answer to a finished request, or the exception that undid all of it."""
        self._is_half_done = False
        try:
            with self.log.transaction():
                return self._act(work, now)
        except LOG_ERRORS:
            raise
        except Exception as error:
            if self._is_half_done:
                self._restore(base)
            if isinstance(error, RequestError):
                return error
            logger.error("A request failed.", exc_info=error)
            return RequestError(500, BUG)

    def _restore(self, base: Stream) -> None:
        """Restore an earlier stream, and repeat all later requests except the last."""
        self.stream = base.copy()
        for action, rows in self._changed_rows:
            if action == "learn":
                self.stream.relearn(rows, [k > 0 for k in range(len(rows))])
            else:
                self.stream.unlearn(rows)

    # What requests ask for

    def _act(self, work: Work, now: float) -> Any:
        if work.action == "keep":
            for row, prediction in zip(work.rows, work.predictions, strict=True):
                self._keep(row, prediction, now)
            return {}
        known = None if work.key is None else self.log.answer_to(work.key)
        if known is not None:
            if known[0] == work.digest:
                return known[1]
            what = "The Idempotency-Key was used for another request; make a new one for each."
            raise RequestError(422, what, "Idempotency-Key")
        answer = (self._learn if work.action == "learn" else self._unlearn)(work.rows, now)
        if work.key is not None:
            self.log.remember(work.key, work.digest, answer, now)
        return answer

    def _keep(self, row: Row, prediction: Any, now: float) -> None:
        id = id_text(row, self.id)
        if id is None or self.log.learned(id) is not None:
            return  # its target has come already
        most = self._options.limits.waiting
        if self.log.n_waiting >= most and self.log.kept(id) is None:
            raise RequestError(429, f"{most:,} rows wait for their targets; send some.", self.id)
        self.log.keep(id, row, prediction, now)

    def _learn(self, rows: list[Row], now: float) -> dict[str, Any]:
        entries: list[Entry] = []
        request = self.log.position + 1
        for k, row in enumerate(rows):
            with naming_row(rows, k):
                entry = self._entry(k, row)
            if entry is not None:
                entries.append(entry)
                self.log.append("learn", request, entry.id, entry.row, now, entry.given)
        outcomes = self._learn_entries(entries, rows) if entries else []
        n, position = len(entries), self.log.position
        answer: dict[str, Any] = {"learned": n, "repeated": len(rows) - n, "position": position}
        is_sorted = self._order.add([entry.row[self.target] for entry in entries])
        if is_sorted and self.stream.follows and self.stream.model.task != "classification":
            answer["warning"] = _SORTED.format(self._order.n)
            logger.warning("%s", answer["warning"])
        self._outcomes += outcomes
        self._changed_rows.append(("learn", [entry.row for entry in entries]))
        return answer

    def _entry(self, number: int, row: Row) -> Entry | None:
        """Return the whole row to learn; None if this row was learned before."""
        target, id = self._target_of(row), id_text(row, self.id)
        if id is None:
            return Entry(number, None, row)
        known = self.log.learned(id)
        if known is not None:
            if known[self.target] == target:
                return None
            what = f"was learned with the target {shown(known[self.target])}; unlearn it first"
            raise self._wrong_id(row, what, 409)
        kept = self.log.kept(id)
        if kept is not None:
            self.log.drop_kept(id)
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
            reason = stream.row_error(entry.row) if len(entries) == 1 else None
            reason = reason or stream.no_number(entry.row)
            if reason is not None:
                with naming_row(rows, entry.number):
                    raise unusable(reason, entry.row)
        self._is_half_done = True
        whole = [entry.row for entry in entries]
        answers = stream.answer(whole, stream.lines + 1, RowErrors(skip=True), together=True)
        for entry, answer in zip(entries, answers, strict=True):
            if "error" in answer:
                with naming_row(rows, entry.number):
                    raise unusable(answer["error"], entry.row)
        if stream.n_without_target > without_target:  # as with "nan", or a blank
            what = f"The target {shown(self.target)} of a row is missing; leave such rows out."
            raise RequestError(422, what, self.target)
        return self.outcomes(whole, answers, [entry.given for entry in entries])

    def _unlearn(self, rows: list[Row], now: float) -> dict[str, Any]:
        whole: list[Row] = []
        request = self.log.position + 1
        for k, row in enumerate(rows):
            with naming_row(rows, k):
                id = id_text(row, self.id)
                known = None if id is None else self.log.learned(id)
                if id is None:
                    self._target_of(row)
                elif known is None:
                    raise self._wrong_id(row, "was not learned, or is unlearned already")
            whole.append(known or row)
            self.log.append("unlearn", request, id, whole[-1], now)
        try:
            self.stream.unlearn(whole)
        except TableError as error:
            where = r"Row \1: " if len(rows) > 1 else ""
            fields = {name: None for row in whole for name in row}
            raise unusable(_WHERE.sub(where, error.message), fields) from error
        self._changed_rows.append(("unlearn", whole))
        return {"unlearned": len(whole), "position": self.log.position}

    # Snapshots

    def _do_what_is_due(self) -> None:
        new, age = self.position - self.snapshot_position, time.time() - self.snapshot_at
        are_many = new >= self._options.every and not self.snapshot_failed
        if new and (are_many or age >= self._options.every_seconds):
            self.save()
        if time.monotonic() - self._cleaned_at >= _CLEAN_UP:
            self._cleaned_at = time.monotonic()
            self.clean_up()

    def save(self) -> None:
        """Try to write a snapshot; a failure is logged, and the log still has all rows."""
        stream, extra = self.copy()
        try:
            save(stream, self.path, extra=extra)
            self.snapshot_position, self.snapshot_failed = self.position, False
        except Exception as error:
            is_bug = not isinstance(error, (OSError, ModelFileError))
            text = "%s; the log has all that was learned."
            logger.error(text, str(error).rstrip("."), exc_info=is_bug)
            self.snapshot_failed = True
        self.snapshot_at = time.time()

    def clean_up(self) -> None:
        """Drop old rows and keys, and erase unlearned rows from the log."""
        now, keep_log = time.time(), self._options.keep_log
        try:
            with self.log.transaction():
                self.forgotten += self.log.forget(now - self._options.keep)
                erased = self.log.erase_unlearned(self.snapshot_position)
                if erased:
                    self.log.drop_bases()  # they have learned those rows
                old = keep_log is not None and now - self.log.last_base_at() > keep_log / 2
                if erased or (old and not self.snapshot_failed):
                    content = self.path.read_bytes()
                    self.log.add_base(self.snapshot_position, self.snapshot_at, content)
                if keep_log is not None:
                    self.log.trim(now - keep_log)
        except (OSError, *LOG_ERRORS) as error:
            logger.error("%s: it cannot be written: %s", self.log.path, error)


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
