"""The options that several commands have, and what they mean for the library.

Parameters
----------
data
    Files, folders, quoted patterns, a query of SQL, or - for standard input.
model
    A model file.
target : COLUMN
    The column to predict.
task
    auto: classification if the target is text, true or false, or a few whole numbers.
std
    Add std, the standard error of each number.
proba
    Add the probability of each class.
output : PATH
    The file to write.
seed : N
    Random seed of the hidden layer.
as_json
    Print the result as JSON.
quiet
    Print no progress and no summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from ..tables.readers.formats import formats
from ._terminal import UserError, as_option, fixable

Count = Annotated[int, {"min": 1}]
Seed = Annotated[int, {"min": 0, "max": 2**31}]
Names = list[str] | None

# Options that take a number, or a word such as auto.
_NUMBERS = ("hidden", "alpha", "epsilon")

_FORMATS = "|".join(formats())


class OnError(StrEnum):
    """The action for rows that cannot be used."""

    stop = "stop"
    skip = "skip"


class Task(StrEnum):
    """The kind of target that a model predicts."""

    auto = "auto"
    regression = "regression"
    classification = "classification"


@dataclass(frozen=True)
class ReadingOptions:
    """Options that say how data are read.

    Parameters
    ----------
    on_error
        At a row that cannot be used: stop, or skip it. Skipped rows are counted.
    format
        The format of the data. Detected by default.
    delimiter : MARK
        The separator of a CSV: one character, tab, or space. Detected by default.
    header
        Whether the first row has the names of the columns. If not, they are called 0, 1, 2, ...
    encoding : NAME
        The encoding of text, such as cp1252. Detected by default.
    table : NAME
        Which table, if a file has several: a sheet, a database table, a file in a zip.
    skip_rows : LINES
        How many lines above the names of the columns are left out. Detected by default.
    where : SQL
        A condition of SQL, such as "year > 2000": only such rows are read.
    """

    on_error: OnError = OnError.stop
    format: Annotated[str | None, {"metavar": f"<{_FORMATS}>"}] = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    table: str | None = None
    skip_rows: Annotated[int, {"min": 0}] = 0
    where: str | None = None

    def reading(self, column: str | None = None, hints: Any = None) -> Any:
        """Return the options for the library's readers; `column` is a column of the table."""
        from ..tables import Reading

        options = asdict(self)
        del options["on_error"]
        return Reading(**options, column=column, hints=hints)


@dataclass(frozen=True)
class ColumnOptions:
    """Options that say which columns are used, and how they are written.

    Parameters
    ----------
    features : COLUMNS
        Columns to learn from. All others by default.
    ignore : COLUMNS
        Columns not to use.
    categorical : COLUMNS
        Numeric columns to treat as categories.
    decimal : MARK
        The decimal mark: a point or a comma. Detected by default.
    thousands : MARK
        The mark between thousands: a comma, a point, a space or an apostrophe.
    na : VALUE
        A value that means missing. May be repeated.
    date_format : FORMAT
        How dates are written, such as %d/%m/%Y; or seconds or milliseconds since 1970.
    number : COLUMNS
        Columns that are numbers, whatever they look like.
    text : COLUMNS
        Columns that are text, whatever they look like.
    fold : COLUMNS
        Text columns, or the target, in which small letters and blanks make no difference.
    categories : N
        How many values of a text column are told apart. By default 50, and as many as come in
        three of the first rows.
    """

    features: Names = None
    ignore: Names = None
    categorical: Names = None
    decimal: str | None = None
    thousands: str | None = None
    na: Names = None
    date_format: str | None = None
    number: Names = None
    text: Names = None
    fold: Names = None
    categories: Annotated[int | None, {"min": 1}] = None

    def settings(self, task: str = "auto") -> dict[str, Any]:
        """Return parameters of a `TableModel`: the options whose values are not the defaults."""
        settings: dict[str, Any] = {} if task == "auto" else {"task": str(task)}
        for field in fields(self):
            value = getattr(self, field.name)
            if value in (field.default, []):
                continue
            if field.name in _NUMBERS:
                value = number_or_word(value)
            elif isinstance(value, list) and field.name != "na":
                value = names(value)
            settings[field.name] = value
        return settings

    def hints(self) -> Any:
        """Return how columns are written."""
        from ..tables import Hints

        return Hints(**self.settings())


@dataclass(frozen=True)
class ModelOptions(ColumnOptions):
    """Options of a new model.

    Parameters
    ----------
    hidden : N
        The number of hidden units, or auto or stream: chosen from the inputs and rows. Tables have
        auto, streams stream.
    solver : NAME
        opium and greville are exact, dynamic and sliding forget old rows, light is fast and
        approximate. Tables have opium, streams dynamic with --alpha auto.
    alpha : NUMBER
        How fast the solver dynamic forgets: 1.003, or auto.
    epsilon : NUMBER
        The size of the ridge: a number, or auto.
    window : N
        How many rows the solver sliding uses.
    device : NAME
        Where to learn: cpu, cuda or another device of PyTorch, or auto.
    """

    hidden: str | None = None
    solver: str | None = None
    alpha: str | None = None
    epsilon: str | None = None
    window: int | None = None
    seed: Seed = 0
    device: str | None = None

    def place(self, model: Any) -> Any:
        """Move a model that was read to the device where it continues to learn."""
        with fixable():
            return model if self.device is None else model.to(self.device)

    def going_on(self, model: Any, base: Path, target: str | None, task: str) -> Any:
        """Return a model to learn more rows; a UserError if options would change the model."""
        if target not in (None, model.target):
            raise UserError(
                f"--target {target}: {base} learns {model.target!r}; leave --target out."
            )
        for name in self.settings(task):
            if name != "device":
                option = as_option(name, None)
                raise UserError(f"{option}: {base} has its own setting; leave this option out.")
        return self.place(model)


def names(values: Sequence[str] | None) -> list[str]:
    """Names given one by one, or several with commas between them."""
    return [name.strip() for value in values or () for name in value.split(",") if name.strip()]


def number_or_word(text: str) -> Any:
    """Convert a text to a number; other text is returned unchanged, for the library to check."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def check_std_and_proba(model: Any, std: bool, proba: bool) -> None:
    """Raise an error at once if the model has no standard deviations, or no probabilities."""
    if std and model.task != "regression":
        raise UserError("--std: the model predicts classes; pass --proba for their probabilities.")
    if std and not model.says_how_sure:
        raise UserError(
            "--std: the solver light has no standard errors; train with another --solver."
        )
    if proba and model.task != "classification":
        raise UserError("--proba: the model predicts a number; pass --std for its standard error.")
