"""What commands print. Text from files never reaches a terminal as control characters."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

# Control characters, what turns the direction of writing, line ends of Unicode, and halves of
# characters, which no terminal can show.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNSAFE_BUT_LINES = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))

# Characters of a message. A name in it may be very long.
_LONGEST_MESSAGE = 2000


def printable(text: Any) -> str:
    """The text with an escape such as ``\\x1b`` in the place of what a terminal would act on."""
    return _UNSAFE.sub(_escape, str(text))


def printable_lines(text: str) -> str:
    """The same for several lines, whose ends and tabs stay."""
    return _UNSAFE_BUT_LINES.sub(_escape, text)


def sentence(text: Any) -> str:
    """The text, printable and not longer than a message can be."""
    shown = printable(text)
    if len(shown) <= _LONGEST_MESSAGE:
        return shown
    return f"{shown[: _LONGEST_MESSAGE * 2 // 3]} ... {shown[-_LONGEST_MESSAGE // 3 :]}"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def say(message: str) -> None:
    """A line for the user on stderr, apart from what a program reads."""
    typer.echo(sentence(message), err=True)


def counted(n: int, what: str) -> str:
    """So many of something, in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def part_of(n: int, total: int, what: str) -> str:
    """So many of all, in words."""
    return f"{n:,} of {counted(total, what)}"


def say_skipped(troubles: Any) -> None:
    """Say how many rows were skipped, and why the first of them were."""
    if troubles.count:
        were = "was" if troubles.count == 1 else "were"
        say_examples(f"{counted(troubles.count, 'row')} {were} skipped", troubles)


def say_examples(message: str, troubles: Any) -> None:
    """Say something about rows that cannot be used, and why the first of them cannot."""
    say(f"{message}, for instance:")
    for reason in troubles.first:
        say(f"  {reason}")


def say_findings(findings: Iterable[Any]) -> None:
    """Say what was found about a table: a line each, or one for several columns."""
    from ..tables import grouped

    for finding in grouped(findings):
        say(("Warning: " if finding.warning else "") + finding.sentence(as_option))


def as_option(argument: str, value: Any) -> str:
    """An argument of the library as an option, with its values."""
    if argument == "troubles":
        return "--on-error skip"
    if argument == "header":
        return "--header" if value else "--no-header"
    option = f"--{argument.replace('_', '-')}"
    values = [] if value is None else value if isinstance(value, (list, tuple)) else [value]
    return " ".join(f"{option} {shlex.quote(str(each))}" for each in values) or option


def show_json(tree: Any) -> None:
    """Print a result for a program."""
    typer.echo(json.dumps(_without_nan(tree), indent=2, default=str))


def _without_nan(tree: Any) -> Any:
    """JSON knows no nan and no infinity."""
    if isinstance(tree, dict):
        return {key: _without_nan(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_without_nan(value) for value in tree]
    return None if isinstance(tree, float) and not isfinite(tree) else tree


def console(width: int | None = None) -> Console:
    """Standard output, where neither ``[bold]`` nor ``:smile:`` in a name means anything.

    A `width` is that of files and pipes.
    """
    from rich.console import Console

    out = Console(markup=False, emoji=False, highlight=False)
    out.on_broken_pipe = lambda: None  # type: ignore[method-assign]  # `main` looks at its end
    if width is not None and not out.is_terminal:
        out.width = width
    return out


def show_table(
    headers: Iterable[str] | None,
    rows: Iterable[Iterable[Any]],
    title: str | None = None,
    width: int | None = None,
) -> None:
    """Print a table, whose headers, cells and title may come from a file."""
    from rich.table import Table

    shown = Table(
        *map(printable, headers or ()),
        title=None if title is None else printable(title),
        title_justify="left",
        title_style="bold",
        show_header=headers is not None,
    )
    for row in rows:
        shown.add_row(*map(printable, row))
    console(width).print(shown)


def in_picture(name: str, longest: int = 60) -> str:
    """A name for a picture: printable, and not longer than there is room for."""
    shown = printable(name)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
