"""The columns of a table model, as what each does to a value: what every format is written from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..backend import Array
from ..tables import Batch, TableModel
from ..tables.kinds import GAP, OTHER


class Numeric(NamedTuple):
    """A number; a missing one, or one of `gaps`, becomes `instead` and may set an input.

    With `limits`, numbers beyond them are missing, too.
    """

    name: str
    places: list[int]
    instead: float
    gaps: tuple[float, ...]
    says_missing: bool
    limits: tuple[float, ...] = ()


class OneOf(NamedTuple):
    """A category: one of some texts or, if `numeric`, of some numbers.

    `codes` has the inputs of each value, and in two more rows those of any other value and of a
    missing one.
    """

    name: str
    places: list[int]
    values: tuple[Any, ...]
    numeric: bool
    codes: Array


class Days(NamedTuple):
    """A date as days since 1970: the days since `origin`, and its place in each period."""

    name: str
    places: list[int]
    origin: float
    periods: tuple[float, ...]


class Numbers(NamedTuple):
    """Numbers as they are."""

    name: str
    places: list[int]


ColumnCode = Numeric | OneOf | Days | Numbers


def codes_of(model: TableModel) -> list[ColumnCode]:
    """Return the code of each used column of a table model; `places` are its inputs' indices."""
    places = model.schema.places
    return [_code(model, column, places[column.name]) for column in model.schema.used]


def notes_of(model: TableModel) -> list[str]:
    """Return notes about the inputs for users of the exported model."""
    notes: list[str] = []
    used: list[Any] = model.schema.used
    for column in used:
        name = repr(column.name)
        if column.kind == "time":
            notes.append(f"{name} is a number of days since 1970-01-01, not a date")
        if getattr(column, "folds", False):
            notes.append(f"{name} is text in small letters, without needless blanks")
        if column.kind == "words":
            notes.append(
                f"{name} is the {column.width} numbers that greville makes of its words, not text"
            )
    return notes


def _code(model: TableModel, column: Any, places: list[int]) -> ColumnCode:
    name = column.name
    if column.kind == "number":
        gaps = tuple(float(gap) for gap in column.numerals.gaps)
        return Numeric(name, places, column.median, gaps, column.missing, tuple(column.limits))
    if column.kind == "flag":
        return Numeric(name, places, 0.5, (), column.missing)
    if column.kind == "text":
        return _one_of(model, column, places)
    if column.kind == "time":
        return Days(name, places, column.origin, tuple(column.periods.values()))
    if column.kind in ("vector", "words"):
        return Numbers(name, places)
    raise ValueError(f"model: column {name!r} is {column.kind}, which cannot be exported.")


def _one_of(model: TableModel, column: Any, places: list[int]) -> OneOf:
    names = [*column.values, *(name for name in column.late if name not in (GAP, OTHER))]
    numeric = column.numbers and all(map(_is_number, names))
    other = max(names, key=len) + "?"
    rows = pa.record_batch({column.name: pa.array([*names, other, None], pa.large_string())})
    batch = Batch(rows, "codes", np.arange(rows.num_rows), 1.0, sparse=True)
    codes = model.schema.with_learned_values(model.schema.encode(batch)[0])[:, places]
    shown = tuple(map(float, names)) if numeric else tuple(names)
    return OneOf(name=column.name, places=places, values=shown, numeric=numeric, codes=codes)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
