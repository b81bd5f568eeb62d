"""``greville serve``: models that answer and learn over HTTP."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from threading import Timer
from typing import Annotated, Any

import typer

from ._command import command
from ._files import check_writable
from ._options import Count, ModelOptions, Task
from ._terminal import UserError, counted, say, with_options

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}

_COMPILING = "Loading kernels for single rows; the first time on a machine they are compiled."

# Where a token may be, besides a file.
_TOKEN_VARIABLE = "GREVILLE_TOKEN"


@command
def serve(
    models: list[Path] | None = None,
    *,
    target: str | None = None,
    host: str = "127.0.0.1",
    port: Annotated[int, {"min": 0, "max": 65535}] = 8000,
    token_file: Path | None = None,
    id: str | None = None,
    keep: str = "7d",
    keep_log: str | None = None,
    every: Count = 10_000,
    new_log: bool = False,
    sync: bool = True,
    read_only: bool = False,
    follow: str | None = None,
    at: str | None = None,
    mix: bool = True,
    allow_origin: list[str] | None = None,
    max_body: str = "4MB",
    max_rows: Count = 10_000,
    max_columns: Count = 1_000,
    max_waiting: Count = 100_000,
    max_connections: Count = 256,
    timeout: str = "30s",
    task: Task = Task.auto,
    options: ModelOptions,
    quiet: bool = False,
) -> None:
    """Predict and learn over HTTP, with a page that shows the errors.

    A row that was acknowledged is on the disk, in a log beside the model file. After a crash,
    restart it: the model is bit-identical to an uninterrupted run. The page is at /, the
    documentation of all requests at /docs.

    Examples:

        greville serve sensor.greville --target t

        greville serve houses.greville cars.greville --port 9000

        greville serve houses.greville --host 0.0.0.0 --token-file token.txt

        greville serve --follow http://127.0.0.1:8000 --port 8001

        greville serve houses.greville --at 2026-11-16T09:30

    Parameters
    ----------
    models
        Model files to serve. With --target, a file that does not exist is created.
    host : ADDRESS
        The address to listen on. Addresses other than loopback need a token.
    port : N
        The port. 0: any free port.
    token_file : PATH
        A file with the token that clients must send. Or set GREVILLE_TOKEN.
    id : NAME
        The field that identifies a row whose target may come later.  [default: id]
    keep : DURATION
        How long a row waits for its target: 90s, 12h, 7d.
    keep_log : DURATION
        Delete older entries of the log, once they are in a snapshot: 12h, 7d.
    every : N
        The number of rows between two snapshots.
    new_log
        Start a new log for a model file whose log is missing.
    sync
        Wait for the disk before a row is acknowledged.
    read_only
        Predict only; learn nothing.
    follow : URL
        The address of another server, whose models are followed and not changed.
    at : TIME|ROW
        Show the models as they were, at a position of their log or at a time.
    mix
        Mix predictions of numbers with the last targets.
    allow_origin : ADDRESS
        A site whose pages may call the server, such as https://example.com.
    max_body : SIZE
        The largest body of a request, such as 512KB.
    max_rows : N
        The most rows in a request.
    max_columns : N
        The most fields in a row.
    max_waiting : N
        The most rows that may wait for their targets.
    max_connections : N
        The most connections at once.
    timeout : DURATION
        How long a body may take to arrive.
    task
        auto: regression if the target is a number, otherwise classification.
    """
    try:
        from .. import serve as server
    except ModuleNotFoundError as error:
        raise UserError(
            f"This needs {error.name}; install it with: pip install 'greville[cli,serve]'"
        ) from error

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    limits = server.Limits(
        body=_size("max-body", max_body),
        rows=max_rows,
        columns=max_columns,
        waiting=max_waiting,
        connections=max_connections,
        seconds=_duration("timeout", timeout),
    )
    token = _token(token_file)
    if follow is not None and (models or at is not None):
        raise UserError("--follow: the models are those of that server; name none, and no --at.")
    files = {} if follow is not None else _files(models)
    os.umask(0o077)  # what is written here is for its owner
    compiling = Timer(2, lambda: None if quiet else say(_COMPILING))
    compiling.daemon = True

    def started(url: str) -> None:
        compiling.cancel()
        if not quiet:
            what = ", ".join(str(service.path) for service in services.values())
            say(f"{url} serves {what} (Ctrl-C stops it; the page is at /, all requests at /docs).")

    try:
        address = server.ServerAddress(host, port, token, tuple(allow_origin or ()), limits)
        with ExitStack() as stack:
            sock = stack.enter_context(server.listen(host, port))  # before anything is written
            services: dict[str, Any]
            if follow is not None:
                services = dict(server.open_replicas(follow, token))
            elif read_only or at is not None:
                services = {name: _reader(path, at, id, target) for name, path in files.items()}
            else:
                serve_options = server.ServeOptions(
                    target=target,
                    settings=options.settings("numbers" if task == Task.auto else task),
                    id=id,
                    new_log=new_log,
                    sync=sync,
                    follow=mix,
                    limits=limits,
                    keep=_duration("keep", keep),
                    keep_log=None if keep_log is None else _duration("keep-log", keep_log),
                    every=every,
                )
                services = {
                    name: _learner(path, serve_options, stack) for name, path in files.items()
                }
            compiling.start()
            stack.callback(compiling.cancel)
            stopped_by = server.run(services, address, sock, started)
    except (server.ServeError, server.LogError) as error:
        raise UserError(with_options(error)) from error
    if not quiet:
        _say_end(each for each in services.values() if isinstance(each, server.LearningService))
    raise typer.Exit(128 + signal.SIGINT if stopped_by == signal.SIGINT else 0)


def _files(paths: list[Path] | None) -> dict[str, Path]:
    """The files to serve, by the names of their models."""
    if not paths:
        raise UserError("serve: name a model file, such as model.greville.")
    found: dict[str, Path] = {}
    for path in paths:
        name = path.name.removesuffix(".greville")
        if not name or name in found:
            raise UserError(f"{path}: two models would have the name {name!r}; rename one file.")
        if not re.fullmatch(r"[\w.@ -]+", name):
            raise UserError(f"{path}: name it with letters, digits, -, _ and . only.")
        found[name] = path
    return found


def _reader(path: Path, at: str | None, id: str | None, target: str | None) -> Any:
    from ..serve import open_earlier, open_reader

    if not path.exists():
        raise UserError(f"{path}: there is no such file.")
    if at is None:
        reader = open_reader(path, id)
    else:
        reader = open_earlier(path, **_moment(at))
        say(f"{path} as it was at position {reader.position:,}.")
    if target not in (None, reader.target):
        raise UserError(f"--target {target}: {path} learns {reader.target!r}.")
    return reader


def _moment(text: str) -> dict[str, Any]:
    """Convert an option's text to a log position or a time."""
    if text.isascii() and text.isdigit():
        return {"position": int(text)}
    try:
        return {"at": datetime.fromisoformat(text).timestamp()}
    except ValueError:
        raise UserError(
            f"--at {text}: pass a time such as 2026-11-16T09:30, or a position of the log."
        ) from None


def _learner(path: Path, serve_options: Any, stack: ExitStack) -> Any:
    """The model of a file that no other process uses, with its log."""
    from ..persistence import locked
    from ..serve import open_learning

    check_writable(path)
    stack.enter_context(locked(path))
    learner, remarks = open_learning(path, serve_options)
    stack.callback(learner.close)
    for remark in remarks:
        say(f"Warning: {remark}")
    if learner.to_replay:
        say(f"{path}: {counted(learner.to_replay, 'row')} of the log are learned again first.")
    return learner


def _say_end(learners: Iterator[Any]) -> None:
    for learner in learners:
        missing = learner.position - learner.snapshot_position
        if learner.position and missing:
            rows = counted(missing, "row")
            say(
                f"Warning: {learner.path} could not be written; it lacks the last {rows}, which "
                "are in the log and are learned again at the next start."
            )
        elif learner.position:
            say(f"{learner.path} has all that was learned (position {learner.position:,}).")


def _token(path: Path | None) -> str | None:
    """Read the access token from a file or the environment; None if there is none."""
    text = os.environ.get(_TOKEN_VARIABLE)
    where = _TOKEN_VARIABLE if path is None else f"--token-file {path}"
    if path is not None:
        try:
            text = path.read_text(encoding="utf8")
        except UnicodeDecodeError as error:
            raise UserError(f"{where}: it is not text.") from error
    if text is None:
        return None
    token = text.strip()
    usable = token.isascii() and token.isprintable() and " " not in token
    if len(token) < 16 or not usable:
        raise UserError(
            f"{where}: a token is one word of at least 16 letters and digits; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
        )
    return token


def _duration(option: str, text: str) -> float:
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if matched is None or float(matched[1]) <= 0:
        raise UserError(f"--{option} {text}: pass a time such as 90s, 30m, 12h or 7d.")
    return float(matched[1]) * _SECONDS[matched[2] or "s"]


def _size(option: str, text: str) -> int:
    matched = re.fullmatch(r"(\d+)\s*(KB|MB|GB)?", text.strip().upper())
    if matched is None or int(matched[1]) == 0:
        raise UserError(f"--{option} {text}: pass a size such as 512KB or 4MB.")
    return int(matched[1]) * _BYTES[matched[2] or ""]
