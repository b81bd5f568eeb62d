"""The class of all commands: what their help calls the values of options, and how they start."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from ._imports import import_packages

# By the names of options; those with a few choices show the choices.
_METAVARS = {
    "PATH": (
        "checkpoint",
        "follow",
        "like",
        "model",
        "output",
        "page",
        "plot",
        "resume",
        "token_file",
    ),
    "FOLDER": ("data", "out"),
    "COLUMN": ("column", "target", "time"),
    "COLUMNS": ("by", "categorical", "features", "fold", "ignore", "inputs", "number", "text"),
    "NAME": ("device", "encoding", "id", "name", "solver", "table"),
    "VALUE": ("na",),
    "MARK": ("decimal", "delimiter", "thousands"),
    "FORMAT": ("date_format",),
    "ADDRESS": ("allow_origin", "host", "scheduler"),
    "DURATION": ("keep", "keep_log", "timeout"),
    "SIZE": ("max_body",),
    "SQL": ("where",),
    "SHARE": ("interval", "test"),
    "NUMBER": ("alpha", "epsilon"),
    "N": (
        "categories",
        "every",
        "folds",
        "hidden",
        "horizon",
        "lags",
        "max_columns",
        "max_connections",
        "max_rows",
        "max_waiting",
        "port",
        "rows",
        "runs",
        "seed",
        "window",
        "workers",
    ),
}
_METAVAR_OF = {name: metavar for metavar, names in _METAVARS.items() for name in names}


class Command(TyperCommand):
    """A command whose help has words such as PATH and N, and no types of Python."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                # DATA, not DATA <list[str]>; older versions of typer do not ask.
                parameter.display_type_rich = lambda ctx: ""  # type: ignore[attr-defined]
            elif parameter.name in _METAVAR_OF:
                parameter.metavar = _METAVAR_OF[parameter.name]

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Its help, and wrong usage, have been answered before."""
        import_packages()
        return super().invoke(ctx)
