"""Models to serve: from a file and the log beside it, new ones, and those of an earlier time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from ..monitor import DriftMonitor
from ..persistence import open_file, save
from ..tables import Stream
from .learner import Learner
from .log import Log, LogError
from .options import ServeError, ServeOptions
from .service import Place, Service, Snapshot


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
    path: str | os.PathLike[str], position: int | None = None, at: float | None = None
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
    log = Log(log_path(path), read_only=True)
    try:
        if position is None:
            assert at is not None
            position = log.position_at(at)
            base = log.base(position, at)
        elif 0 <= position <= log.position:
            base = log.base(position)
        else:
            what = f"there is no position {position:,}; it ends at {log.position:,}"
            raise LogError(f"{log.path}: {what}.")
        refusal = f"This server shows the model as it was at position {position:,}"
        service = Service(path, f"{refusal}, and learns nothing.", Snapshot.from_bytes(base))
        for run in log.runs(service.position, position):
            service.replay(run)
    finally:
        log.close()
    service.snapshot_position = position
    service.publish()
    return service


def open_learner(path: str | os.PathLike[str], options: ServeOptions) -> tuple[Learner, list[str]]:
    """Open a model that learns, not started yet, and return notes for its owner.

    A file that was not served before becomes a snapshot at once, so that it and its log belong
    together from the first row on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greville.serve import ServeOptions, open_learner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = ServeOptions(target="flow")
    ...     learner, remarks = open_learner(Path(folder) / "flow.greville", options)
    ...     print(learner.target)
    ...     learner.close()
    flow
    """
    path = Path(path)
    snapshot = _snapshot(path, options)  # nothing is written if it cannot be served
    place, where = snapshot.place, log_path(path)
    if place is not None and not options.new_log and not where.exists():
        raise LogError(
            f"{where}: the log that {path} was served with is not there; put it back, or start a "
            f"new log, without rows that only the old one has (after position {place.position:,})."
        )
    log = Log(where, sync=options.sync)
    try:
        if place is not None and place.log == log.uid:
            if place.position <= log.position:
                return Learner(path, snapshot, log, options), []
            raise LogError(
                f"{where}: it ends at position {log.position:,}, before the snapshot {path} at "
                f"{place.position:,}; put back the log that belongs to it."
            )
        return _with_new_log(path, snapshot, log, options)
    except BaseException:
        log.close()
        raise


def _snapshot(path: Path, options: ServeOptions) -> Snapshot:
    """Return the snapshot to go on with: that of a file, or a new model."""
    id = options.id or "id"
    if path.exists():
        snapshot = Snapshot.of(open_file(path), options.id, options.follow)
    elif options.target is None:
        what = "there is no such file; name the field to predict to start a new model"
        raise ServeError(f"{path}: {what}.")
    elif options.target == id:
        raise ServeError(f"target={id!r}: this field identifies rows; name another one for ids.")
    else:
        stream = Stream(options.target, id, follow=options.follow, **options.settings)
        snapshot = Snapshot(stream)
    stream = snapshot.stream
    for name, value in options.given.items():
        was = getattr(stream.model.settings, name)
        if was != value:
            what = f"was made with {was!r}; leave it out, or name another file"
            raise ServeError(f"{name}={value!r}: {path} {what}.")
    if stream.follows and not options.follow:
        what = "mixes predictions with the last targets; leave it out, or name another file"
        raise ServeError(f"mix=False: {path} {what}.")
    if options.target not in (None, stream.model.target):
        raise ServeError(f"{path}: it learns {stream.model.target!r}, not {options.target!r}.")
    return snapshot


def _with_new_log(
    path: Path, snapshot: Snapshot, log: Log, options: ServeOptions
) -> tuple[Learner, list[str]]:
    """A model that goes on in a log of its own; rows that wait for their targets go there too."""
    if log.position:
        what = "put back the model that it belongs to, or move the log away"
        raise LogError(f"{log.path}: it does not belong to {path}; {what}.")
    (stream, old), remarks = snapshot, []
    if old is not None:
        what = "was served with another log, which is not here; the model lacks rows after position"
        remarks.append(f"{path} {what} {old.position:,}.")
    stream.monitor = stream.monitor or DriftMonitor()
    place = Place(log=log.uid, record=(old or Place()).record)
    with log.transaction():
        for id, (row, prediction) in stream.take_waiting().items():
            log.keep(json.dumps(id), row, prediction, time.time())
        save(stream, path, extra={"serve": place.model_dump(mode="json")})
        log.add_base(0, time.time(), path.read_bytes())
    return Learner(path, Snapshot(stream, place), log, options), remarks
