"""What the first rows of a table show of a column, and what is decided from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as pc

from . import dates
from ._plain import TEXT
from ._values import IN_TEXT, Values
from .findings import Finding, listed_values, shown_value
from .numerals import PLAIN, Numerals, Reading, as_mask, find_numerals, normal

# Up to this share of odd values, text is named as numbers, or dates, that it nearly is.
_SHARE_OF_ODD = 0.3


@dataclass(frozen=True)
class Hints:
    """What the user says about columns; None, or nothing, where nothing was said."""

    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    na: Sequence[str] = ()
    number: Sequence[str] = ()
    text: Sequence[str] = ()
    categorical: Sequence[str] = ()
    features: Sequence[str] = ()
    fold: Sequence[str] = ()
    categories: int | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Hints:
        """Those in the settings of a `TableModel`."""
        said = {each.name: settings[each.name] for each in fields(cls)}
        return cls(**{key: value for key, value in said.items() if value is not None})


@dataclass(frozen=True)
class Decision:
    """What a column is: number, flag, time, vector, text, words, code, empty, or ignored.

    `numerals` and `dates` say how its numbers and times are written, `width` how many numbers a
    value has, `numbers` whether text is numbers that are names. Of its values `wrong` are something
    else. Where it can be read in two ways it is `ambiguous`.
    """

    kind: str
    wrong: float = 0
    numerals: Numerals = PLAIN
    dates: str = dates.ISO
    width: int = 0
    numbers: bool = False
    findings: tuple[Finding, ...] = ()
    ambiguous: bool = False

    def says(self, kind: str) -> bool:
        """Whether there is a finding of this kind."""
        return any(finding.kind == kind for finding in self.findings)

    def saying(
        self,
        kind: str,
        text: str,
        column: str,
        advice: str = "",
        /,
        *,
        warning: bool = False,
        **arguments: Any,
    ) -> Decision:
        """The same with one more finding."""
        found = Finding(kind, text, column, warning, advice, tuple(arguments.items()))
        return replace(self, findings=(*self.findings, found))


class Evidence:
    """The first values of a column: the different ones, and how often each of them is there."""

    def __init__(
        self,
        name: str,
        values: Values,
        hints: Hints | None = None,
        usual: str | None = None,
        gaps: Any = IN_TEXT,
    ) -> None:
        self.name, self.values, self.hints = name, values, hints or Hints()
        self.usual = usual  # the decimal mark of the table's other columns
        self.gaps = gaps  # what stands for a missing value in text
        self.is_text = values.plain.type == TEXT

    @cached_property
    def text(self) -> Any:
        """Text with one kind of blanks around and in it, without gaps."""
        return normal(self.values.trimmed.drop_null())

    @cached_property
    def _counted(self) -> Any:
        return pc.value_counts(self.text)

    @property
    def distinct(self) -> Any:
        return self._counted.field("values")

    @cached_property
    def counts(self) -> Any:
        return self._counted.field("counts").to_numpy()

    @property
    def n(self) -> int:
        return len(self.text)

    @property
    def slips(self) -> float:
        """How many of the values may be wrong."""
        return np.inf if self.name in self.hints.number else self.values.slips

    @property
    def most_odd(self) -> float:
        return np.inf if self.name in self.hints.number else _SHARE_OF_ODD * self.n

    @property
    def wrong_numbers(self) -> int:
        """How many values are no numbers as programs write them."""
        return int(self.values.numbers[1].sum())

    @cached_property
    def numerals(self) -> Reading | None:
        """How numbers are written, if they are written in one way but for some odd ones."""
        marks = self.hints.decimal, self.hints.thousands
        found = find_numerals(self.distinct, self.counts, self.most_odd, *marks)
        if found is None and any(marks):
            found = find_numerals(self.distinct, self.counts, self.most_odd)
        if found is not None and found.other is not None and self.usual == found.other.decimal:
            return Reading(found.other, found.wrong)
        if found is not None and found.other is not None and self.usual == found.numerals.decimal:
            return Reading(found.numerals, found.wrong)
        return found

    def matches(self, pattern: str) -> bool:
        """Whether all values match a pattern."""
        return bool(pc.all(pc.match_substring_regex(self.distinct, pattern)).as_py())

    def some(self, pattern: str, n: int = 2) -> str:
        """Values that match a pattern, for a message."""
        found = self.distinct.filter(pc.match_substring_regex(self.distinct, pattern))
        return listed_values(found[:n].to_pylist())


def matching(column: Evidence, pattern: str) -> Any:
    return as_mask(pc.match_substring_regex(column.distinct, pattern))


def example(column: Evidence, numerals: Numerals, pattern: str) -> str:
    """An example of how a value is read, one that matches a pattern if there is one."""
    numbers, wrong = Values(column.distinct).numbers_as(numerals)
    reads = ~wrong & ~np.isnan(numbers)
    usable = reads & matching(column, pattern)
    place = int(np.flatnonzero(usable if usable.any() else reads)[0])
    return f"{shown_value(column.distinct[place].as_py())} is {numbers[place]:.15g}"


def spaced(name: str) -> str:
    """The name of a column in small letters, with spaces in the place of capitals."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
