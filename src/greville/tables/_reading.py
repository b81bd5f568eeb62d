"""Files, folders, patterns and pipes as one sequence of batches."""

from __future__ import annotations

import glob
import queue
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ._batch import Batch, TableError, Troubles
from ._formats import read_source
from ._source import Reading, Source, is_known

# Batches that may be read before they are wanted.
_AHEAD = 2


def find_sources(names: Sequence[str]) -> list[Source]:
    """What the arguments of a command name: files, folders, patterns, or - for standard input."""
    sources: list[Source] = []
    for name in names:
        if name == "-":
            sources.append(Source(None))
            continue
        path = Path(name)
        try:
            if path.is_dir():
                found = sorted(
                    file for file in path.rglob("*") if file.is_file() and is_known(file)
                )
            elif path.exists():
                found = [path]
            else:
                found = sorted(map(Path, glob.glob(name, recursive=True)))
        except OSError as error:
            raise TableError(f"{name}: it cannot be read ({error.strerror}).") from error
        if not found:
            what = "a folder without any table in it" if path.is_dir() else "there is no such file"
            raise TableError(f"{name}: {what}; pass files, folders, patterns, or - for a pipe.")
        sources += [Source(file) for file in found]
    return sources


class Stopped(Exception):
    """Somebody has asked to stop while rows were waited for."""


def read(
    sources: Sequence[Source],
    reading: Reading,
    troubles: Troubles,
    columns: Sequence[str] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Generator[Batch, None, None]:
    """All batches of all sources; the next ones are read while these are worked on.

    Raises `Stopped` as soon as `stopped` says so. Close it when no more are wanted: then the thread
    that reads has ended.
    """
    over, main = threading.Event(), threading.main_thread()
    batches = _read(
        sources, reading, troubles.skip, columns, lambda: over.is_set() or not main.is_alive()
    )
    return _ahead(batches, stopped, over)


def _read(
    sources: Sequence[Source],
    reading: Reading,
    skip: bool,
    columns: Sequence[str] | None,
    over: Callable[[], bool],
) -> Generator[Batch, None, None]:
    for source in sources:
        some = False
        for batch in read_source(source, reading, skip, columns, over):
            some = True
            yield batch
        if not some:
            raise TableError(f"{source.name}: it has no rows; there is nothing to read.")


def _ahead(
    batches: Generator[Batch, None, None], stopped: Callable[[], bool], over: threading.Event
) -> Generator[Batch, None, None]:
    """The same from a thread of its own, which has ended when this has.

    It must never be there when the interpreter ends: a thread that then comes back from Arrow is
    ended in the middle of it, and the process with it. So it is no daemon; and if nobody closes
    this, it ends with the main thread.
    """
    ready: queue.Queue[Any] = queue.Queue(_AHEAD)
    main = threading.main_thread()

    def put(item: Any) -> None:
        while not over.is_set():
            try:
                ready.put(item, timeout=0.1)
                return
            except queue.Full:
                if not main.is_alive():
                    over.set()

    def work() -> None:
        with closing(batches):
            try:
                for batch in batches:
                    put((batch, None))
                    if over.is_set():
                        return
                put((None, None))
            except BaseException as error:
                put((None, error))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        while True:
            try:
                batch, error = ready.get(timeout=0.2)
            except queue.Empty:
                if stopped():
                    raise Stopped from None
                continue
            if error is not None:
                raise error
            if batch is None:
                return
            yield batch
    finally:
        over.set()
        thread.join()
