"""A served model: what answers now, what was learned, and what its page shows."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from ..persistence import ModelFile, open_file, save
from ..tables import Answering, Stream, TableModel
from .board import Board, ErrorRecord, Outcome
from .bodies import RequestError
from .log import Row, Run
from .parameters import ServeError

logger = logging.getLogger("greville.serve")


class LogPlace(BaseModel):
    """The place in a log that a snapshot of a stream belongs to."""

    log: str = ""  # none yet
    position: int = 0
    record: ErrorRecord = ErrorRecord()


class Snapshot(NamedTuple):
    """A stream, and its place in a log."""

    stream: Stream
    place: LogPlace

    @classmethod
    def of(cls, file: ModelFile, id: str | None = None, follow: bool = True) -> Snapshot:
        """Take the snapshot in a model file; a new stream goes on with a model."""
        stream = _stream_of(file, id, follow)
        try:
            place = LogPlace.model_validate((file.extra or {})["serve"])
        except (KeyError, ValidationError):
            n_alarms = len(stream.monitor.alarms_) if stream.monitor else 0
            place = LogPlace(record=ErrorRecord(n_alarms=n_alarms))
        return cls(stream, place)

    @classmethod
    def from_bytes(cls, content: bytes) -> Snapshot:
        """Take the snapshot in the content of a model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.greville"
            path.write_bytes(content)
            return cls.of(open_file(path))


def _stream_of(file: ModelFile, id: str | None, follow: bool) -> Stream:
    stream = file.model
    if isinstance(stream, TableModel):
        stream = Stream(stream, follow=follow)
    if not isinstance(stream, Stream):
        what = f"it holds a {type(stream).__name__}; a model of greville train or stream is needed"
        raise ServeError(f"{file.path}: {what}.")
    if stream.id is not None and id not in (None, stream.id):
        raise ServeError(f"{file.path}: its rows are named by {stream.id!r}, not by {id!r}.")
    stream.name_ids(stream.id or id or "id")
    model = stream.model
    if stream.id == model.target:
        raise ServeError(f"{file.path}: it predicts {stream.id!r}, which cannot identify rows too.")
    if model.has_schema and stream.id in model.schema.names:
        what = f"it learns from a column {stream.id!r}; choose another name for the field of ids"
        raise ServeError(f"{file.path}: {what}.")
    return stream


class Service:
    """A model that answers, and learns nothing by itself.

    Parameters
    ----------
    path : str or path-like
        Where the model comes from.
    refusal : str
        What those are told who want it to learn.
    snapshot : Snapshot, optional
        What it answers from, at once; without it, once `load` was called.
    """

    name, id, target = "", "id", ""
    n_waiting = 0  # rows that wait for their targets
    to_replay = 0  # entries of the log that are still to be learned at the start
    forgotten = 0  # rows whose targets did not come in time
    behind: int | None = None  # entries of a leader's log that are not learned here
    silence: float | None = None  # seconds since a leader was heard
    failure: str | None = None  # why it answers no more

    def __init__(self, path: Any, refusal: str = "", snapshot: Snapshot | None = None) -> None:
        self.path, self._refusal = path, refusal
        self.published: Answering | None = None
        self.lock = threading.RLock()  # of the stream
        self.board, self.log_uid = Board(ErrorRecord()), ""
        self.position = self.snapshot_position = 0
        self.snapshot_at = time.time()
        if snapshot is not None:
            self.load(snapshot)
            self.publish()

    def load(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot."""
        with self.lock:
            self.stream, place = snapshot
            self.stream.source = "the request"
            self.id, self.target = self.stream.id or "id", self.stream.model.target
            self.log_uid, self.position, self.board.record = place.log, place.position, place.record
            self.snapshot_position = place.position

    def publish(self) -> None:
        """Publish the learned rows: all further answers use them."""
        self.published = self.stream.answering()

    @property
    def n_rows(self) -> int:
        """Number of rows that the answering model has learned."""
        return 0 if self.published is None else int(self.published.model.n_rows)

    def answering(self) -> Answering:
        """Return the model that answers rows now."""
        if self.failure is not None:
            raise RequestError(503, self.failure)
        if self.published is None:
            left = f"{self.to_replay:,} rows of the log are left"
            raise RequestError(503, f"The model is not loaded yet, {left}; try again soon.")
        return self.published

    def copy(self) -> tuple[Stream, dict[str, Any]]:
        """Return a copy of the stream, and the other content of its file."""
        with self.lock:
            place = LogPlace(log=self.log_uid, position=self.position, record=self.board.record)
            return self.stream.copy(), {"serve": place.model_dump(mode="json")}

    def file(self, with_place: bool) -> bytes:
        """The content of a model file, for others to load or, with its place, to follow."""
        stream, extra = self.copy()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.greville"
            save(stream, path, extra=extra if with_place else None)
            return path.read_bytes()

    def relearn(self, run: Run) -> list[Outcome]:
        """Learn, or unlearn, the rows of log entries; return them with their predictions."""
        if run.action == "unlearn":
            self.stream.unlearn(run.rows)
            return []
        answers = self.stream.relearn(run.rows, run.together)
        for row, answer in zip(run.rows, answers, strict=True):
            if "error" in answer:
                logger.warning("%s: a row of the log: %s", answer["error"], row)
        return self.outcomes(run.rows, answers, run.predictions)

    def replay(self, run: Run) -> None:
        """Go on with log entries."""
        with self.lock:
            self.count(self.relearn(run))
            self.position = run.position

    def outcomes(
        self, rows: Sequence[Row], answers: Sequence[Any], predictions: Sequence[Any]
    ) -> list[Outcome]:
        """Rows that were learned, with what was predicted for them at first."""
        return [
            Outcome(row, answer.get("prediction") if early is None else early, row[self.target])
            for row, answer, early in zip(rows, answers, predictions, strict=True)
        ]

    def count(self, outcomes: Sequence[Outcome]) -> None:
        """Count errors and drift alarms; an exception here loses no learned row."""
        record, monitor = self.board.record, self.stream.monitor
        try:
            self.board.add_outcomes(outcomes, self.stream.model.task != "classification")
            if monitor is not None:
                # It counts the errors it has seen; the last of them are those of these rows.
                for k in monitor.alarms_[record.n_alarms :]:
                    record.add_alarm(max(1, record.n - (monitor.n_seen_ - 1 - k)), time.time())
        except Exception:
            logger.exception("Errors of predictions were not counted.")

    def importance(self) -> dict[str, float]:
        """How far predictions move with each column, at the last rows that were learned."""
        rows = self.board.learned_rows()
        return self.answering().importance(rows) if rows else {}

    def most_changed(self) -> dict[str, Any] | None:
        """The column that has changed most since the last drift alarm, if that is known."""
        with self.lock:
            changed = self.stream.most_changed()
        return changed and dict(zip(("column", "before", "now"), changed, strict=True))

    def state(self) -> dict[str, Any]:
        """Return what the page shows of the model now."""
        model = None if self.published is None else self.published.model
        is_classes = model is not None and model.task == "classification"
        record = self.board.record
        return {
            "rows": self.n_rows,
            "waiting": self.n_waiting,
            "forgotten": self.forgotten,
            "behind": self.behind,
            "error": {
                "name": "share wrong" if is_classes else "mean absolute error",
                "now": record.now,
                "since_start": record.since_start,
                "n": record.n,
            },
            **self.board.state(self.id, self.target),
        }

    def leader(self) -> dict[str, Any] | None:
        """Return the leader that a replica follows, and the replica's lag; None without one."""
        return None

    def start(self) -> None:
        """Start the learning thread, if this service learns."""

    def close(self) -> None:
        """Stop learning, if this service learns."""

    def submit(self, work: Any) -> Any:
        """Raise a RequestError: this service does not learn."""
        raise RequestError(403, self._refusal)
