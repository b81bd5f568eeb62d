"""The command `greville`: all its commands, and what they share."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from ._analysis import check, compare, explain
from ._command import Command
from ._forecast import forecast
from ._models import export, info, merge, unlearn
from ._paper import paper
from ._predict import predict, score
from ._serve import serve
from ._stream import stream
from ._train import train

app = typer.Typer(
    name="greville",
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


for _command in (
    *(check, train, predict, score, compare, explain, export, forecast, stream, serve),
    *(info, merge, unlearn, paper),
):
    app.command(cls=Command)(_command)
