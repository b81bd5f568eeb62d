"""``greville serve``: models that answer and learn over HTTP."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from threading import Timer
from typing import Annotated, Any

import typer

from ._errors import UserError, reported
from ._files import check_writable
from ._options import ModelOptions, QuietOption, TargetOption, Task, expand_options, given_settings
from ._terminal import counted, say

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}

_COMPILING = "Loading kernels for single rows; the first time on a machine they are compiled."

# Where a token may be, besides a file.
_TOKEN_VARIABLE = "GREVILLE_TOKEN"


@reported
@expand_options
def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Model files to serve. With --target, a file that does not exist is created.",
            metavar="MODELS",
            show_default=False,
        ),
    ] = None,
    *,
    target: TargetOption = None,
    host: Annotated[
        str,
        typer.Option(help="The address to listen on. Addresses other than loopback need a token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port. 0: any free port.")] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help=f"A file with the token that clients must send. Or set {_TOKEN_VARIABLE}.",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            help="The field that identifies a row whose target may come later.  [default: id]"
        ),
    ] = None,
    keep: Annotated[
        str, typer.Option(help="How long a row waits for its target: 90s, 12h, 7d.")
    ] = "7d",
    keep_log: Annotated[
        str | None,
        typer.Option(
            "--keep-log",
            help="Delete older entries of the log, once they are in a snapshot: 12h, 7d.",
        ),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="The number of rows between two snapshots.")
    ] = 10_000,
    new_log: Annotated[
        bool,
        typer.Option("--new-log", help="Start a new log for a model file whose log is missing."),
    ] = False,
    sync: Annotated[
        bool,
        typer.Option(help="Wait for the disk before a row is acknowledged."),
    ] = True,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Predict only; learn nothing.")
    ] = False,
    follow: Annotated[
        str | None,
        typer.Option(
            "--follow",
            help="The address of another server, whose models are followed and not changed.",
            metavar="URL",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            help="Show the models as they were, at a position of their log or at a time.",
            metavar="TIME|ROW",
        ),
    ] = None,
    mix: Annotated[
        bool,
        typer.Option(help="Mix predictions of numbers with the last targets."),
    ] = True,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            help="A site whose pages may call the server, such as https://example.com.",
        ),
    ] = None,
    max_body: Annotated[
        str, typer.Option("--max-body", help="The largest body of a request, such as 512KB.")
    ] = "4MB",
    max_rows: Annotated[int, typer.Option(min=1, help="The most rows in a request.")] = 10_000,
    max_columns: Annotated[int, typer.Option(min=1, help="The most fields in a row.")] = 1_000,
    max_waiting: Annotated[
        int, typer.Option(min=1, help="The most rows that may wait for their targets.")
    ] = 100_000,
    max_connections: Annotated[
        int, typer.Option(min=1, help="The most connections at once.")
    ] = 256,
    timeout: Annotated[str, typer.Option(help="How long a body may take to arrive.")] = "30s",
    task: Annotated[
        Task,
        typer.Option(help="auto: regression if the target is a number, otherwise classification."),
    ] = Task.auto,
    options: ModelOptions,
    quiet: QuietOption = False,
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
    """
    try:
        from ..serve import (
            Address,
            Limits,
            LogError,
            ServeError,
            listen,
            load_kernels,
            open_replicas,
            run,
        )
    except ModuleNotFoundError as error:
        raise UserError(
            f"This needs {error.name}; install it with: pip install 'greville[cli,serve]'"
        ) from error

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    limits = Limits(
        body=_size("max-body", max_body),
        rows=max_rows,
        columns=max_columns,
        waiting=max_waiting,
        connections=max_connections,
        seconds=_duration("timeout", timeout),
    )
    address = Address(host, port, _token(token_file), tuple(allow_origin or ()), limits)
    if follow is not None and (models or at is not None):
        raise UserError("--follow: the models are those of that server; name none, and no --at.")
    files = {} if follow is not None else _files(models)
    os.umask(0o077)  # what is written here is for its owner
    try:
        address.check()
        with ExitStack() as stack:
            sock = stack.enter_context(listen(host, port))  # before anything is written
            engines: dict[str, Any]
            if follow is not None:
                engines = dict(open_replicas(follow, address.token))
            elif read_only or at is not None:
                engines = _readers(files, at, id, target)
            else:
                settings = options.settings("numbers" if task == Task.auto else task)
                if settings["hidden"] == "auto":
                    settings["hidden"] = "stream"
                kept = None if keep_log is None else _duration("keep-log", keep_log)
                wanted = {
                    "target": target,
                    "settings": settings,
                    "given": given_settings(settings),
                    "id": id,
                    "new_log": new_log,
                    "sync": sync,
                    "follow": mix,
                    "limits": limits,
                    "keep": _duration("keep", keep),
                    "keep_log": kept,
                    "every": every,
                }
                engines = _engines(files, wanted, stack)
            with _saying_if_slow(_COMPILING, quiet):
                load_kernels()
            stopped_by = run(
                engines,
                address,
                sock,
                lambda url: _announce(url, engines, quiet),
                lambda left: None if quiet else say(_replay_state(left)),
            )
    except (ServeError, LogError) as error:
        raise UserError(_with_options(str(error))) from error
    if not quiet:
        _say_end(engines)
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


def _readers(
    files: dict[str, Path], at: str | None, id: str | None, target: str | None
) -> dict[str, Any]:
    from ..serve import Reader

    readers = {}
    for name, path in files.items():
        if not path.exists():
            raise UserError(f"{path}: there is no such file.")
        if at is None:
            readers[name] = Reader.open(path, id)
        else:
            readers[name] = Reader.open_at(path, **_moment(at))
            say(f"{path} as it was at position {readers[name].position:,}.")
        if target not in (None, readers[name].target):
            raise UserError(f"--target {target}: {path} learns {readers[name].target!r}.")
    return readers


def _moment(text: str) -> dict[str, Any]:
    """A position of a log, or a time."""
    if text.isascii() and text.isdigit():
        return {"position": int(text)}
    try:
        return {"at": datetime.fromisoformat(text).timestamp()}
    except ValueError:
        raise UserError(
            f"--at {text}: pass a time such as 2026-11-16T09:30, or a position of the log."
        ) from None


def _engines(files: dict[str, Path], wanted: dict[str, Any], stack: ExitStack) -> dict[str, Any]:
    """The engines of model files that no other process uses."""
    from ..persistence import locked
    from ..serve import ServeOptions, open_engine

    engines = {}
    for name, path in files.items():
        check_writable(path)
        stack.enter_context(locked(path))
        engine, said = open_engine(path, ServeOptions(**wanted))
        engines[name] = engine
        stack.callback(engine.close)
        for each in said:
            say(f"Warning: {each}")
        if engine.to_replay:
            say(f"{path}: {counted(engine.to_replay, 'row')} of the log are learned again first.")
    return engines


@contextmanager
def _saying_if_slow(message: str, quiet: bool) -> Iterator[None]:
    """Say what takes so long, if it takes longer than two seconds."""
    timer = Timer(2, lambda: None if quiet else say(message))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _replay_state(left: int) -> str:
    return (
        f"{counted(left, 'row')} of the log left." if left else "All rows of the log are learned."
    )


def _announce(url: str, engines: dict[str, Any], quiet: bool) -> None:
    if not quiet:
        what = ", ".join(str(engine.path) for engine in engines.values())
        say(f"{url} serves {what} (Ctrl-C stops it; the page is at /, all requests at /docs).")


def _say_end(engines: dict[str, Any]) -> None:
    from ..serve import Engine

    for engine in engines.values():
        if not isinstance(engine, Engine) or not engine.position:
            continue
        if engine.snapshot_position == engine.position:
            say(f"{engine.path} has all that was learned (position {engine.position:,}).")
        else:
            n = counted(engine.position - engine.snapshot_position, "row")
            say(
                f"Warning: {engine.path} could not be written; it lacks the last {n}, which are in "
                "the log and are learned again at the next start."
            )


def _token(path: Path | None) -> str | None:
    """The token of a file or of the environment, if there is one."""
    if path is None:
        token = os.environ.get(_TOKEN_VARIABLE)
        return None if token is None else _checked_token(token, _TOKEN_VARIABLE)
    try:
        text = path.read_text(encoding="utf8")
    except UnicodeDecodeError as error:
        raise UserError(f"--token-file {path}: it is not text.") from error
    return _checked_token(text, f"--token-file {path}")


def _checked_token(text: str, where: str) -> str:
    token = text.strip()
    usable = token.isascii() and token.isprintable() and " " not in token
    if len(token) < 16 or not usable:
        raise UserError(
            f"{where}: a token is one word of at least 16 letters and digits; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
        )
    return token


def _duration(option: str, text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise UserError(f"--{option} {text}: pass a time such as 90s, 30m, 12h or 7d.")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def _size(option: str, text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*(KB|MB|GB)?", text.strip().upper())
    if found is None or int(found[1]) == 0:
        raise UserError(f"--{option} {text}: pass a size such as 512KB or 4MB.")
    return int(found[1]) * _BYTES[found[2] or ""]


def _with_options(message: str) -> str:
    """A message of the library, with options in the place of arguments."""
    found = re.match(r"(\w+)='?(.*?)'?: ", message)
    if found is not None:
        option = found[1].replace("_", "-")
        message = f"--{option} {found[2]}: {message[found.end() :]}"
    message = message.replace("--mix False", "--no-mix")
    message = message.replace("start a new log, without", "pass --new-log to go on without")
    message = message.replace("choose another name for", "pass --id with another name for")
    message = message.replace("give it a token", "pass --token-file")
    return message.replace(
        "name the field to predict to start a new model", "pass --target to start a new model"
    )
