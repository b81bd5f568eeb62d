"""``greville serve``: models that answer and learn over HTTP."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ._command import command
from ._files import check_writable
from ._options import Count, ModelOptions, Task
from ._terminal import UserError, counted, say, with_options

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES = {"": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}

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
    from .. import serve as server

    def seconds(option: str, text: str) -> float:
        return _quantity(option, text, _SECONDS, "a time such as 90s, 30m, 12h or 7d")

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    limits = server.Limits(
        body=int(_quantity("max-body", max_body, _BYTES, "a size such as 512KB or 4MB")),
        rows=max_rows,
        columns=max_columns,
        waiting=max_waiting,
        connections=max_connections,
        seconds=seconds("timeout", timeout),
    )
    serve_options = server.ServeOptions(
        target=target,
        settings=options.settings("numbers" if task == Task.auto else task),
        id=id,
        new_log=new_log,
        sync=sync,
        follow=mix,
        limits=limits,
        keep=seconds("keep", keep),
        keep_log=None if keep_log is None else seconds("keep-log", keep_log),
        every=every,
    )
    token = _token(token_file)
    if follow is not None and (models or at is not None):
        raise UserError("--follow: the models are those of that server; name none, and no --at.")
    files = {} if follow is not None else _files(models)
    os.umask(0o077)  # what is written here is for its owner
    try:
        address = server.ServerAddress(host, port, token, tuple(allow_origin or ()), limits)
        with ExitStack() as stack:
            sock = stack.enter_context(server.listen(host, port))  # before anything is written
            services: Mapping[str, Any]
            if follow is not None:
                services = server.open_replicas(follow, token)
            elif read_only or at is not None:
                services = {name: _reader(path, at, id, target) for name, path in files.items()}
            else:
                services = {
                    name: _learning(path, serve_options, stack) for name, path in files.items()
                }
            what = ", ".join(str(service.path) for service in services.values())
            hint = "Ctrl-C stops it; the page is at /, all requests at /docs"
            started = (
                (lambda url: None) if quiet else lambda url: say(f"{url} serves {what} ({hint}).")
            )
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
    files: dict[str, Path] = {}
    for path in paths:
        name = path.name.removesuffix(".greville")
        if not name or name in files:
            raise UserError(f"{path}: two models would have the name {name!r}; rename one file.")
        if not re.fullmatch(r"[\w.@ -]+", name):
            raise UserError(f"{path}: name it with letters, digits, -, _ and . only.")
        files[name] = path
    return files


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
        what = "pass a time such as 2026-11-16T09:30, or a position of the log"
        raise UserError(f"--at {text}: {what}.") from None


def _learning(path: Path, serve_options: Any, stack: ExitStack) -> Any:
    """The model of a file that no other process uses, with its log."""
    from ..persistence import locked
    from ..serve import open_learning

    check_writable(path)
    stack.enter_context(locked(path))
    service, remarks = open_learning(path, serve_options)
    stack.callback(service.close)
    for remark in remarks:
        say(f"Warning: {remark}")
    if service.to_replay:
        say(f"{path}: {counted(service.to_replay, 'row')} of the log are learned again first.")
    return service


def _say_end(services: Iterable[Any]) -> None:
    for service in services:
        missing = service.position - service.snapshot_position
        if missing:
            say(
                f"Warning: {service.path} could not be written; it lacks the last "
                f"{counted(missing, 'row')}, which are in the log and are learned again at the "
                "next start."
            )
        elif service.position:
            say(f"{service.path} has all that was learned (position {service.position:,}).")


def _token(path: Path | None) -> str | None:
    """Read the access token from a file or the environment; None if there is none."""
    where = _TOKEN_VARIABLE if path is None else f"--token-file {path}"
    text = os.environ.get(where) if path is None else path.read_text("utf8", errors="replace")
    token = None if text is None else text.strip()
    if token is not None and not re.fullmatch(r"[!-~]{16,}", token):
        raise UserError(
            f"{where}: a token is one word of at least 16 letters and digits; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
        )
    return token


def _quantity(option: str, text: str, units: dict[str, int], example: str) -> float:
    """Convert a number and its unit; a UserError for anything else, and for zero."""
    matched = re.fullmatch(r"(\d+(?:\.\d+)?) *([a-z]*)", text.strip().lower())
    if matched is None or matched[2] not in units or float(matched[1]) == 0:
        raise UserError(f"--{option} {text}: pass {example}.")
    return float(matched[1]) * units[matched[2]]
