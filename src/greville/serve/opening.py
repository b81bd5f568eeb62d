"""Models to serve: from a file and the log beside it, new ones, and those of an earlier time."""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import ExitStack, closing
from pathlib import Path

from ..monitor import DriftMonitor
from ..persistence import open_file, save
from ..tables import Stream
from .learning_service import LearningService
from .log import Log, LogError
from .parameters import ServeError, ServeOptions
from .service import LogPlace, Service, Snapshot


def log_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model's log: beside the file, or beside the target of a link.

    Examples
    --------
    >>> from greville.serve import log_path
    >>> log_path("flow.greville").name
    'flow.greville.log'
    """
    return Path(os.path.realpath(path) + ".log")


def open_reader(path: str | os.PathLike[str], id: str | None = None) -> Service:
    """Open the present model of a file to answer only; this model learns nothing."""
    refusal = "This server is read-only; send rows to learn to the server that learns."
    return Service(path, refusal, Snapshot.of(open_file(Path(path)), id))


def open_earlier(
    path: str | os.PathLike[str], position: int | None = None, at: float = math.inf
) -> Service:
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
    with closing(Log(log_path(path), read_only=True)) as log:
        if position is None:
            position = log.position_at(at)
        if not 0 <= position <= log.position:
            what = f"there is no position {position:,}; it ends at {log.position:,}"
            raise LogError(f"{log.path}: {what}.")
        refusal = f"This server shows the model as it was at position {position:,}"
        snapshot = Snapshot.from_bytes(log.base(position, at))
        service = Service(path, f"{refusal}, and learns nothing.", snapshot)
        for run in log.runs(service.position, position):
            service.replay(run)
    service.snapshot_position = position
    service.publish()
    return service


def open_learning(
    path: str | os.PathLike[str], options: ServeOptions
) -> tuple[LearningService, list[str]]:
    """Open a model that learns, not started yet, and return notes for its owner.

    A file that was not served before becomes a snapshot at once, so that it and its log belong
    together from the first row on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greville.serve import ServeOptions, open_learning
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = ServeOptions(target="flow")
    ...     service, remarks = open_learning(Path(folder) / "flow.greville", options)
    ...     print(service.target)
    ...     service.close()
    flow
    """
    path = Path(path)
    snapshot = _snapshot(path, options)  # nothing is written if it cannot be served
    place, where = snapshot.place, log_path(path)
    if place.log and not options.new_log and not where.exists():
        raise LogError(
            f"{where}: the log that {path} was served with is not there; put it back, or start a "
            f"new log, without rows that only the old one has (after position {place.position:,})."
        )
    with ExitStack() as stack:
        log = Log(where, sync=options.sync)
        stack.callback(log.close)
        remarks: list[str] = []
        if place.log != log.uid:
            if log.position:
                what = "put back the model that it belongs to, or move the log away"
                raise LogError(f"{where}: it does not belong to {path}; {what}.")
            if place.log:
                what = "was served with another log, which is not here; the model lacks rows after"
                remarks.append(f"{path} {what} position {place.position:,}.")
            snapshot = _begin(path, snapshot, log)
        elif place.position > log.position:
            raise LogError(
                f"{where}: it ends at position {log.position:,}, before the snapshot {path} at "
                f"{place.position:,}; put back the log that belongs to it."
            )
        stack.pop_all()
        return LearningService(path, snapshot, log, options), remarks


def _snapshot(path: Path, options: ServeOptions) -> Snapshot:
    """Return the snapshot to go on with: that of a file, or a new model."""
    target, id = options.target, options.id or "id"
    if not path.exists():
        if target is None:
            what = "there is no such file; name the field to predict to start a new model"
            raise ServeError(f"{path}: {what}.")
        if target == id:
            what = "this field identifies rows; name another one for ids"
            raise ServeError(f"target={id!r}: {what}.")
        return Snapshot(Stream(target, id, follow=options.follow, **options.settings), LogPlace())
    snapshot = Snapshot.of(open_file(path), options.id, options.follow)
    stream = snapshot.stream
    for name, value in options.settings.items():
        was = getattr(stream.model.settings, name)
        if value != was and (name, value) != ("task", "numbers") and name != "device":
            what = f"was made with {was!r}; leave it out, or name another file"
            raise ServeError(f"{name}={value!r}: {path} {what}.")
    if stream.follows and not options.follow:
        what = "mixes predictions with the last targets; leave it out, or name another file"
        raise ServeError(f"mix=False: {path} {what}.")
    if target not in (None, stream.model.target):
        raise ServeError(f"{path}: it learns {stream.model.target!r}, not {target!r}.")
    return snapshot


def _begin(path: Path, snapshot: Snapshot, log: Log) -> Snapshot:
    """Begin a log with a model and the rows that wait for their targets."""
    stream, old = snapshot
    stream.monitor = stream.monitor or DriftMonitor()
    place = LogPlace(log=log.uid, record=old.record)
    with log.transaction():
        for id, waiting in stream.take_waiting().items():
            log.keep("row", json.dumps(id), waiting, time.time())
        save(stream, path, extra={"serve": place.model_dump(mode="json")})
        log.add_base(0, time.time(), path.read_bytes())
    return Snapshot(stream, place)
