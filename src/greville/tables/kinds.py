"""The kinds of columns, and how each becomes inputs: numbers, flags, text, times, vectors.

A new kind is a class here, its place in `KINDS`, and a word for it from `Values.kind`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._values import EXACT, TEXT, Floats, Mask, Values

# Values of a text column with an input of their own; the others share one.
MOST_CATEGORIES = 50

# Numbers in one value of a column of lists.
WIDEST_VECTOR = 100_000

# A text column with nearly as many values as rows, such as a name, says nothing about other rows.
_SHARE_OF_UNIQUE, _ROWS_OF_UNIQUE = 0.9, 50

# Days: what repeats is told by the place in its period.
_PERIODS = {"time of day": 1.0, "day of week": 7.0, "day of year": 365.2425}

_FIELD_TYPES = {"float": float, "bool": bool, "int": int, "str": str, "list[str]": list}


@dataclass(frozen=True)
class Column(ABC):
    """How one column becomes some inputs. The fields are what goes into a model's file."""

    kind: ClassVar[str]
    wanted: ClassVar[str]
    name: str

    @classmethod
    @abstractmethod
    def fit(cls, name: str, values: Values) -> Column:
        """What it is, from the first rows."""

    @property
    @abstractmethod
    def inputs(self) -> list[str]:
        """The names of the inputs it becomes."""

    @abstractmethod
    def fill(self, values: Values, out: Floats) -> Mask:
        """Write the inputs of some rows; say which of the values cannot be used."""

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        """The inputs of one value of the usual type, as `fill` writes them; None for others."""
        return None

    @abstractmethod
    def description(self) -> str:
        """What it is, in words."""

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Raise a ValueError if the fields do not go together."""

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> Self:
        """What `as_dict` gave, less its kind; a ValueError for anything else."""
        types = {field.name: _FIELD_TYPES[str(field.type)] for field in fields(cls)}
        if settings.keys() != types.keys():
            raise ValueError(f"{cls.kind}: its settings are not those of such a column.")
        for key, value in settings.items():
            if type(value) is not types[key]:
                raise ValueError(f"{key}={value!r}: not of the right type.")
        column = cls(**settings)
        column.check()
        return column


@dataclass(frozen=True)
class Number(Column):
    """The number itself; where it is missing the median, and an input that says so."""

    kind, wanted = "number", "a number"
    median: float
    missing: bool

    @classmethod
    def fit(cls, name: str, values: Values) -> Column:
        numbers, wrong = values.numbers
        gaps = np.isnan(numbers)
        return cls(name, float(np.median(numbers[~gaps])), bool((gaps & ~wrong).any()))

    @property
    def inputs(self) -> list[str]:
        return _with_sign_of_gaps(self.name, self.missing)

    def fill(self, values: Values, out: Floats) -> Mask:
        return _fill_with_gaps(*values.numbers, self.median, self.missing, out)

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        usual = isinstance(value, float) or type(value) is int
        if usual and -EXACT <= value <= EXACT:
            return (value, 0.0) if self.missing else (value,)
        return None

    def description(self) -> str:
        return "number" + (f", {self.median:.6g} where it is missing" if self.missing else "")


@dataclass(frozen=True)
class Flag(Column):
    """1 for true, 0 for false; a half where it is missing, and an input that says so."""

    kind, wanted = "flag", "true or false"
    missing: bool

    @classmethod
    def fit(cls, name: str, values: Values) -> Column:
        return cls(name, values.plain.null_count > 0)

    @property
    def inputs(self) -> list[str]:
        return _with_sign_of_gaps(self.name, self.missing)

    def fill(self, values: Values, out: Floats) -> Mask:
        return _fill_with_gaps(*values.flags, 0.5, self.missing, out)

    def description(self) -> str:
        return "true or false"


@dataclass(frozen=True)
class Text(Column):
    """A one for each known value, and for the others together; zeros where it is missing.

    `numbers` says that the values are numbers, in whatever way they are written.
    """

    kind, wanted = "text", "text"
    values: list[str]
    others: bool
    numbers: bool

    @classmethod
    def fit(cls, name: str, values: Values) -> Column:
        numbers = values.kind == "number"
        counts = Counter(_names(values, numbers).drop_null().to_pylist())
        common = sorted(counts, key=lambda value: (-counts[value], value))[:MOST_CATEGORIES]
        return cls(name, sorted(common), len(counts) > MOST_CATEGORIES, numbers)

    @property
    def inputs(self) -> list[str]:
        named = [f"{self.name} = {value}" for value in self.values]
        return named + [f"{self.name} = another"] * self.others

    def fill(self, values: Values, out: Floats) -> Mask:
        out[:] = 0
        names = _names(values, self.numbers)
        places = pc.index_in(names, value_set=pa.array(self.values, TEXT))
        places = pc.fill_null(places, -1).to_numpy(zero_copy_only=False)
        known = places >= 0
        out[np.flatnonzero(known), places[known]] = 1
        if self.others:
            present = names.is_valid().to_numpy(zero_copy_only=False)
            out[present & ~known, -1] = 1
        return np.zeros(len(values), bool)

    def description(self) -> str:
        shown = ", ".join(self.values[:6]) + (", ..." if len(self.values) > 6 else "")
        return f"one of {len(self.values)}{' and others' * self.others}: {shown}"

    def check(self) -> None:
        if not all(isinstance(value, str) for value in self.values):
            raise ValueError("values: not all of them are text.")


@dataclass(frozen=True)
class Time(Column):
    """Days since the first rows, and the places in the day, the week and the year."""

    kind, wanted = "time", "a date or time such as 2024-05-01 12:30"
    origin: float
    clock: bool

    @classmethod
    def fit(cls, name: str, values: Values) -> Column:
        days = values.days[0][~np.isnan(values.days[0])]
        return cls(name, float(np.floor(np.median(days))), bool((days % 1 != 0).any()))

    @property
    def _periods(self) -> dict[str, float]:
        return {what: p for what, p in _PERIODS.items() if p > 1 or self.clock}

    @property
    def inputs(self) -> list[str]:
        circles = [f"{self.name}: {what}, {f}" for what in self._periods for f in ("sin", "cos")]
        return [f"{self.name}: days", *circles]

    def fill(self, values: Values, out: Floats) -> Mask:
        days, wrong = values.days
        days = np.where(np.isnan(days), self.origin, days)
        out[:, 0] = days - self.origin
        for i, period in enumerate(self._periods.values()):
            angle = (2 * math.pi / period) * (days % period)
            out[:, 2 * i + 1], out[:, 2 * i + 2] = np.sin(angle), np.cos(angle)
        return wrong

    def description(self) -> str:
        return f"date{' and time' * self.clock}: {', '.join(['days', *self._periods])}"


@dataclass(frozen=True)
class Vector(Column):
    """A list of numbers, always as many."""

    kind, wanted = "vector", "a list of numbers"
    width: int

    @classmethod
    def fit(cls, name: str, values: Values) -> Column:
        width = pc.mode(pc.list_value_length(values.plain))[0]["mode"].as_py()
        if not 1 <= width <= WIDEST_VECTOR:
            return Ignored(name, f"lists of {width:,} numbers")
        return cls(name, int(width))

    @property
    def inputs(self) -> list[str]:
        return [f"{self.name}[{i}]" for i in range(self.width)]

    def fill(self, values: Values, out: Floats) -> Mask:
        out[:], wrong = values.vectors(self.width)
        return wrong

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        usual = (
            type(value) is list and len(value) == self.width and set(map(type, value)) == {float}
        )
        return value if usual and math.isfinite(math.fsum(map(abs, value))) else None

    def description(self) -> str:
        return f"{self.width} numbers"

    def check(self) -> None:
        if not 1 <= self.width <= WIDEST_VECTOR:
            raise ValueError(f"width={self.width}: it must be from 1 to {WIDEST_VECTOR}.")


@dataclass(frozen=True)
class Ignored(Column):
    """A column that is not used."""

    kind, wanted = "ignored", "anything"
    why: str

    @classmethod
    def fit(cls, name: str, values: Values) -> Column:
        return cls(name, "nothing that can be used in the first rows")

    @property
    def inputs(self) -> list[str]:
        return []

    def fill(self, values: Values, out: Floats) -> Mask:
        return np.zeros(len(values), bool)

    def description(self) -> str:
        return f"not used: {self.why}"


KINDS: dict[str, type[Column]] = {
    cls.kind: cls for cls in (Number, Flag, Text, Time, Vector, Ignored)
}


def fit_column(name: str, values: Values, categorical: bool) -> Column:
    """What a column is, from its first rows."""
    kind = values.kind
    if kind == "empty":
        return Ignored.fit(name, values)
    if categorical and kind != "vector":
        return Text.fit(name, values)
    if kind == "text":
        n = len(values) - values.plain.null_count
        distinct = pc.count_distinct(values.plain).as_py()
        if n >= _ROWS_OF_UNIQUE and distinct > _SHARE_OF_UNIQUE * n:
            return Ignored(name, "text with a different value in nearly every row")
    return KINDS[kind].fit(name, values)


def _with_sign_of_gaps(name: str, missing: bool) -> list[str]:
    return [name, f"{name} is missing"][: 1 + missing]


def _fill_with_gaps(
    values: Floats, wrong: Mask, instead: float, missing: bool, out: Floats
) -> Mask:
    gaps = np.isnan(values)
    out[:, 0] = np.where(gaps, instead, values)
    if missing:
        out[:, 1] = gaps
    return wrong


def _names(values: Values, numbers: bool) -> Any:
    return values.names_of_numbers if numbers else values.text
