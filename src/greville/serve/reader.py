"""A model that is only read: from a file, which is loaded again when it changes."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ..persistence import ModelFileError, open_file
from ..tables import Answering
from .learning import News, Work
from .opening import ServeError, stream_of
from .record import ErrorRecord
from .refusals import RequestError

logger = logging.getLogger("greville.serve")


class Reader:
    """What answers from a model file, and learns nothing; otherwise like an `Engine`.

    Parameters
    ----------
    path : path-like
    id : str, optional
        The field that names rows.
    follow : bool
        Whether to load the file again when it changes, as when a snapshot is written.
    every_seconds : float
        How often to look.
    """

    n_waiting = n_queued = to_replay = forgotten = 0

    def __init__(
        self,
        path: str | os.PathLike[str],
        id: str | None = None,
        *,
        follow: bool = False,
        every_seconds: float = 1.0,
    ) -> None:
        self.path, self.record, self._wanted_id = Path(path), ErrorRecord(), id
        self._follow, self._every = follow, every_seconds
        self.published: Answering | None = None
        self.failure: str | None = None
        self.position = self.snapshot_position = 0
        self.snapshot_at = 0.0
        self.id, self.target = id or "id", ""
        self.on_news: Callable[[News], None] = lambda news: None
        self._seen: tuple[int, int, int] | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"reader of {path}", daemon=True)
        self._load()

    def answering(self) -> Answering:
        """What answers rows now."""
        assert self.published is not None
        return self.published

    @property
    def is_ready(self) -> bool:
        return self.failure is None

    def submit(self, work: Work) -> Future[Any]:
        """Nothing can be learned here."""
        if work.action == "copy":
            work.done.set_result(self._stream.copy())
            return work.done
        raise RequestError(
            403, "This server is read-only; send rows to learn to the server that learns."
        )

    def start(self) -> None:
        if self._follow:
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            try:
                if self._identity() != self._seen:
                    self._load()
                    self.failure = None
            except (OSError, ModelFileError, ServeError) as error:
                if self.failure is None:  # once, until it is well again
                    logger.error("%s was not loaded again: %s", self.path, error)
                self.failure = str(error)
            except Exception as error:
                logger.exception("%s was not loaded again.", self.path)
                self.failure = str(error)

    def _identity(self) -> tuple[int, int, int]:
        """What differs once another file has taken this one's place."""
        found = os.stat(self.path)
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _load(self) -> None:
        seen = self._identity()
        file = open_file(self.path)
        stream = stream_of(file, self._wanted_id)
        serve = (file.extra or {}).get("serve") or {}
        position = serve.get("position", 0)
        self.position = self.snapshot_position = position if isinstance(position, int) else 0
        self.record = ErrorRecord.from_dict(serve.get("record"))
        self.id, self.target = stream.id or "id", stream.model.target
        self._stream, self.published = stream, stream.answering()
        self._seen, self.snapshot_at = seen, time.time()
