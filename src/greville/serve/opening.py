"""Models to serve: from a file and the log beside it, or new ones."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ..monitor import DriftMonitor
from ..persistence import ModelFile, open_file, save
from ..tables import Stream, TableModel
from .engine import Engine, snapshot_extra
from .limits import ServeOptions
from .log import Log, LogError
from .record import ErrorRecord


class ServeError(ValueError):
    """A model that cannot be served as it was asked for.

    Examples
    --------
    >>> from greville.serve import Address, ServeError
    >>> try:
    ...     Address(host="0.0.0.0").check()
    ... except ServeError:
    ...     print("others could use it: it needs a token")
    others could use it: it needs a token
    """


def log_path(path: str | os.PathLike[str]) -> Path:
    """Where the log of a model lies: beside it; of a link, beside what it points to.

    Examples
    --------
    >>> from greville.serve import log_path
    >>> log_path("flow.greville").name
    'flow.greville.log'
    """
    return Path(os.path.realpath(path) + ".log")


def open_engine(path: str | os.PathLike[str], options: ServeOptions) -> tuple[Engine, list[str]]:
    """The engine of a model, not started yet; and what its owner should know.

    A file that was not served before becomes a snapshot at once, so that it and its log belong
    together from the first row on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from greville.serve import ServeOptions, open_engine
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = ServeOptions(target="flow")
    ...     engine, remarks = open_engine(Path(folder) / "flow.greville", options)
    ...     print(engine.target)
    ...     engine.close()
    flow
    """
    path = Path(path)
    stream, found = _stream_and_log(path, options)  # nothing is written if it cannot be served
    if found is not None and not options.new_log and not log_path(path).exists():
        raise LogError(
            f"{log_path(path)}: the log that {path} was served with is not there; put it back, or "
            f"start a new log, without rows that only the old one has (those after position "
            f"{found['position']:,})."
        )
    log = Log(log_path(path), sync=options.sync)
    try:
        return _opened(path, stream, found, log, options)
    except BaseException:
        log.close()
        raise


def _stream_and_log(path: Path, options: ServeOptions) -> tuple[Stream, dict[str, Any] | None]:
    """The stream to go on with, and what its file says about a log."""
    if path.exists():
        file = open_file(path)
        stream = stream_of(file, options.id, options.follow)
        found = log_part(file.extra)
    elif options.target is None:
        raise ServeError(
            f"{path}: there is no such file; name the field to predict to start a new model."
        )
    else:
        if options.target == (options.id or "id"):
            raise ServeError(
                f"target={options.target!r}: this field identifies rows; name another one for ids."
            )
        model = TableModel(options.target, **options.settings)
        stream, found = Stream(model, options.id or "id", follow=options.follow), None
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
    return stream, found


def _opened(
    path: Path, stream: Stream, found: dict[str, Any] | None, log: Log, options: ServeOptions
) -> tuple[Engine, list[str]]:
    said: list[str] = []
    if found is not None and found["log"] == log.uid:
        position, record = found["position"], ErrorRecord.from_dict(found["record"])
        if position > log.position:
            raise LogError(
                f"{log.path}: it ends at position {log.position:,}, before the snapshot "
                f"{path} at {position:,}; put back the log that belongs to it."
            )
        return Engine(stream, path, log, options, position, record), said
    if log.position:
        raise LogError(
            f"{log.path}: it does not belong to {path}; put back the model that it belongs to, or "
            "move the log away."
        )
    record = ErrorRecord()
    if found is not None:
        record = ErrorRecord.from_dict(found["record"])
        said.append(
            f"{path} was served with another log, which is not here; rows that came after its last "
            f"snapshot (position {found['position']:,}) are not in the model."
        )
    if stream.monitor is None:
        stream.monitor = DriftMonitor()
    _take_waiting(stream, log)
    save(stream, path, extra=snapshot_extra(log.uid, 0, record))
    log.begin()
    log.add_base(0, time.time(), path.read_bytes())
    log.commit()
    return Engine(stream, path, log, options, 0, record), said


def stream_of(file: ModelFile, id: str | None, follow: bool = True) -> Stream:
    """The stream of a file, or one that goes on with its model."""
    model = file.model
    if isinstance(model, TableModel):
        stream = Stream(model, id or "id", follow=follow)
    elif isinstance(model, Stream):
        stream = model
        if stream.id is None:
            stream.name_ids(id or "id")
        elif id not in (None, stream.id):
            raise ServeError(f"{file.path}: its rows are named by {stream.id!r}, not by {id!r}.")
    else:
        raise ServeError(
            f"{file.path}: it holds a {type(model).__name__}; a model of greville train or "
            "greville stream is needed."
        )
    known = stream.model
    if stream.id == known.target:
        raise ServeError(f"{file.path}: it predicts {stream.id!r}, which cannot identify rows too.")
    if known.has_schema and stream.id in known.schema.names:
        raise ServeError(
            f"{file.path}: it learns from a column {stream.id!r}; choose another name for the "
            "field of ids."
        )
    return stream


def log_part(extra: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a snapshot says about its log."""
    found = (extra or {}).get("serve")
    if not isinstance(found, dict):
        return None
    usable = isinstance(found.get("log"), str) and isinstance(found.get("position"), int)
    return {"record": None, **found} if usable else None


def _take_waiting(stream: Stream, log: Log) -> None:
    """Move rows that wait for their targets from a stream into the log."""
    rows = stream.take_waiting()
    if rows:
        log.begin()
        for id, (row, prediction) in rows.items():
            log.keep(json.dumps(id), row, prediction, time.time())
        log.commit()
