"""The notation of a column's values, and findings about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc

from . import dates
from ._values import Values
from .findings import Finding
from .numerals import PLAIN, Numerals

# How many values, and how much of each, are shown in a message.
_MOST_SHOWN, _LONGEST_SHOWN = 5, 30


@dataclass(frozen=True)
class Asked:
    """The notation of values as given by the user; None where it was not given."""

    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Asked:
        """From the settings of a `TableModel`."""
        return cls(*(settings[key] for key in ("decimal", "thousands", "date_format")))


@dataclass(frozen=True)
class Written:
    """What a column is: number, flag, time, vector, text, code (digits that are a name) or empty.

    `numerals` and `dates` say how its numbers and times are written. Where it can be read in two
    ways it is `ambiguous`.
    """

    kind: str
    numerals: Numerals = PLAIN
    dates: str = dates.ISO
    findings: tuple[Finding, ...] = ()
    ambiguous: bool = False

    def saying(self, kind: str, message: str, column: str, *, warning: bool = False) -> Written:
        """The same with one more finding."""
        return replace(self, findings=(*self.findings, Finding(kind, message, column, warning)))


def spaced(name: str) -> str:
    """The name of a column in small letters, with spaces in the place of capitals."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def listed_values(texts: list[str]) -> str:
    """The first of some values, for a message."""
    shown = ", ".join(map(shown_value, texts[:_MOST_SHOWN]))
    return shown + (f" and {len(texts) - _MOST_SHOWN} more" if len(texts) > _MOST_SHOWN else "")


def shown_value(text: str) -> str:
    """A value, for a message."""
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "...")


def examples(values: Values, pattern: str) -> str:
    """Two of the values that match a pattern, for a message."""
    text = values.trimmed
    found = text.filter(pc.fill_null(pc.match_substring_regex(text, pattern), False))
    return listed_values(found.unique().to_pylist()[:2])
