"""From columns of any kind to the numbers a hidden layer takes, learned from the first rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._batch import Batch, TableError
from ._columns import (
    TEXT,
    Floats,
    Mask,
    UnknownType,
    as_days,
    as_flags,
    as_numbers,
    as_text,
    as_vectors,
    kind_of,
    plain,
)

# Values of a text column with an input of their own; the others share one.
MOST_VALUES = 50

# Numbers in one value of a column of lists.
MOST_NUMBERS = 100_000

# A text column with nearly as many values as rows, such as a name, says nothing about other rows.
_NEARLY_ALL, _ENOUGH = 0.9, 50

# Days: what repeats is told by the place in its period.
_PERIODS = {"time of day": 1.0, "day of week": 7.0, "day of year": 365.2425}


class Column(ABC):
    """How one column becomes some inputs. The attributes are what goes into a model's file."""

    kind: ClassVar[str]
    wanted: ClassVar[str]

    def __init__(self, name: str, **settings: Any) -> None:
        self.name = name
        for key, value in settings.items():
            setattr(self, key, value)

    @classmethod
    @abstractmethod
    def learned(cls, name: str, column: Any) -> Column:
        """From the first rows."""

    @property
    @abstractmethod
    def inputs(self) -> list[str]:
        """The names of the inputs it becomes."""

    @abstractmethod
    def fill(self, column: Any, out: Floats) -> Mask:
        """Write the inputs of some rows; say which of the values cannot be used."""

    @abstractmethod
    def description(self) -> str:
        """What `greville info` says."""

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **vars(self)}


class Number(Column):
    """The number itself; where it is missing the median, and a sign that it is."""

    kind, wanted = "number", "a number"
    median: float
    missing: bool

    @classmethod
    def learned(cls, name: str, column: Any) -> Column:
        values, wrong = as_numbers(column)
        gaps = np.isnan(values)
        return cls(
            name, median=float(np.median(values[~gaps])), missing=bool((gaps & ~wrong).any())
        )

    @property
    def inputs(self) -> list[str]:
        return [self.name, f"{self.name} is missing"][: 1 + self.missing]

    def fill(self, column: Any, out: Floats) -> Mask:
        values, wrong = as_numbers(column)
        return _fill_with_gaps(values, self.median, self.missing, out, wrong)

    def description(self) -> str:
        return "number" + (f", {self.median:.6g} where it is missing" if self.missing else "")


class Flag(Column):
    """1 for true, 0 for false; a half where it is missing, and a sign that it is."""

    kind, wanted = "flag", "true or false"
    missing: bool

    @classmethod
    def learned(cls, name: str, column: Any) -> Column:
        return cls(name, missing=column.null_count > 0)

    @property
    def inputs(self) -> list[str]:
        return [self.name, f"{self.name} is missing"][: 1 + self.missing]

    def fill(self, column: Any, out: Floats) -> Mask:
        values, wrong = as_flags(column)
        return _fill_with_gaps(values, 0.5, self.missing, out, wrong)

    def description(self) -> str:
        return "true or false"


class Text(Column):
    """A one for each known value, and for the others together; nothing where it is missing."""

    kind, wanted = "text", "text"
    values: list[str]
    others: bool
    numbers: bool  # names that are numbers, in whatever way they are written

    @classmethod
    def learned(cls, name: str, column: Any) -> Column:
        numbers = kind_of(column) == "number"
        counts = Counter(_names(column, numbers).drop_null().to_pylist())
        common = sorted(counts, key=lambda value: (-counts[value], value))[:MOST_VALUES]
        others = len(counts) > MOST_VALUES
        return cls(name, values=sorted(common), others=others, numbers=numbers)

    @property
    def inputs(self) -> list[str]:
        named = [f"{self.name} = {value}" for value in self.values]
        return named + [f"{self.name} = another"] * self.others

    def fill(self, column: Any, out: Floats) -> Mask:
        out[:] = 0
        column = _names(column, self.numbers)
        places = pc.index_in(column, value_set=pa.array(self.values, TEXT))
        places = pc.fill_null(places, -1).to_numpy(zero_copy_only=False)
        known = places >= 0
        out[np.flatnonzero(known), places[known]] = 1
        if self.others:
            present = column.is_valid().to_numpy(zero_copy_only=False)
            out[present & ~known, -1] = 1
        return np.zeros(len(column), bool)

    def description(self) -> str:
        shown = ", ".join(self.values[:6]) + (", ..." if len(self.values) > 6 else "")
        return f"one of {len(self.values)}{' and others' * self.others}: {shown}"


class Time(Column):
    """Days since the first rows, and the places in the day, the week and the year."""

    kind, wanted = "time", "a date or time such as 2024-05-01 12:30"
    origin: float
    clock: bool

    @classmethod
    def learned(cls, name: str, column: Any) -> Column:
        days, _ = as_days(column)
        days = days[~np.isnan(days)]
        return cls(name, origin=float(np.floor(np.median(days))), clock=bool((days % 1 != 0).any()))

    @property
    def _periods(self) -> dict[str, float]:
        return {what: p for what, p in _PERIODS.items() if p > 1 or self.clock}

    @property
    def inputs(self) -> list[str]:
        circles = [f"{self.name}: {what}, {f}" for what in self._periods for f in ("sin", "cos")]
        return [f"{self.name}: days", *circles]

    def fill(self, column: Any, out: Floats) -> Mask:
        days, wrong = as_days(column)
        days = np.where(np.isnan(days), self.origin, days)
        out[:, 0] = days - self.origin
        for i, period in enumerate(self._periods.values()):
            angle = (2 * math.pi / period) * (days % period)
            out[:, 2 * i + 1], out[:, 2 * i + 2] = np.sin(angle), np.cos(angle)
        return wrong

    def description(self) -> str:
        return (
            "date"
            + (" and time" if self.clock else "")
            + ": "
            + ", ".join(["days", *self._periods])
        )


class Vector(Column):
    """A list of numbers, always as many."""

    kind, wanted = "vector", "a list of numbers"
    width: int

    @classmethod
    def learned(cls, name: str, column: Any) -> Column:
        return cls(name, width=int(pc.mode(pc.list_value_length(column))[0]["mode"].as_py()))

    @property
    def inputs(self) -> list[str]:
        return [f"{self.name}[{i}]" for i in range(self.width)]

    def fill(self, column: Any, out: Floats) -> Mask:
        out[:], wrong = as_vectors(column, self.width)
        return wrong

    def description(self) -> str:
        return f"{self.width} numbers"


class Ignored(Column):
    """A column that is not used."""

    kind, wanted = "ignored", "anything"
    why: str

    @classmethod
    def learned(cls, name: str, column: Any) -> Column:
        return cls(name, why="")

    @property
    def inputs(self) -> list[str]:
        return []

    def fill(self, column: Any, out: Floats) -> Mask:
        return np.zeros(len(column), bool)

    def description(self) -> str:
        return f"not used: {self.why}"


_KINDS: dict[str, type[Column]] = {
    cls.kind: cls for cls in (Number, Flag, Text, Time, Vector, Ignored)
}
_SETTINGS: dict[str, dict[str, type]] = {
    "number": {"median": float, "missing": bool},
    "flag": {"missing": bool},
    "text": {"values": list, "others": bool, "numbers": bool},
    "time": {"origin": float, "clock": bool},
    "vector": {"width": int},
    "ignored": {"why": str},
}


class Encoding:
    """How all columns of a table become inputs; it never changes.

    Parameters
    ----------
    columns : sequence of Column
        In the order of their inputs.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = list(columns)
        self.used = [column for column in self.columns if column.inputs]
        self.names = [column.name for column in self.used]
        self.inputs = [name for column in self.used for name in column.inputs]

    @classmethod
    def learned(cls, columns: dict[str, Any], categorical: Sequence[str] = ()) -> Encoding:
        """From the first rows of the columns, as Arrow arrays; `categorical` ones are text."""
        found = []
        for name, values in columns.items():
            try:
                found.append(_learned(name, plain(values), name in categorical))
            except UnknownType as error:
                found.append(Ignored(name, why=str(error)))
        return cls(found)

    def as_list(self) -> list[dict[str, Any]]:
        return [column.as_dict() for column in self.columns]

    @classmethod
    def from_list(cls, columns: Any) -> Encoding:
        """What `as_list` gave; an exception for anything else."""
        found = []
        for entry in columns:
            settings = dict(entry)
            kind, name = settings.pop("kind"), settings.pop("name")
            wanted = _SETTINGS[kind]
            if not isinstance(name, str) or settings.keys() != wanted.keys():
                raise ValueError(f"{kind}: its settings are not those of such a column.")
            for key, value in settings.items():
                if type(value) is not wanted[key]:
                    raise ValueError(f"{key}={value!r}: not of the right type.")
            if kind == "text" and not all(isinstance(value, str) for value in settings["values"]):
                raise ValueError("values: not all of them are text.")
            if kind == "vector" and not 1 <= settings["width"] <= MOST_NUMBERS:
                raise ValueError(f"width={settings['width']}: too many.")
            found.append(_KINDS[kind](name, **settings))
        return cls(found)

    def check_columns(self, batch: Batch) -> None:
        """Raise a TableError for columns that a table does not have.

        Lines of JSON may leave out what is missing, but not everything.
        """
        names = batch.table.schema.names
        missing = [column.name for column in self.used if column.name not in set(names)]
        if missing and (not batch.sparse or len(missing) == len(self.used)):
            raise TableError(
                f"{batch.source}: it has no column {listed(missing)}, which the model was trained "
                f"with; it has {listed(names)}."
            )

    def encode(self, batch: Batch) -> tuple[Floats, dict[int, str]]:
        """The inputs of all rows, and for rows that have none, what is wrong with them."""
        table = batch.table
        self.check_columns(batch)
        there = set(table.schema.names)
        out = np.empty((len(batch), len(self.inputs)))
        wrong: dict[int, str] = {}
        start = 0
        for column in self.used:
            stop = start + len(column.inputs)
            known = column.name in there
            raw = table.column(column.name) if known else pa.nulls(len(batch), TEXT)
            try:
                values = plain(raw)
            except UnknownType as error:
                raise TableError(f"{batch.source}: column {column.name!r}: {error}.") from error
            bad = column.fill(values, out[:, start:stop])
            for row in np.flatnonzero(bad):
                wrong.setdefault(
                    int(row),
                    f"column {column.name!r} should be {column.wanted}, got {shown(raw[int(row)])}",
                )
            start = stop
        return out, wrong


def numbers(batch: Batch, name: str) -> tuple[Floats, dict[int, str]]:
    """A column as numbers, nan where one is missing, and what is wrong with rows."""
    raw = batch.table.column(name)
    try:
        values, wrong = as_numbers(plain(raw))
    except UnknownType as error:
        raise TableError(f"{batch.source}: column {name!r}: {error}.") from error
    reason = f"column {name!r} should be a number, got "
    return values, {int(row): reason + shown(raw[int(row)]) for row in np.flatnonzero(wrong)}


def _learned(name: str, column: Any, categorical: bool) -> Column:
    kind = kind_of(column)
    if kind == "empty":
        return Ignored(name, why="nothing that can be used in the first rows")
    if categorical and kind != "vector":
        return Text.learned(name, column)
    if kind == "text":
        n = len(column) - column.null_count
        distinct = pc.count_distinct(column).as_py()
        if n >= _ENOUGH and distinct > _NEARLY_ALL * n:
            return Ignored(name, why="text with a different value in nearly every row")
    learned = _KINDS[kind].learned(name, column)
    if isinstance(learned, Vector) and not 1 <= learned.width <= MOST_NUMBERS:
        return Ignored(name, why=f"lists of {learned.width:,} numbers")
    return learned


def _fill_with_gaps(values: Floats, instead: float, sign: bool, out: Floats, wrong: Mask) -> Mask:
    gaps = np.isnan(values)
    out[:, 0] = np.where(gaps, instead, values)
    if sign:
        out[:, 1] = gaps
    return wrong


def _names(column: Any, numbers: bool) -> Any:
    """What is text; of numbers, the same for 3, 3.0 and "3"."""
    if not (numbers and column.type == TEXT):
        return as_text(column)
    values, _ = as_numbers(column)
    exact = pa.array(np.abs(values) < 2.0**53)  # not what is too large, or no number
    return pc.if_else(exact, as_text(pa.array(values, from_pandas=True)), as_text(column))


def listed(names: Sequence[str]) -> str:
    """Some names, for a message."""
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def shown(value: Any) -> str:
    text = repr(value.as_py())
    return text if len(text) <= 60 else text[:57] + "..."
