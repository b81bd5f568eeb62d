"""What commands say: results, findings, errors as one sentence.

Text from files never reaches a terminal as control characters.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from typing import Any

import typer

from ..progress import Advance, Progress, silent
from ._process import EXIT_STOPPED, TERMINATION, Stop, is_closed_pipe, stopping_on

# Control characters, what turns the direction of writing, line ends of Unicode, and halves of
# characters, which no terminal can show.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNSAFE_BUT_LINES = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))

# Characters of a message. A name in it may be very long.
_LONGEST_MESSAGE = 2000

# Columns of a table in a file or a pipe.
_WIDTH = 120


def printable(text: Any) -> str:
    """The text with an escape such as ``\\x1b`` in the place of what a terminal would act on."""
    return _UNSAFE.sub(_escape, str(text))


def printable_lines(text: str) -> str:
    """Escape characters that a terminal obeys, in several lines, whose ends and tabs stay."""
    return _UNSAFE_BUT_LINES.sub(_escape, text)


def _escape(matched: re.Match[str]) -> str:
    code = ord(matched[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def say(message: str) -> None:
    """Print a line for the user on stderr, apart from what a program reads."""
    shown = printable(message)
    if len(shown) > _LONGEST_MESSAGE:
        shown = f"{shown[: _LONGEST_MESSAGE * 2 // 3]} ... {shown[-_LONGEST_MESSAGE // 3 :]}"
    typer.echo(shown, err=True)


def counted(n: int, what: str) -> str:
    """Write a number of things in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def digits(number: float) -> str:
    """Write a number with four digits, and no exponent where it is not needed."""
    return f"{number:,.0f}" if 1e4 <= number < 1e9 else f"{number:.4g}"


def say_skipped(row_errors: Any, message: str = "") -> None:
    """Say that rows cannot be used, if there are any, and why the first of them cannot."""
    if row_errors.count:
        were = "was" if row_errors.count == 1 else "were"
        message = message or f"{counted(row_errors.count, 'row')} {were} skipped"
        for line in (f"{message}, for instance:", *(f"  {why}" for why in row_errors.reasons)):
            say(line)


def say_findings(row_errors: Any, findings: Iterable[Any] = (), message: str = "") -> None:
    """Say which rows cannot be used, and what was found about a table or a stream."""
    from ..tables import grouped

    say_skipped(row_errors, message)
    for finding in grouped(dict.fromkeys([*row_errors.findings, *findings])):
        say(("Warning: " if finding.warning else "") + finding.sentence(as_option))


def as_option(argument: str, value: Any) -> str:
    """An argument of the library as an option, with its values."""
    if argument == "row_errors":
        return "--on-error skip"
    if value is False:
        argument = f"no-{argument}"
    option = f"--{argument.replace('_', '-')}"
    if isinstance(value, bool):
        return option
    values = [] if value is None else value if isinstance(value, (list, tuple)) else [value]
    return " ".join(f"{option} {shlex.quote(str(each))}" for each in values) or option


def show_json(tree: Any) -> None:
    """Print a result for a program."""
    typer.echo(json.dumps(_without_nan(tree), indent=2, default=str))


def _without_nan(tree: Any) -> Any:
    """Replace nan and infinity by null, since JSON has neither."""
    if isinstance(tree, dict):
        return {key: _without_nan(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_without_nan(value) for value in tree]
    return None if isinstance(tree, float) and not isfinite(tree) else tree


def console() -> Any:
    """Standard output, where neither ``[bold]`` nor ``:smile:`` in a name means anything."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDTH
    out = Console(markup=False, emoji=False, highlight=False, width=width)
    out.on_broken_pipe = lambda: None  # type: ignore[method-assign]  # `main` looks at its end
    return out


def show_table(
    headers: Iterable[str] | None, rows: Iterable[Iterable[Any]], title: str = ""
) -> None:
    """Print a table, whose headers, cells and title may come from a file."""
    from rich.table import Table

    left: Any = {"title_justify": "left", "title_style": "bold"}
    shown = Table(*map(printable, headers or ()), show_header=headers is not None, **left)
    shown.title = printable(title) or None
    for row in rows:
        shown.add_row(*map(printable, row))
    console().print(shown)


def in_picture(name: str, longest: int = 60) -> str:
    """A name for a picture: printable, and not longer than there is room for."""
    shown = printable(name)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


# Progress

Say = Callable[[str], None]


@contextmanager
def progress_bars(quiet: bool) -> Iterator[tuple[Progress, Say]]:
    """Bars on stderr, one below the other; they go when the work has ended.

    A total of 0 is one that is not known. The second function prints a line on stderr without
    getting into their way.
    """
    if quiet or not sys.stderr.isatty():
        yield silent, lambda line: print(line, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TimeElapsedColumn

    columns = *Bars.get_default_columns(), TimeElapsedColumn()
    bars = Bars(*columns, console=Console(stderr=True), transient=True)

    @contextmanager
    def bar(what: str, total: float) -> Iterator[Advance]:
        task = bars.add_task(what, total=total or None)
        try:
            yield lambda done: bars.advance(task, done)
        except BaseException:
            bars.remove_task(task)
            raise
        bars.update(task, completed=total)

    with bars:
        yield bar, lambda line: bars.console.print(line, markup=False, highlight=False)


# Errors

EXIT_BUG, EXIT_USER_ERROR = 1, 2

# The extras with packages that a command may need; others are in the extra cli.
_EXTRA_OF = {
    "confluent_kafka": "kafka",
    "distributed": "dask",
    "onnx": "onnx",
    **dict.fromkeys(("fastapi", "prometheus_client", "starlette", "uvicorn"), "serve"),
}

# An argument of the library with its value, at the beginning of a message.
_ARGUMENT = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s:]+)(?=: )")

# What the library advises, and what that is for the command.
_OPTION_FOR = {
    "start a new log, without": "pass --new-log to go on without",
    "choose another name for": "pass --id with another name for",
    "give it a token": "pass --token-file",
    "name the field to predict to start": "pass --target to start",
    "learn=True": "--learn",
}


class UserError(Exception):
    """An error that the user of a command can fix."""


@contextmanager
def reported() -> Iterator[None]:
    """A block whose errors are one sentence, with exit codes that mean something."""
    debugging = bool(os.environ.get("GREVILLE_DEBUG"))
    try:
        with warnings.catch_warnings():
            if not debugging:
                warnings.simplefilter("ignore")  # they are for programmers
            yield
    except (typer.Exit, typer.Abort, KeyboardInterrupt):
        raise
    except Exception as error:
        if is_closed_pipe(error):
            raise typer.Exit(0) from None
        if debugging:
            sys.stderr.write(printable_lines(traceback.format_exc()))
        message = _user_message(error)
        if message is not None:
            fail(message, EXIT_USER_ERROR)
        fail(
            f"This is a bug in greville, not in your data: {type(error).__name__}: {error}. "
            "Please report it on the project's issue tracker, with the output of greville "
            "--version, the command, and what it prints with GREVILLE_DEBUG=1.",
            EXIT_BUG,
        )


def _user_message(error: Exception) -> str | None:
    """Return the message of an error that the user can fix; None for a bug."""
    from ..persistence import ModelFileError
    from ..tables import TableError
    from ..validation import NotEnoughMemory

    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRA_OF.get(error.name or "", "cli")
        return f"This needs {error.name}; install it with: pip install 'greville[{extra}]'"
    if isinstance(error, OSError):
        name = error.filename2 or error.filename
        what = error.strerror or str(error)
        what += "; check its permissions" * isinstance(error, PermissionError)
        return f"{name}: {what}." if name else f"{what}."
    if isinstance(error, MemoryError) and not isinstance(error, NotEnoughMemory):
        return "There is not enough memory; try fewer units with --hidden."
    usual = (UserError, TableError, ModelFileError, NotEnoughMemory)
    return with_options(error) if isinstance(error, usual) else None


@contextmanager
def fixable(what: str = "") -> Iterator[None]:
    """A block whose ValueErrors become UserErrors; `what` names what the user can fix."""
    try:
        yield
    except ValueError as error:
        raise UserError(what + with_options(error).removeprefix("model: ")) from error


@contextmanager
def stoppable(last_words: Callable[[], str]) -> Iterator[Stop]:
    """A block that signals may end between its steps."""
    from ..tables import Stopped

    with stopping_on(*TERMINATION) as stop:
        try:
            yield stop
        except Stopped:
            fail(last_words(), EXIT_STOPPED)


def with_options(error: Exception) -> str:
    """The message of an error; options stand in the place of the library's arguments."""
    from ..tables import TableError

    message, advice, named = str(error), "", not isinstance(error, UserError)
    if isinstance(error, TableError):
        message, advice = error.message, error.advice(as_option)
        named = error.argument is not None
    matched = _ARGUMENT.match(message)
    if named and matched is not None:
        option = as_option(matched[1], _value(matched[2]))
        message = option + message[matched.end() :]
    for said, option in _OPTION_FOR.items():
        message = message.replace(said, option)
    return message + advice


def _value(text: str) -> object:
    with suppress(SyntaxError, ValueError):
        return ast.literal_eval(text)
    return text


def fail(message: str, code: int) -> None:
    """Say what was wrong, and end the command."""
    with suppress(OSError):  # nobody reads any more
        say(message)
    raise typer.Exit(code)
