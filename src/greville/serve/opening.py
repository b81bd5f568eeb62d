"""Models to serve: from a file and the log beside it, new ones, and those of an earlier time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from ..monitor import DriftMonitor
from ..persistence import open_file, save
from ..tables import Stream, TableModel
from .learner import Learner
from .log import Log, LogError
from .options import ServeError, ServeOptions
from .service import Place, Service, Snapshot


def log_path(path: str | os.PathLike[str]) -> Path:
    """Where the log of a model lies: beside it; of a link, beside what it points to.

    Examples
    --------
    >>> from greville.serve import log_path
    >>> log_path("flow.greville").name
    'flow.greville.log'
    """
    return Path(os.path.realpath(path) + ".log")


def open_reader(path: str | os.PathLike[str], id: str | None = None) -> Service:
    """The model of a file as it is now, which learns nothing."""
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
            raise LogError(
                f"{log.path}: there is no position {position:,}; it ends at {log.position:,}."
            )
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
    """A model that learns, not started yet; and what its owner should know.

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
    if snapshot.place is not None and not options.new_log and not log_path(path).exists():
        raise LogError(
            f"{log_path(path)}: the log that {path} was served with is not there; put it back, or "
            f"start a new log, without rows that only the old one has (those after position "
            f"{snapshot.place.position:,})."
        )
    log = Log(log_path(path), sync=options.sync)
    try:
        if snapshot.place is not None and snapshot.place.log == log.uid:
            _check_end(log, path, snapshot.place.position)
            return Learner(path, snapshot, log, options), []
        return _with_new_log(path, snapshot, log, options)
    except BaseException:
        log.close()
        raise


def _snapshot(path: Path, options: ServeOptions) -> Snapshot:
    """What to go on with: that of a file, or a new model."""
    id = options.id or "id"
    if path.exists():
        snapshot = Snapshot.of(open_file(path), options.id, options.follow)
    elif options.target is None:
        raise ServeError(
            f"{path}: there is no such file; name the field to predict to start a new model."
        )
    elif options.target == id:
        raise ServeError(
            f"target={options.target!r}: this field identifies rows; name another one for ids."
        )
    else:
        model = TableModel(options.target, **options.settings)
        snapshot = Snapshot(Stream(model, id, follow=options.follow))
    stream = snapshot.stream
    for name, value in options.given.items():
        if stream.model.settings[name] != value:
            raise ServeError(
                f"{name}={value!r}: {path} was made with {stream.model.settings[name]!r}; leave it "
                "out, or name another file."
            )
    if stream.follows and not options.follow:
        raise ServeError(
            f"mix=False: {path} mixes predictions with the last targets; leave it out, or name "
            "another file."
        )
    if options.target not in (None, stream.model.target):
        raise ServeError(f"{path}: it learns {stream.model.target!r}, not {options.target!r}.")
    return snapshot


def _check_end(log: Log, path: Path, position: int) -> None:
    if position > log.position:
        raise LogError(
            f"{log.path}: it ends at position {log.position:,}, before the snapshot {path} at "
            f"{position:,}; put back the log that belongs to it."
        )


def _with_new_log(
    path: Path, snapshot: Snapshot, log: Log, options: ServeOptions
) -> tuple[Learner, list[str]]:
    """A model that goes on in a log of its own; rows that wait for their targets go there too."""
    if log.position:
        raise LogError(
            f"{log.path}: it does not belong to {path}; put back the model that it belongs to, or "
            "move the log away."
        )
    (stream, old), remarks = snapshot, []
    if old is not None:
        remarks.append(
            f"{path} was served with another log, which is not here; rows that came after its last "
            f"snapshot (position {old.position:,}) are not in the model."
        )
    stream.monitor = stream.monitor or DriftMonitor()
    place = Place(log=log.uid, record=(old or Place()).record)
    with log.transaction():
        for id, (row, prediction) in stream.take_waiting().items():
            log.keep(json.dumps(id), row, prediction, time.time())
        save(stream, path, extra={"serve": place.model_dump(mode="json")})
        log.add_base(0, time.time(), path.read_bytes())
    return Learner(path, Snapshot(stream, place), log, options), remarks
