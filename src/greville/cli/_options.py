"""What can be said on a command line: options that several commands have, and what they mean."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class OnError(StrEnum):
    """What to do with rows that cannot be used."""

    stop = "stop"
    skip = "skip"


class Task(StrEnum):
    """What the target is."""

    auto = "auto"
    regression = "regression"
    classification = "classification"


class Format(StrEnum):
    """Formats, where the name of a file does not say it."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"
    npy = "npy"
    npz = "npz"


class SolverName(StrEnum):
    """How the output weights are learned."""

    opium = "opium"
    dynamic = "dynamic"
    sliding = "sliding"
    light = "light"
    greville = "greville"


Data = Annotated[
    list[str],
    typer.Argument(help="Files, folders, patterns, or - for standard input.", show_default=False),
]
Model = Annotated[Path, typer.Argument(help="A model file.", show_default=False)]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error", help="Stop at a row that cannot be used, or skip and count such rows."
    ),
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="The format, where names do not say it.")
]
DelimiterOption = Annotated[
    str | None, typer.Option("--delimiter", help="Between the fields of a CSV; found by itself.")
]
NoHeaderOption = Annotated[
    bool, typer.Option("--no-header", help="The CSV has no line of names; columns are 0, 1, 2, ...")
]
EncodingOption = Annotated[
    str, typer.Option("--encoding", help="The encoding of a CSV, such as latin-1.")
]
TargetOption = Annotated[str | None, typer.Option("--target", "-t", help="The column to predict.")]
HiddenOption = Annotated[
    str, typer.Option(help="Hidden units: a number, or auto (by inputs and rows, 100 to 1000).")
]
SolverOption = Annotated[
    SolverName,
    typer.Option(help="dynamic and sliding forget old rows; light is fast and approximate."),
]
AlphaOption = Annotated[str | None, typer.Option(help="How fast dynamic forgets: 1.003, or auto.")]
EpsilonOption = Annotated[str | None, typer.Option(help="The ridge: a number, or auto.")]
WindowOption = Annotated[int | None, typer.Option(help="How many rows count, for sliding.")]
SeedOption = Annotated[int, typer.Option(min=0, max=2**31, help="Of the hidden layer.")]
FeaturesOption = Annotated[
    list[str] | None, typer.Option(help="Columns to learn from; all others by default.")
]
IgnoreOption = Annotated[list[str] | None, typer.Option(help="Columns not to use.")]
CategoricalOption = Annotated[
    list[str] | None, typer.Option(help="Columns of numbers that are names, such as codes.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


def one_delimiter(delimiter: str | None) -> str | None:
    from ..tables import TableError

    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    usable = delimiter is None or (len(delimiter) == 1 and delimiter.isascii())
    if not usable or delimiter in ('"', "\r", "\n"):
        raise TableError(
            f"--delimiter {delimiter!r}: pass one character of ASCII, or tab; no quote, and no end "
            "of a line."
        )
    return delimiter


def reading(format: Any, delimiter: str | None, no_header: bool, encoding: str) -> Any:
    from ..tables import Reading, TableError

    try:
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError) as error:
        raise TableError(f"--encoding {encoding}: there is no such encoding.") from error
    form = None if format is None else str(format)
    return Reading(form, one_delimiter(delimiter), not no_header, encoding)


def names(values: Sequence[str] | None) -> list[str]:
    """Names given one by one, or several with commas between them."""
    return [name.strip() for value in values or () for name in value.split(",") if name.strip()]


def number_or_auto(option: str, value: str | None) -> Any:
    from ..tables import TableError

    if value is None or value == "auto":
        return value
    try:
        return float(value)
    except ValueError as error:
        raise TableError(f"--{option} {value}: pass a number or auto.") from error


def units(hidden: str) -> Any:
    from ..tables import TableError

    if hidden == "auto":
        return hidden
    if not hidden.isdigit() or not 1 <= int(hidden) <= 100_000:
        raise TableError(f"--hidden {hidden}: pass auto or a number of units from 1 to 100000.")
    return int(hidden)


def settings_of_a_model(
    task: str,
    hidden: str,
    solver: str,
    alpha: str | None,
    epsilon: str | None,
    window: int | None,
    seed: int,
    features: Sequence[str] | None,
    ignore: Sequence[str] | None,
    categorical: Sequence[str] | None,
) -> dict[str, Any]:
    """The options of train and stream as the parameters of a `TableModel`."""
    return {
        "task": str(task),
        "hidden": units(hidden),
        "solver": str(solver),
        "alpha": number_or_auto("alpha", alpha),
        "epsilon": number_or_auto("epsilon", epsilon),
        "window": window,
        "seed": seed,
        "features": names(features) or None,
        "ignore": names(ignore),
        "categorical": names(categorical),
    }


def check_left_out(settings: dict[str, Any], base: Path) -> None:
    """A model that is there has its own settings: say so instead of passing over others."""
    from ..tables import TableError

    usual = {
        "task": ("auto", "numbers"),
        "hidden": ("auto", "inputs"),
        "solver": ("opium",),
        "seed": (0,),
    }
    for name, value in settings.items():
        if value and value not in usual.get(name, ()):
            raise TableError(f"--{name}: {base} has settings of its own; leave it out.")
