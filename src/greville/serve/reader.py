"""A model that is only read: as it is in a file, or as it was at an earlier position of its log."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self

from ..persistence import open_file
from ..tables import Answering, Stream
from .learning import Learning, News, Work
from .limits import Limits
from .log import LogError, LogReader
from .opening import log_part, log_path, stream_of
from .record import ErrorRecord
from .refusals import RequestError


class Reader:
    """What answers from a stream, and learns nothing; otherwise like an `Engine`.

    Parameters
    ----------
    path : path-like
        Where the model comes from.
    why : str
        What those are told who want it to learn.
    """

    n_waiting = n_queued = to_replay = forgotten = 0

    def __init__(self, path: str | os.PathLike[str], why: str) -> None:
        self.path, self._why = path, why
        self.published: Answering | None = None
        self.failure: str | None = None
        self.record, self.id, self.target = ErrorRecord(), "id", ""
        self.position = self.snapshot_position = 0
        self.snapshot_at = time.time()
        self.on_news: Callable[[News], None] = lambda news: None

    @classmethod
    def open(cls, path: str | os.PathLike[str], id: str | None = None) -> Self:
        """The model of a file, as it is now."""
        why = "This server is read-only; send rows to learn to the server that learns."
        reader = cls(path, why)
        reader.take(*opened_model(Path(path).read_bytes(), id))
        return reader

    @classmethod
    def open_at(
        cls, path: str | os.PathLike[str], position: int | None = None, at: float | None = None
    ) -> Self:
        """A served model as it was at a position of its log, or at a time; exactly.

        Parameters
        ----------
        path : path-like
            The file of the model; its log lies beside it.
        position : int, optional
        at : float, optional
            Seconds since 1970.

        Raises
        ------
        LogError
            If the log does not reach back that far, or ends before.
        """
        log = LogReader(log_path(path))
        try:
            if position is None:
                assert at is not None
                position = log.position_at(at)
            elif not 0 <= position <= log.position:
                raise LogError(
                    f"{log.path}: there is no position {position:,}; it ends at {log.position:,}."
                )
            _, content = log.base(position) if at is None else log.base(position, at)
            stream, known, record = opened_model(content, None)
            learning = Learning(stream, None, record, Limits())  # type: ignore[arg-type]
            for run in log.runs(known, position):
                learning.replay(run)
        finally:
            log.close()
        why = f"This server shows the model as it was at position {position:,}, and learns nothing."
        reader = cls(path, why)
        reader.take(learning.stream, position, record)
        return reader

    def take(self, stream: Stream, position: int, record: ErrorRecord) -> None:
        """Answer from this stream."""
        self.stream, self.record = stream, record
        self.id, self.target = stream.id or "id", stream.model.target
        self.position = self.snapshot_position = position
        self.published = stream.answering()

    @property
    def behind(self) -> int | None:
        """Entries of a leader's log that are not learned here; None without a leader."""
        return None

    @property
    def silence(self) -> float | None:
        """Seconds since a leader was heard."""
        return None

    @property
    def is_ready(self) -> bool:
        return self.published is not None and self.failure is None

    def answering(self) -> Answering:
        """What answers rows now."""
        if self.published is None:
            raise RequestError(503, "The model has not been loaded yet; try again soon.")
        return self.published

    def submit(self, work: Work) -> Future[Any]:
        """Give a copy; nothing can be learned here."""
        if work.action != "copy":
            raise RequestError(403, self._why)
        work.done.set_result((self.stream.copy(), None, self.position))
        return work.done

    def start(self) -> None:
        """Nothing has to run."""

    def close(self) -> None:
        """Nothing has to end."""


def opened_model(content: bytes, id: str | None) -> tuple[Stream, int, ErrorRecord]:
    """The stream of a model file, the position of its log, and its errors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.greville"
        path.write_bytes(content)
        file = open_file(path)
    known = log_part(file.extra) or {"position": 0, "record": None}
    return stream_of(file, id), known["position"], ErrorRecord.from_dict(known["record"])
