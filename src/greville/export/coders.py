"""The columns of a table model, as what each does to a value: what every format is written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..tables import TableModel

# Labels of late values (`Text.late`): "= red" for one, and these.
_GAP, _OTHER = "is missing", "is another"


@dataclass(frozen=True)
class Numeric:
    """A number; where it is missing, or one of `gaps`, `instead`, and maybe an input saying so.

    With `limits`, numbers beyond them are brought near, and an input says on which side they are.
    """

    name: str
    instead: float
    gaps: tuple[float, ...]
    says_missing: bool
    limits: tuple[float, ...] = ()


@dataclass(frozen=True)
class OneOf:
    """A one for each of some texts (numbers, where they are `numeric`), and one for all others.

    `late` has the other values with an input, behind those of all columns; each of these also
    counts as the value at the place `common`. Any other value may have an input behind these, and
    a missing one may have the last. What has none counts as a part of every value, unless it is
    missing and there were `gaps` to learn from.
    """

    name: str
    values: tuple[Any, ...]
    others: bool
    numeric: bool
    common: int
    late: tuple[Any, ...]
    late_others: bool
    late_gap: bool
    gaps: bool

    def shares(self) -> tuple[list[float], list[float]]:
        """The inputs of a value that has none, and its late inputs: the means of all values'."""
        n, late = len(self.values), len(self.late)
        shares = [1 / (n + late)] * n
        shares[self.common] += late / (n + late)
        return shares, [1 / (n + late)] * late


@dataclass(frozen=True)
class Days:
    """A date as days since 1970: the days since `origin`, and its place in each period."""

    name: str
    origin: float
    periods: tuple[float, ...]


@dataclass(frozen=True)
class Numbers:
    """So many numbers as they are."""

    name: str
    width: int


Coder = Numeric | OneOf | Days | Numbers


def coders_of(model: TableModel) -> list[Coder]:
    """What each used column of a table model becomes, in the order of the inputs."""
    return [_coder(column) for column in model.schema.used]


def notes_of(coders: list[Coder], model: TableModel) -> list[str]:
    """What whoever uses the exported model must know about its inputs."""
    kinds, notes = {column.name: column.kind for column in model.schema.used}, []
    folds = {column.name for column in model.schema.used if getattr(column, "folds", False)}
    for coder in coders:
        if isinstance(coder, Days):
            notes.append(f"{coder.name!r} is a number of days since 1970-01-01, not a date")
        if isinstance(coder, OneOf) and not (coder.others or coder.late_others):
            notes.append(
                f"a value of {coder.name!r} that was never learned counts as a part of each that "
                "was, where greville takes the mean of the predictions"
            )
        if coder.name in folds:
            notes.append(f"{coder.name!r} is text in small letters, without needless blanks")
        if kinds[coder.name] == "words":
            width = getattr(coder, "width", 0)
            notes.append(
                f"{coder.name!r} is the {width} numbers that greville makes of its words, not text"
            )
    return notes


def _coder(column: Any) -> Coder:
    if column.kind == "number":
        gaps = tuple(float(gap) for gap in column.numerals.gaps)
        return Numeric(column.name, column.median, gaps, column.missing, tuple(column.limits))
    if column.kind == "flag":
        return Numeric(column.name, 0.5, (), column.missing)
    if column.kind == "text":
        return _one_of(column)
    if column.kind == "time":
        return Days(column.name, column.origin, tuple(column.periods.values()))
    if column.kind in ("vector", "words"):
        return Numbers(column.name, column.width)
    raise ValueError(f"model: column {column.name!r} is {column.kind}, which cannot be exported.")


def _one_of(column: Any) -> OneOf:
    def value(text: str) -> Any:
        return float(text) if numeric else text

    named = [label.removeprefix("= ") for label in column.late if label.startswith("= ")]
    numeric = column.numbers and all(map(_is_number, [*column.values, *named]))
    # Sorted, so that values come first, then "is another", then "is missing".
    assert column.late == [f"= {value}" for value in named] + column.late[len(named) :]
    return OneOf(
        column.name,
        tuple(map(value, column.values)),
        column.others,
        numeric,
        column.common,
        tuple(map(value, named)),
        _OTHER in column.late,
        _GAP in column.late,
        column.gaps,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
