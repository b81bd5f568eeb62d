"""The options that several commands have, and what they mean for the library."""

from __future__ import annotations

import codecs
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ..tables.readers import registry
from ._errors import UserError


class OnError(StrEnum):
    """What to do with rows that cannot be used."""

    stop = "stop"
    skip = "skip"


class Task(StrEnum):
    """What the target is."""

    auto = "auto"
    regression = "regression"
    classification = "classification"


def _format_names() -> list[str]:
    return [format.name for format in registry.formats()]


def _known_format(name: str) -> str:
    if name not in _format_names():
        choices = ", ".join(map(repr, _format_names()))
        raise typer.BadParameter(f"{name!r} is not one of {choices}.")
    return name


Data = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, quoted patterns, a query of SQL, or - for standard input.",
        metavar="DATA",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file.", metavar="MODEL", show_default=False)]
TaskOption = Annotated[
    Task,
    typer.Option(
        help="auto: classification if the target is text, true or false, or a few whole numbers."
    ),
]
TargetOption = Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="At a row that cannot be used: stop, or skip it. Skipped rows are counted.",
    ),
]
StdOption = Annotated[
    bool, typer.Option("--std", help="Add std, the standard error of each number.")
]
ProbaOption = Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        help="The separator of a CSV: one character, tab, or space. Detected by default.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")
]


@dataclass(frozen=True)
class ReadingOptions:
    """How data are read."""

    on_error: OnErrorOption = OnError.stop
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="The format of the data. Detected by default.",
            parser=_known_format,
            metavar=f"<{'|'.join(_format_names())}>",
            autocompletion=_format_names,
        ),
    ] = None
    delimiter: DelimiterOption = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row has the names of the columns. If not, they are called "
            "0, 1, 2, ...",
            show_default=False,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding", help="The encoding of text, such as cp1252. Detected by default."
        ),
    ] = None
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            help="Which table, if a file has several: a sheet, a database table, a file in a zip.",
        ),
    ] = None
    skip_rows: Annotated[
        int,
        typer.Option(
            "--skip-rows",
            min=0,
            metavar="LINES",
            help="How many lines above the names of the columns are left out. Detected by default.",
        ),
    ] = 0
    where: Annotated[
        str | None,
        typer.Option(help='A condition of SQL, such as "year > 2000": only such rows are read.'),
    ] = None

    def reading(self, column: str | None = None) -> Any:
        """The same for the library's readers; `column` is one that the table has."""
        from ..tables import Reading

        try:
            "".encode(self.encoding or "utf8")
            codecs.getincrementaldecoder(self.encoding or "utf8")
        except (LookupError, ValueError) as error:
            raise UserError(f"--encoding {self.encoding}: there is no such encoding.") from error
        return Reading(
            self.format,
            one_delimiter(self.delimiter),
            self.header,
            self.encoding,
            self.table,
            self.skip_rows,
            self.where,
            column,
        )

    def troubles(self) -> Any:
        """What counts the rows that cannot be used."""
        from ..tables import Troubles

        return Troubles(skip=self.on_error == OnError.skip)


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns are used, and how they are written."""

    features: Annotated[
        list[str] | None,
        typer.Option(help="Columns to learn from. All others by default."),
    ] = None
    ignore: Annotated[list[str] | None, typer.Option(help="Columns not to use.")] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Numeric columns to treat as categories."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(help="The decimal mark: a point or a comma. Detected by default.")
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(
            help="The mark between thousands: a comma, a point, a space or an apostrophe."
        ),
    ] = None
    na: Annotated[
        list[str] | None,
        typer.Option("--na", help="A value that means missing. May be repeated."),
    ] = None
    date_format: Annotated[
        str | None,
        typer.Option(
            "--date-format",
            help="How dates are written, such as %d/%m/%Y; or seconds or milliseconds since 1970.",
        ),
    ] = None
    number: Annotated[
        list[str] | None,
        typer.Option("--number", help="Columns that are numbers, whatever they look like."),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option("--text", help="Columns that are text, whatever they look like."),
    ] = None
    fold: Annotated[
        list[str] | None,
        typer.Option(
            "--fold",
            help="Text columns, or the target, in which small letters and blanks make no "
            "difference.",
        ),
    ] = None
    categories: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many values of a text column are told apart. By default 50, and as many "
            "as come in three of the first rows.",
        ),
    ] = None

    def settings(self, task: str) -> dict[str, Any]:
        """The same as parameters of a `TableModel`."""
        return {
            "task": str(task),
            "features": names(self.features) or None,
            "ignore": names(self.ignore),
            "categorical": names(self.categorical),
            "decimal": self.decimal,
            "thousands": self.thousands,
            "na": list(self.na or ()),
            "date_format": self.date_format,
            "number": names(self.number),
            "text": names(self.text),
            "fold": names(self.fold),
            "categories": self.categories,
        }


@dataclass(frozen=True)
class ModelOptions(ColumnOptions):
    """What a new model is."""

    hidden: Annotated[
        str,
        typer.Option(
            help="The number of hidden units, or auto: chosen from the numbers of inputs and rows."
        ),
    ] = "auto"
    solver: Annotated[
        str,
        typer.Option(
            help="opium and greville are exact, dynamic and sliding forget old rows, light is fast "
            "and approximate."
        ),
    ] = "opium"
    alpha: Annotated[
        str | None, typer.Option(help="How fast the solver dynamic forgets: 1.003, or auto.")
    ] = None
    epsilon: Annotated[
        str | None, typer.Option(help="The size of the ridge: a number, or auto.")
    ] = None
    window: Annotated[int | None, typer.Option(help="How many rows the solver sliding uses.")] = (
        None
    )
    seed: Annotated[
        int, typer.Option(min=0, max=2**31, help="Random seed of the hidden layer.")
    ] = 0
    device: Annotated[
        str | None,
        typer.Option(help="Where to learn: cpu, cuda or another device of PyTorch, or auto."),
    ] = None

    def settings(self, task: str) -> dict[str, Any]:
        return {
            **super().settings(task),
            "hidden": units(self.hidden),
            "solver": self.solver,
            "alpha": number_or_auto("alpha", self.alpha),
            "epsilon": number_or_auto("epsilon", self.epsilon),
            "window": self.window,
            "seed": self.seed,
            "device": self.device,
        }


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command with an option for each field of those parameters that are groups of options."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if is_dataclass(p.annotation)
    }
    expanded: list[inspect.Parameter] = []
    for parameter in parameters:
        if parameter.name not in groups:
            expanded.append(parameter)
            continue
        hints = get_type_hints(groups[parameter.name], include_extras=True)
        for field in fields(groups[parameter.name]):
            option = parameter.replace(
                name=field.name, default=field.default, annotation=hints[field.name]
            )
            expanded.append(option)

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{f.name: values.pop(f.name) for f in fields(group)})
        command(**values)

    run.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in expanded}
    return run


def one_delimiter(delimiter: str | None) -> str | None:
    """The delimiter that was asked for, if it can be one."""
    delimiter = {"\\t": "\t", "tab": "\t", "space": " "}.get(delimiter or "", delimiter)
    usable = delimiter is None or (len(delimiter) == 1 and delimiter.isascii())
    if not usable or delimiter in ('"', "\r", "\n"):
        raise UserError(
            f"--delimiter {delimiter!r}: pass one ASCII character, tab or space, but no quote and "
            "no line break."
        )
    return delimiter


def names(values: Sequence[str] | None) -> list[str]:
    """Names given one by one, or several with commas between them."""
    return [name.strip() for value in values or () for name in value.split(",") if name.strip()]


def number_or_auto(option: str, value: str | None) -> Any:
    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError as error:
        raise UserError(f"--{option} {value}: pass a number or auto.") from error


def units(hidden: str) -> Any:
    if hidden == "auto":
        return hidden
    if not hidden.isdigit() or not 1 <= int(hidden) <= 100_000:
        raise UserError(f"--hidden {hidden}: pass auto or a number of units from 1 to 100000.")
    return int(hidden)


def given_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    usual = {
        "task": ("auto", "numbers"),
        "hidden": ("auto", "inputs", "stream"),
        "solver": ("opium",),
        "seed": (0,),
    }
    return {
        name: value
        for name, value in settings.items()
        if value and name != "device" and value not in usual.get(name, ())
    }


def check_left_out(settings: dict[str, Any], base: Path) -> None:
    """A model that is there has its own settings: say so instead of passing over others."""
    for name in given_settings(settings):
        option = name.replace("_", "-")
        raise UserError(f"--{option}: {base} has its own setting; leave this option out.")


def on_device(model: Any, settings: dict[str, Any]) -> Any:
    """A model that was read, where it is to go on learning."""
    try:
        return model if settings["device"] is None else model.to(settings["device"])
    except ValueError as error:
        raise UserError(f"--{error}") from error


def check_std_and_proba(model: Any, std: bool, proba: bool) -> None:
    """Find out at once that a model has no standard deviations, or no probabilities."""
    if std and model.task != "regression":
        raise UserError("--std: the model predicts classes; pass --proba for their probabilities.")
    if std and not model.says_how_sure:
        raise UserError(
            "--std: the solver light has no standard errors; train with another --solver."
        )
    if proba and model.task != "classification":
        raise UserError("--proba: the model predicts a number; pass --std for its standard error.")
