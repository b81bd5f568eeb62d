"""The kinds of columns, and how each becomes inputs: numbers, flags, text, times, lists.

A new kind is a class here, its place in `KINDS`, and a word for it from `Values.kind`.
"""

from __future__ import annotations

import math
import re
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..fields import count, each, finite, flag, instance_of, require, stored, text, within
from . import dates
from ._outliers import find_limits
from ._values import EXACT, LARGEST, TEXT, Floats, Mask, Values, folded
from .decisions import Decision, Hints
from .findings import Finding
from .numerals import PLAIN, Numerals

# Values of a text column that go through the hidden layer; others are units themselves, each in so
# many of the first rows, and so many in a table. The rest share one.
_MOST_INPUTS, _LEAST_ROWS, MOST_UNITS = 50, 3, 500

# Late values besides those that are written: a missing one, and all that are too many.
GAP, OTHER = "", "\0"

# Codes of values of text that have no input: one that was never there, and a missing one.
_UNKNOWN, _MISSING = -2, -1

# Numbers in one value of a column of lists.
WIDEST_VECTOR = 100_000

# Inputs that share all words of free text.
_WORD, _WIDTH_OF_WORDS, _WIDEST_OF_WORDS = re.compile(r"\w+"), 128, 4096

# Days: what repeats is told by the place in its period.
_PERIODS = {"time of day": 1.0, "day of week": 7.0, "day of year": 365.2425}


@dataclass(frozen=True)
class Column(ABC):
    """The rule by which a column becomes inputs. Its fields are stored in a model's file."""

    kind: ClassVar[str]
    wants: ClassVar[str]
    name: Annotated[str, text]

    @classmethod
    @abstractmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        """Make a column from its values in the first rows and how they are written."""

    def findings(self, values: Values) -> list[Finding]:
        """Return what the owner of the column should know, besides what was decided."""
        return []

    @property
    def expected(self) -> str:
        """Say what the values of the column should be, for a message."""
        return self.wants

    @property
    @abstractmethod
    def inputs(self) -> list[str]:
        """Names of the inputs that the column becomes."""

    @abstractmethod
    def fill(self, values: Values, out: Floats) -> Mask:
        """Write the inputs of some rows into zeros; return a mask of values that cannot be used."""

    def unlearned(self, values: Values, learned: Mask) -> Mask | None:
        """Return a mask of values that no learned row had; None if any may be learned.

        `learned` says which of the inputs were one in a row that was learned.
        """
        return None

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        """The inputs of one value of the usual type, as `fill` writes them; None for others."""
        return None

    def ordered(self, values: Values) -> tuple[Floats, Mask] | None:
        """Return values as numbers or days, and a mask of wrong ones; None without an order."""
        return None

    @abstractmethod
    def description(self) -> str:
        """Describe the column in words."""

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Raise a ValueError if the fields do not go together."""

    def is_like(self, other: Column) -> bool:
        """Whether another column makes the same inputs, apart from measured units."""
        return self._unmeasured() == other._unmeasured()

    def _unmeasured(self) -> dict[str, Any]:
        """Return the fields of `as_dict` without measured numbers."""
        fields = self.as_dict().items()
        return {key: _unmeasured(value) for key, value in fields}

    def as_dict(self) -> dict[str, Any]:
        """Return the kind of the column and its fields, for people and programs."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = {k: v.as_dict() if isinstance(v, Numerals) else v for k, v in values.items()}
        return {"kind": self.kind, **parts}


# Every kind of column is declared to be stored by this.
stored_column = stored(check=lambda column: column.check())


def _unmeasured(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmeasured(each) for each in value]
    return None if isinstance(value, float) else value


@stored_column
@dataclass(frozen=True)
class Number(Column):
    """A number as one input; a missing value becomes the median, with an input for gaps.

    With `limits`, which the first rows have where a few numbers are far from all others, what is
    beyond them is taken for missing.
    """

    kind, wants = "number", "a number"
    median: Annotated[float, finite]
    missing: Annotated[bool, flag]
    numerals: Annotated[Numerals, instance_of(Numerals)]
    limits: Annotated[list[float], each(finite)]

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        numbers, wrong = values.numbers_as(decision.numerals)
        gaps = np.isnan(numbers)
        limits, median = find_limits(numbers[~gaps]), float(np.nanmedian(numbers))
        missing = bool((gaps & ~wrong).any()) or limits != []
        return cls(name, median, missing, decision.numerals, limits)

    def findings(self, values: Values) -> list[Finding]:
        if not self.limits:
            return []
        low, high = self.limits
        message = (
            f"{self.name!r} has a few numbers very far from the others; those below {low:.6g} or "
            f"above {high:.6g} are taken for missing values."
        )
        return [Finding("extremes", message, self.name, warning=True)]

    @property
    def expected(self) -> str:
        how = self.numerals.description()
        return f"a number with {how}" if how else self.wants

    @property
    def inputs(self) -> list[str]:
        return [self.name, f"{self.name} is missing"][: 1 + self.missing]

    def read(self, values: Values) -> tuple[Floats, Mask]:
        """Return the numbers, nan where one is missing, and which values are none."""
        numbers, wrong = values.numbers_as(self.numerals)
        low, high = self.limits or (-np.inf, np.inf)
        return np.where((numbers >= low) & (numbers <= high), numbers, np.nan), wrong

    def fill(self, values: Values, out: Floats) -> Mask:
        numbers, wrong = self.read(values)
        gaps = np.isnan(numbers)
        out[:, 0] = np.where(gaps, self.median, numbers)
        if self.missing:
            out[:, 1] = gaps
        return wrong

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        low, high = self.limits or (-EXACT, EXACT)
        usual = isinstance(value, float) or type(value) is int
        if usual and max(low, -EXACT) <= value <= min(high, EXACT):
            return None if value in self.numerals.gaps else (value, 0.0)[: 1 + self.missing]
        return None

    def unlearned(self, values: Values, learned: Mask) -> Mask | None:
        numbers, wrong = self.read(values)
        return None if self.missing else np.isnan(numbers) & ~wrong

    def ordered(self, values: Values) -> tuple[Floats, Mask] | None:
        return values.numbers_as(self.numerals)

    def description(self) -> str:
        how = self.numerals.description()
        what = f"number with {how}" if how else "number"
        what += f", {self.median:.6g} where it is missing" * self.missing
        if self.limits:
            what += " or not from {:.6g} to {:.6g}".format(*self.limits)
        return what

    def check(self) -> None:
        good = all(abs(x) <= 10 * LARGEST for x in self.limits)
        ordered = not self.limits or (len(self.limits) == 2 and self.limits[0] < self.limits[1])
        require(good and ordered, "limits: not a lower and an upper one")


@stored_column
@dataclass(frozen=True)
class Flag(Number):
    """1 for true and yes, 0 for false and no; a half where it is missing, and an input for that."""

    kind, wants = "flag", "true or false, or yes or no"

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        flags, wrong = values.flags
        return cls(name, 0.5, bool((np.isnan(flags) & ~wrong).any()), PLAIN, [])

    def read(self, values: Values) -> tuple[Floats, Mask]:
        return values.flags

    def inputs_of(self, value: Any) -> Sequence[float] | None:
        return None

    def ordered(self, values: Values) -> tuple[Floats, Mask] | None:
        return None

    def description(self) -> str:
        return "true or false"


@stored_column
@dataclass(frozen=True)
class Text(Column):
    """Text as one input per known value and one for all others; zeros for a missing value.

    `numbers` says that the values are numbers, in whatever way they are written, and `folds` that
    small letters and blanks make no difference. Rare values, and one that was in none of the first
    rows, come `late`: they are taken for the most `common` one, and have an input of their own,
    behind those of all columns, that is a hidden unit itself. So it is one more number to learn,
    how far such rows are from the common ones, and changes nothing in rows without it. A missing
    value comes late too, if there were no `gaps` in the first rows. There are at `most` so many
    values; the others share an input.
    """

    kind, wants = "text", "text"
    values: Annotated[list[str], each(text)]
    others: Annotated[bool, flag]
    numbers: Annotated[bool, flag]
    common: Annotated[int, count] = 0
    gaps: Annotated[bool, flag] = True
    late: Annotated[list[str], each(text)] = field(default_factory=list)
    folds: Annotated[bool, flag] = False
    most: Annotated[int, count] = _MOST_INPUTS

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        empty = cls(name, [], False, decision.numbers, folds=name in hints.fold)
        names = empty._names(values)
        counts = Counter(names.drop_null().to_pylist())
        common = sorted(counts, key=lambda value: (-counts[value], value))
        most = hints.categories or _MOST_INPUTS + MOST_UNITS
        frequent = common[: min(most, _MOST_INPUTS)]
        least = 1 if hints.categories else _LEAST_ROWS
        rare = [value for value in common[len(frequent) : most] if counts[value] >= least]
        return replace(
            empty,
            values=sorted(frequent),
            others=len(counts) > len(frequent) + len(rare),
            common=sorted(frequent).index(common[0]),
            gaps=names.null_count > 0,
            late=sorted(rare),
            most=hints.categories or max(_MOST_INPUTS, len(frequent) + len(rare)),
        )

    def findings(self, values: Values) -> list[Finding]:
        if not self.others:
            return []
        names = self._names(values)
        n, n_separate = len(names.drop_null().unique()), len(self.values) + len(self.late)
        separate = [*self.values, *self.late]
        rows = int((_places_in(separate, names) < 0).sum()) - names.null_count
        message = (
            f"{self.name!r} has {n:,} different values, and {n_separate:,} of them are told apart; "
            f"the others, in {rows:,} of {len(names):,} rows, count as one"
        )
        advice = "; for all pass {categories}."
        return [Finding("many values", message, self.name, False, advice, {"categories": n})]

    def _names(self, values: Values) -> Any:
        names = values.names_of_numbers if self.numbers else values.text
        return folded(names) if self.folds else names

    @property
    def inputs(self) -> list[str]:
        named = [f"{self.name} = {value}" for value in self.values]
        return named + [f"{self.name} = another"] * self.others

    @property
    def late_inputs(self) -> list[str]:
        """The names of the inputs of late values, which stand behind those of all columns."""
        named = {GAP: "is missing", OTHER: "is another"}
        return [f"{self.name} {named.get(value, f'= {value}')}" for value in self.late]

    def codes(self, values: Values) -> NDArray[np.int64]:
        """Return, for each row, the place of its input, late ones last; less than 0 for none."""
        names = self._names(values)
        codes, gaps = _places_in(self.values, names), np.asarray(names.is_null())
        gap, other = _MISSING if self.gaps else _UNKNOWN, _UNKNOWN
        if self.others:
            other = len(self.values)
        if self.late:
            at = {value: len(self.inputs) + k for k, value in enumerate(self.late)}
            late = _places_in(self.late, names)
            codes = np.where(late >= 0, late + len(self.inputs), codes)
            gap, other = at.get(GAP, gap), at.get(OTHER, other)
        return np.where(codes < 0, np.where(gaps, gap, other), codes)

    def fill(self, values: Values, out: Floats) -> Mask:
        codes = self.codes(values)
        out[np.flatnonzero(codes >= 0), codes[codes >= 0]] = 1
        out[(codes >= len(self.inputs)) | (codes == _UNKNOWN), self.common] = 1
        return np.zeros(len(values), bool)

    def unlearned(self, values: Values, learned: Mask) -> Mask | None:
        codes = self.codes(values)
        return (codes == _UNKNOWN) | ((codes >= 0) & ~learned[np.maximum(codes, 0)])

    def grown(self, values: Values, rows: Mask) -> list[str]:
        """Return the late values once some rows are learned; those beyond the limit share one."""
        new = self._names(values).filter(pa.array(rows & (self.codes(values) == _UNKNOWN)))
        late, room = set(self.late), self.most - len(self.values)
        for name in pc.fill_null(new, GAP).unique().to_pylist():
            few = name == GAP or len(late - {GAP, OTHER}) < room
            late.add(name if few else OTHER)
        return sorted(late)

    def description(self) -> str:
        late = f", and {len(self.late)} that came late" if self.late else ""
        return (
            f"one of {len(self.values)}{' and others' * self.others}: {_shown(self.values)}{late}"
        )

    def check(self) -> None:
        fits = self.common < len(self.values) and self.late == sorted(set(self.late))
        require(fits, "common, late: not those of such values")


@stored_column
@dataclass(frozen=True)
class Words(Column):
    """The words of free text, each added to one of some inputs with a sign, both from its checksum.

    Rows have length one, whatever the number of words; zeros where there is none.
    """

    kind, wants = "words", "text"
    width: Annotated[int, within(1, _WIDEST_OF_WORDS + 1, whole=True)]

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        return cls(name, _WIDTH_OF_WORDS)

    def findings(self, values: Values) -> list[Finding]:
        message = f"{self.name!r} is free text: its words are hashed to {self.width} inputs."
        return [Finding("free text", message, self.name)]

    @property
    def inputs(self) -> list[str]:
        return [f"{self.name}: words {i}" for i in range(self.width)]

    def fill(self, values: Values, out: Floats) -> Mask:
        for row, words in zip(out, values.text.to_pylist(), strict=True):
            for word in _WORD.findall((words or "").lower()):
                checksum = zlib.crc32(word.encode())
                row[(checksum >> 1) % self.width] += 1 - 2 * (checksum & 1)
        lengths = np.sqrt((out**2).sum(axis=1, keepdims=True))
        out /= np.where(lengths > 0, lengths, 1.0)
        return np.zeros(len(values), bool)

    def description(self) -> str:
        return f"free text: its words in {self.width} inputs"


@stored_column
@dataclass(frozen=True)
class Tags(Column):
    """Lists of words: a one for each known word in the list, and one for any others together."""

    kind, wants = "tags", "a list of words"
    values: Annotated[list[str], each(text)]
    others: Annotated[bool, flag]

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        counts = Counter(word for words in values.tags[0] for word in set(words))
        common = sorted(counts, key=lambda word: (-counts[word], word))
        most = hints.categories or _MOST_INPUTS
        return cls(name, sorted(common[:most]), len(common) > most)

    def findings(self, values: Values) -> list[Finding]:
        message = f"{self.name!r} has lists of words: each of {len(self.values):,} is an input."
        return [Finding("tags", message, self.name)]

    @property
    def inputs(self) -> list[str]:
        named = [f"{self.name} has {value}" for value in self.values]
        return named + [f"{self.name} has another"] * self.others

    def fill(self, values: Values, out: Floats) -> Mask:
        lists, wrong = values.tags
        places = {word: i for i, word in enumerate(self.values)}
        for row, words in zip(out, lists, strict=True):
            inputs = [places.get(word, len(self.values)) for word in words]
            row[[i for i in inputs if i < len(row)]] = 1
        return wrong

    def description(self) -> str:
        return f"lists of words: {_shown(self.values)}{' and others' * self.others}"


@stored_column
@dataclass(frozen=True)
class Time(Column):
    """Days since the first rows, and the places in the day, the week and the year.

    A missing time becomes that of the `origin`; `gaps` says whether the first rows had some.
    `format` is one of `strptime`, or of the words of `dates`; "" for ISO 8601. One without a date
    is a time of day.
    """

    kind, wants = "time", "a date or time such as 2024-05-01 12:30"
    origin: Annotated[float, finite]
    clock: Annotated[bool, flag]
    format: Annotated[str, text]
    gaps: Annotated[bool, flag] = True

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        days, wrong = values.days_as(decision.dates)
        gaps, days = bool((np.isnan(days) & ~wrong).any()), days[~np.isnan(days)]
        origin, clock = float(np.floor(np.median(days))), bool((days % 1 != 0).any())
        return cls(name, origin, clock, decision.dates, gaps)

    @property
    def expected(self) -> str:
        if self.format in dates.PER_DAY:
            return f"{self.format} since 1970"
        return f"a date or time written as {self.format}" if self.format else self.wants

    @property
    def periods(self) -> dict[str, float]:
        """The days of each period whose places are inputs, by name."""
        if not dates.has_date(self.format):
            return {what: p for what, p in _PERIODS.items() if p == 1}
        return {what: p for what, p in _PERIODS.items() if p > 1 or self.clock}

    @property
    def inputs(self) -> list[str]:
        circles = [f"{self.name}: {what}, {f}" for what in self.periods for f in ("sin", "cos")]
        return [f"{self.name}: days", *circles]

    def fill(self, values: Values, out: Floats) -> Mask:
        days, wrong = values.days_as(self.format)
        days = np.where(np.isnan(days), self.origin, days)
        out[:, 0] = days - self.origin
        for i, period in enumerate(self.periods.values()):
            angle = (2 * math.pi / period) * (days % period)
            out[:, 2 * i + 1], out[:, 2 * i + 2] = np.sin(angle), np.cos(angle)
        return wrong

    def unlearned(self, values: Values, learned: Mask) -> Mask | None:
        days, wrong = values.days_as(self.format)
        return None if self.gaps else np.isnan(days) & ~wrong

    def ordered(self, values: Values) -> tuple[Floats, Mask] | None:
        return values.days_as(self.format) if dates.has_date(self.format) else None

    def description(self) -> str:
        what = f"date{' and time' * self.clock}" if dates.has_date(self.format) else "time of day"
        how = f"written as {self.format}"
        how = f"in {self.format} since 1970" if self.format in dates.PER_DAY else how
        return f"{what}{f', {how}' * bool(self.format)}: {', '.join(['days', *self.periods])}"

    def check(self) -> None:
        if self.format:
            dates.check_format(self.format)


@stored_column
@dataclass(frozen=True)
class Vector(Column):
    """Lists of numbers, all of the same length."""

    kind, wants = "vector", "a list of numbers"
    width: Annotated[int, within(1, WIDEST_VECTOR + 1, whole=True)]

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        if not 1 <= decision.width <= WIDEST_VECTOR:
            return Ignored(name, f"lists of {decision.width:,} numbers")
        return cls(name, decision.width)

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


@stored_column
@dataclass(frozen=True)
class Ignored(Column):
    """A column that is not used."""

    kind, wants = "ignored", "anything"
    why: Annotated[str, text]

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        return cls(name, "nothing that can be used in the first rows")

    @property
    def inputs(self) -> list[str]:
        return []

    def fill(self, values: Values, out: Floats) -> Mask:
        return np.zeros(len(values), bool)

    def description(self) -> str:
        return f"not used: {self.why}"


def _places_in(values: list[str], names: Any) -> NDArray[np.int64]:
    """Return the indices of names in the known names; -1 for unknown ones."""
    return np.array(pc.fill_null(pc.index_in(names, value_set=pa.array(values, TEXT)), -1))


def _shown(values: list[str]) -> str:
    return ", ".join(values[:6]) + (", ..." if len(values) > 6 else "")


KINDS: dict[str, type[Column]] = {
    cls.kind: cls for cls in (Number, Flag, Text, Words, Tags, Time, Vector, Ignored)
}
