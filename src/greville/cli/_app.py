"""The command `greville`: all its commands, and what they share."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ._command import Command

# The commands and their modules, in the order of the help.
COMMANDS = {
    "check": "_analysis",
    "train": "_train",
    "predict": "_predict",
    "score": "_predict",
    "compare": "_analysis",
    "explain": "_analysis",
    "export": "_models",
    "forecast": "_forecast",
    "stream": "_stream",
    "serve": "_serve",
    "info": "_models",
    "merge": "_models",
    "unlearn": "_models",
    "paper": "_paper",
}


class Commands(TyperGroup):
    """A group of commands that imports the module of the one that is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": dict.fromkeys(COMMANDS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        module = import_module(f".{COMMANDS[cmd_name]}", __package__)
        single.command(cls=Command)(getattr(module, cmd_name))
        return typer.main.get_command(single)


app = typer.Typer(
    name="greville",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help wraps well at 80 columns
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"greville {__version__}")
        raise typer.Exit


@app.callback()
def greville(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Learn from tables, series and streams in one pass, in memory that does not grow.

    Start with: greville check FILE --target COLUMN
    """
