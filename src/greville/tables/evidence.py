"""What the first rows of a table show of a column, and what is decided from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import dates
from ._values import IN_TEXT, Mask, Values
from .findings import Finding, listed_values, shown_value
from .numerals import PLAIN, Numerals, Reading, find_numerals

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
    """What a column is: number, flag, time, vector, tags, text, words, code, or empty.

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


@dataclass
class Evidence:
    """The first values of a column, and what is known of it besides.

    `usual` is the decimal mark of the table's other columns, `gaps` are the values that stand for a
    missing one in text.
    """

    name: str
    values: Values
    hints: Hints = field(default_factory=Hints)
    usual: str | None = None
    gaps: Any = field(default_factory=lambda: IN_TEXT)

    @property
    def is_text(self) -> bool:
        return self.values.is_text

    @property
    def is_number(self) -> bool:
        """Whether the user says that it is."""
        return self.name in self.hints.number

    @property
    def slips(self) -> float:
        """How many of the values may be wrong."""
        return np.inf if self.is_number else self.values.slips

    @cached_property
    def distinct(self) -> list[str]:
        """The different values of text that are not missing."""
        return [text for text in self.values.distinct if text]

    @cached_property
    def counts(self) -> Any:
        """How often each of them is there."""
        return self.values.counts[self.values.counts > 0]

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def most_odd(self) -> float:
        return np.inf if self.is_number else _SHARE_OF_ODD * self.n

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
        if found is not None and found.other is not None:
            for numerals in (found.other, found.numerals):
                if self.usual == numerals.decimal:
                    return Reading(numerals, found.wrong)
        return found

    def matching(self, pattern: str) -> Mask:
        """Which of the different values match a pattern."""
        search = re.compile(pattern).search
        return np.array([search(text) is not None for text in self.distinct], bool)

    def some(self, pattern: str, n: int = 2) -> str:
        """Values that match a pattern, for a message."""
        search = re.compile(pattern).search
        return listed_values([text for text in self.distinct if search(text)][:n])

    def example(self, numerals: Numerals, pattern: str) -> str:
        """An example of how a value is read, one that matches a pattern if there is one."""
        read = [(text, numerals.number(text)) for text in self.distinct]
        good = [(text, number) for text, number in read if number is not None]
        text, number = next((each for each in good if re.search(pattern, each[0])), good[0])
        return f"{shown_value(text)} is {number:.15g}"


def spaced(name: str) -> str:
    """The name of a column in small letters, with spaces in the place of capitals."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
