"""One served model: a thread that learns in the order of a log, and a snapshot that answers."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ..persistence import ModelFileError, save
from ..tables import Answering, Stream
from .learning import Learning, News, Outcome, Row, Work
from .limits import ServeOptions
from .log import LOG_ERRORS, Log
from .record import ErrorRecord
from .refusals import BUG, RequestError

logger = logging.getLogger("greville.serve")

# Rows of requests that share one transaction, if so many are there.
_ROWS_AT_ONCE = 2048

# Seconds between two looks at what is due while nothing comes, and between two clean-ups.
_IDLE, _CLEAN_UP = 1.0, 60.0


class Engine:
    """One model, its log, and a thread that learns.

    Parameters
    ----------
    stream : Stream
        What was learned until `position`; it has the name of the field of ids.
    path : path-like
        The file of the model, in which snapshots are written.
    log : Log
    options : ServeOptions
    position : int
        What stands in the log behind it is learned first.
    record : ErrorRecord
        The errors until then.
    """

    def __init__(
        self,
        stream: Stream,
        path: str | os.PathLike[str],
        log: Log,
        options: ServeOptions,
        position: int = 0,
        record: ErrorRecord | None = None,
    ) -> None:
        self.path, self._log, self._options = Path(path), log, options
        self._learning = Learning(stream, log, record or ErrorRecord(), options.limits)
        self.position = position  # that was learned
        self.snapshot_position, self.snapshot_at = position, os.path.getmtime(path)
        self.snapshot_failed = False  # the last one
        self.forgotten = 0  # rows whose target never came
        self.published: Answering | None = None  # once the log has been replayed
        self.failure: str | None = None
        self.on_news: Callable[[News], None] = lambda news: None
        self._queue: deque[Work] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._saver: threading.Thread | None = None
        self._cleaned_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"writer of {path}", daemon=True)

    # For those who ask, in any thread

    behind: int | None = None  # a leader, which only a replica has
    silence: float | None = None

    @property
    def id(self) -> str:
        return self._learning.id

    @property
    def target(self) -> str:
        return self._learning.target

    @property
    def record(self) -> ErrorRecord:
        return self._learning.record

    @property
    def log_path(self) -> Path:
        return self._log.path

    @property
    def log_uid(self) -> str:
        return self._log.uid

    @property
    def n_waiting(self) -> int:
        return self._log.n_waiting

    @property
    def n_queued(self) -> int:
        return len(self._queue)

    @property
    def is_ready(self) -> bool:
        return self.published is not None and self.failure is None

    @property
    def to_replay(self) -> int:
        """Entries of the log that are still to be learned at the start."""
        return 0 if self.published is not None else self._log.position - self.position

    def answering(self) -> Answering:
        """What answers rows now."""
        if self.failure is not None:
            raise RequestError(503, self.failure)
        if self.published is None:
            n = self.to_replay
            what = f"The log is being replayed, {n:,} rows are left" if n else "The server starts"
            raise RequestError(503, f"{what}; try again soon.")
        return self.published

    def start(self) -> None:
        """Replay the log, and then learn what comes."""
        self._thread.start()

    def submit(self, work: Work) -> Future[Any]:
        """Have the writer do something. The answer comes when it is on the disk."""
        self.answering()
        with self._changed:
            if self.failure is not None:
                raise RequestError(503, self.failure)
            if self._closing:
                raise RequestError(503, "The server is stopping; try again later.")
            if len(self._queue) >= self._options.limits.requests:
                raise RequestError(
                    429, f"{len(self._queue):,} requests wait for the disk; try again later."
                )
            self._queue.append(work)
            self._changed.notify()
        return work.done

    def close(self) -> None:
        """Finish what is there, write a snapshot and close the log."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.ident is None:  # it was never started
            self._log.close()
        else:
            self._thread.join()

    # The writer

    def _run(self) -> None:
        try:
            for run in self._log.runs(self.position):
                self._learning.replay(run)
                self.position = run.position
                if self._closing:
                    return
            self._publish()
            while True:
                group = self._next_group()
                if group:
                    self._do(group)
                elif self._closing:
                    break
                self._do_what_is_due()
            self._save_and_wait()
        except Exception as error:
            logger.exception("The writer of %s has stopped.", self.path)
            self._fail(str(error))
        finally:
            self._log.close()

    def _fail(self, reason: str) -> None:
        """Answer nothing any more."""
        with self._changed:
            self.failure = f"The model is not served any more: {reason}"
            works, self._queue = list(self._queue), deque()
        for work in works:
            work.done.set_exception(RequestError(503, self.failure))

    def _next_group(self) -> list[Work]:
        """Requests that are there, in order; none when there may be something else to do."""
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
        """Do what requests ask for, have it on the disk, publish it, and only then answer."""
        base, before = self._learning.stream.copy(), self._log.position
        try:
            answers, outcomes = self._try(group, base)
            if self._log.position > before:
                self.position = self._log.position
                self._look_at(outcomes)
                self._publish()
            for work, answer in zip(group, answers, strict=True):
                if isinstance(answer, Exception):
                    work.done.set_exception(answer)
                else:
                    work.done.set_result(self._to_save() if work.action == "copy" else answer)
        except BaseException:
            for work in group:
                if not work.done.done():
                    work.done.set_exception(_mistake(None))
            raise

    def _look_at(self, outcomes: Sequence[Outcome]) -> None:
        """Count errors and alarms. What goes wrong here loses nothing that was learned."""
        try:
            self.on_news(self._learning.see(outcomes))
        except Exception:
            logger.exception("Errors of predictions were not counted.")

    def _try(self, group: list[Work], base: Stream) -> tuple[Sequence[Any], list[Outcome]]:
        """The answers, or exceptions, once they are on the disk; and outcomes."""
        answers: list[Any] = []
        outcomes: list[Outcome] = []
        changed: list[tuple[Work, list[Row]]] = []
        now = time.time()
        try:
            self._log.begin()
            for work in group:
                if work.action == "copy":
                    answers.append(None)
                    continue
                self._log.begin_part()
                try:
                    done = self._learning.act(work, now)
                except LOG_ERRORS:
                    raise
                except Exception as error:
                    self._log.take_back_part()
                    if self._learning.is_half_done:
                        self._learning.restore(base, changed)
                    answers.append(error if isinstance(error, RequestError) else _mistake(error))
                else:
                    self._log.end_part()
                    changed.append((work, done.rows))
                    answers.append(done.answer)
                    outcomes += done.outcomes
            self._log.commit()
        except LOG_ERRORS as error:
            logger.error("%s: it cannot be written: %s", self._log.path, error)
            self._log.rollback()
            self._learning.stream = base
            what = "The log cannot be written; nothing of this was learned. Try again later."
            return [RequestError(503, what) for _ in group], []
        return answers, outcomes

    def _publish(self) -> None:
        """Have all further answers come from what was learned and is on the disk."""
        self.published = self._learning.stream.answering()

    # Snapshots

    def _do_what_is_due(self) -> None:
        new, age = self.position - self.snapshot_position, time.time() - self.snapshot_at
        due = age >= self._options.every_seconds or (
            new >= self._options.every and not self.snapshot_failed
        )
        if new and due and (self._saver is None or not self._saver.is_alive()):
            self._saver = threading.Thread(target=self._save, args=self._to_save(), daemon=True)
            self._saver.start()
        if time.monotonic() - self._cleaned_at >= _CLEAN_UP:
            self._cleaned_at = time.monotonic()
            self._clean_up()

    def _to_save(self) -> tuple[Stream, dict[str, Any], int]:
        extra = snapshot_extra(self._log.uid, self.position, self.record)
        return self._learning.stream.copy(), extra, self.position

    def _save(self, stream: Stream, extra: dict[str, Any], position: int) -> None:
        try:
            save(stream, self.path, extra=extra)
            self.snapshot_position, self.snapshot_failed = position, False
        except (OSError, ModelFileError) as error:
            logger.error("%s; the log has all that was learned.", str(error).rstrip("."))
            self.snapshot_failed = True
        except Exception:
            logger.exception("A snapshot could not be written; the log has all that was learned.")
            self.snapshot_failed = True
        self.snapshot_at = time.time()

    def _save_and_wait(self) -> None:
        if self._saver is not None:
            self._saver.join()
        if self.position > self.snapshot_position:
            self._save(*self._to_save())
        self._clean_up()

    def _clean_up(self) -> None:
        """Forget what is old, and erase from the log what was unlearned."""
        if self._saver is not None and self._saver.is_alive():
            return  # the file and its position are not known to be those of each other
        now, keep_log = time.time(), self._options.keep_log
        try:
            self._log.begin()
            self.forgotten += self._log.forget(now - self._options.keep)
            erased = self._log.erase_unlearned(self.snapshot_position)
            if erased:
                self._log.drop_bases()  # they have learned those rows
            old = keep_log is not None and now - self._log.last_base_at() > keep_log / 2
            if erased or (old and not self.snapshot_failed):
                content = self.path.read_bytes()
                self._log.add_base(self.snapshot_position, self.snapshot_at, content)
            if keep_log is not None:
                self._log.trim(now - keep_log)
            self._log.commit()
        except (OSError, *LOG_ERRORS) as error:
            logger.error("%s: it cannot be written: %s", self._log.path, error)
            self._log.rollback()


def snapshot_extra(uid: str, position: int, record: ErrorRecord) -> dict[str, Any]:
    """What stands beside the stream in a snapshot: which log it belongs to, and where it is."""
    return {"serve": {"log": uid, "position": position, "record": record.as_dict()}}


def _mistake(error: Exception | None) -> RequestError:
    if error is not None:
        logger.error("A request failed.", exc_info=error)
    return RequestError(500, BUG)
