"""What the commands share: options, messages, exit codes."""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

P = ParamSpec("P")
R = TypeVar("R")

OURS, YOURS = 1, 2  # exit codes: a mistake of ours, and something for the user to mend


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


def reported(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose errors are one sentence, and whose exit codes mean something."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with warnings.catch_warnings():
                if not os.environ.get("GREVILLE_DEBUG"):
                    warnings.simplefilter("ignore")  # they speak to programmers
                return command(*args, **kwargs)
        except (typer.Exit, typer.Abort, KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get("GREVILLE_DEBUG"):
                traceback.print_exc()
            if isinstance(error, ModuleNotFoundError):
                fail(
                    f"This needs {error.name}; install it with: pip install 'greville[cli]'", YOURS
                )
            if isinstance(error, OSError):
                fail(_of_the_system(error), YOURS)
            if isinstance(error, MemoryError):
                fail("There is not enough memory; try fewer units with --hidden.", YOURS)
            if _is_yours(error):
                fail(f"{error}", YOURS)
            fail(
                f"This is a mistake in greville, not in your data: {type(error).__name__}: {error}."
                " Please report it; GREVILLE_DEBUG=1 shows where it happened.",
                OURS,
            )
            raise AssertionError from error

    return run


def _is_yours(error: Exception) -> bool:
    from ..files import ModelFileError
    from ..tables import TableError

    return isinstance(error, (TableError, ModelFileError))


def _of_the_system(error: OSError) -> str:
    name = error.filename2 or error.filename
    where = f"{name}: " if name else ""
    advice = {
        errno.ENOSPC: "the disk is full; make room and try again",
        errno.EDQUOT: "the disk quota is used up; make room and try again",
        errno.EFBIG: "files may not become as large here",
        errno.EACCES: "it may not be read or written; look at its permissions",
        errno.EPERM: "it may not be read or written; look at its permissions",
        errno.EROFS: "it is on a disk that cannot be written",
        errno.ENOENT: "there is no such file or folder",
        errno.EISDIR: "it is a folder, not a file",
        errno.ENOTDIR: "a part of it is a file, not a folder",
    }.get(error.errno or 0, error.strerror or str(error))
    return f"{where}{advice}."


def fail(message: str, code: int) -> None:
    with suppress(BrokenPipeError):
        typer.echo(message, err=True)
    raise typer.Exit(code)


def say(message: str) -> None:
    """A line for the user, out of the way of what a program reads."""
    typer.echo(message, err=True)


def show_json(tree: Any) -> None:
    typer.echo(json.dumps(_without_nan(tree), indent=2, default=str))


def _without_nan(tree: Any) -> Any:
    """JSON knows no nan and no infinity."""
    if isinstance(tree, dict):
        return {key: _without_nan(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_without_nan(value) for value in tree]
    return None if isinstance(tree, float) and not isfinite(tree) else tree


def load_table_model(path: Path) -> Any:
    """The model of a file, if it is one of tables."""
    from ..files import ModelFileError, load
    from ..tables import Stream, TableModel

    if not path.exists():
        raise ModelFileError(f"{path}: there is no such file.")
    model = load(path)
    if isinstance(model, Stream):
        model = model.settled()
    if not isinstance(model, TableModel):
        raise ModelFileError(
            f"{path}: it holds a {type(model).__name__} saved from Python; this command needs a "
            "model made by greville train or greville stream."
        )
    return model.settle()


def check_writable(path: Path) -> None:
    """Find out at once that a file cannot be written there, not after hours."""
    from ..tables import TableError

    if path.is_dir():
        raise TableError(f"{path}: it is a folder; name a file in it.")
    if path.exists() and not path.is_file():
        raise TableError(f"{path}: it is not a plain file; name another.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise TableError(f"{path}: the folder {folder} is not there; make it first.")
    if not os.access(folder, os.W_OK):
        raise TableError(f"{path}: nothing may be written in {folder}; look at its permissions.")


def check_apart(output: Path | None, sources: Any) -> None:
    """Nobody wants to lose the data."""
    from ..tables import TableError

    if output is None or not output.exists():
        return
    for source in sources:
        if source.path is not None and os.path.samefile(output, source.path):
            raise TableError(f"{output}: it is one of the files to read; name another for output.")


def counted(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def check_picture(path: Path | None) -> None:
    """The same for a picture."""
    from ..tables import TableError

    if path is not None:
        check_writable(path)
        if path.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise TableError(f"--plot {path}: end its name in .png, .svg or .pdf.")


def save_picture(figure: Any, path: Path) -> None:
    from ..files import whole_file

    with whole_file(path) as new:
        figure.savefig(new, format=path.suffix.lower()[1:], dpi=150)


def one_delimiter(delimiter: str | None) -> str | None:
    from ..tables import TableError

    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise TableError(f"--delimiter {delimiter!r}: pass one character, or tab.")
    return delimiter


def reading(format: Any, delimiter: str | None, no_header: bool, encoding: str) -> Any:
    from ..tables import Reading, TableError

    try:
        "".encode(encoding)
    except LookupError as error:
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


def report_troubles(troubles: Any) -> None:
    if troubles.count:
        were = "was" if troubles.count == 1 else "were"
        say(f"{counted(troubles.count, 'row')} {were} skipped, for instance:")
        for what in troubles.first:
            say(f"  {what}")


@contextmanager
def quiet_when_nobody_reads() -> Iterator[None]:
    """Output that goes into a closed pipe, as with head, is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
