"""Columns of any type as numbers, times or text, and which of their values cannot be.

Every column first becomes one of five plain types, and is then parsed as the kind that the schema
says it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from . import dates
from ._plain import EXACT, FLAG, LARGEST, NUMBER, TEXT, TIME, VECTOR, plain
from .numerals import PLAIN, Numerals, normal

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A column of text with at most this share of slips among so many values is what the others are.
_SHARE_OF_SLIPS, _VALUES_WITH_SLIPS = 0.05, 20

_FLAGS = {"true": 1.0, "false": 0.0}
_MICROSECONDS_A_DAY = 86_400e6

# What stands for a missing value among numbers, dates, true and false; and what some people write
# for one, which is reported where it is found.
_MISSING = ["NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "none", "?"]
_WORDS = ["missing", "unknown", "n.a.", "undefined", "not available", "nil", "empty", "blank"]
_SIGNS = ["-", "--", "---", ".", "..", "...", "–", "—", "*", "#VALUE!", "#DIV/0!", "#REF!", "#NA"]
GAPS = [*_SIGNS, *(form(word) for word in _WORDS for form in (str, str.upper, str.capitalize))]


def joined(first: Any, more: Any) -> Any:
    """Two plain columns as one; as text if they are of different types."""
    if first.type != more.type:
        first, more = Values(first).text, Values(more).text
    return pa.concat_arrays([first, more])


class Values:
    """The values of a column, parsed as whatever is asked for, and each at most once.

    What is parsed are the values, nan where one is missing, and which of them are wrong.

    Parameters
    ----------
    column : Arrow array
        An `UnknownType` is raised if it is of none of the types that can be used.
    na : sequence of str
        Values that stand for a missing one, besides the usual ones.
    """

    def __init__(self, column: Any, na: Sequence[str] = ()) -> None:
        self.plain = _without(plain(column), na) if na else plain(column)
        self._parsed: dict[Any, tuple[Floats, Mask]] = {}

    def __len__(self) -> int:
        return len(self.plain)

    @cached_property
    def kind(self) -> str:
        """What the column is: number, flag, time, vector, text, or empty."""
        type_ = self.plain.type
        if type_ == NUMBER:
            return "empty" if np.isnan(self.numbers[0]).all() else "number"
        if type_ != TEXT:
            kind = {FLAG: "flag", TIME: "time"}.get(type_, "vector")
            return "empty" if self.plain.null_count == len(self) else kind
        n = len(self) - self.trimmed.null_count
        if not n:
            return "empty"
        for kind in ("number", "flag", "time"):
            if self.parsed(kind)[1].sum() <= self.slips:
                return kind
        return "text"

    @property
    def slips(self) -> float:
        """How many of the values of a column of text may be wrong."""
        n = len(self) - self.trimmed.null_count
        return _SHARE_OF_SLIPS * n if n >= _VALUES_WITH_SLIPS else 0.0

    def parsed(self, kind: str) -> tuple[Floats, Mask]:
        """The values as numbers, flags or times."""
        if kind == "number":
            return self.numbers
        return self.flags if kind == "flag" else self.days

    def numbers_as(self, numerals: Numerals) -> tuple[Floats, Mask]:
        """Numbers as they are written in this column."""
        if numerals == PLAIN:
            return self.numbers
        if numerals not in self._parsed:
            if self.plain.type == TEXT and not numerals.is_plain:
                values, wrong = _bounded(*numerals.parsed(self.trimmed))
            else:
                values, wrong = self.numbers
            gaps = np.isin(values, numerals.gaps)
            self._parsed[numerals] = np.where(gaps, math.nan, values), wrong
        return self._parsed[numerals]

    def days_as(self, format: str) -> tuple[Floats, Mask]:
        """Days since 1970 of times in this format."""
        if format == dates.ISO or self.plain.type in (TIME, FLAG, VECTOR):
            return self.days
        if format not in self._parsed:
            if format in dates.PER_DAY:
                numbers, wrong = self.numbers
                self._parsed[format] = numbers / dates.PER_DAY[format], wrong
            else:
                text = self.trimmed if self.plain.type == TEXT else self.text
                self._parsed[format] = dates.parsed(text, format)
        return self._parsed[format]

    @cached_property
    def numbers(self) -> tuple[Floats, Mask]:
        if self.plain.type == TEXT:
            values, wrong = self._parsed_text()
        elif self.plain.type in (NUMBER, FLAG):
            values, wrong = _with_nan(pc.cast(self.plain, NUMBER)), self._none_wrong()
        else:
            return self._all_wrong()
        return _bounded(values, wrong)

    @cached_property
    def flags(self) -> tuple[Floats, Mask]:
        """1 for true, 0 for false."""
        column = self.plain
        if column.type == FLAG:
            return _with_nan(pc.cast(column, NUMBER)), self._none_wrong()
        if column.type == NUMBER:
            values = _with_nan(column)
            return values, ~(np.isnan(values) | (values == 0) | (values == 1))
        if column.type == TEXT:
            known = pc.utf8_lower(self.trimmed)
            values = np.array(
                [math.nan if v is None else _FLAGS.get(v, math.inf) for v in known.to_pylist()]
            )
            wrong = np.isinf(values)
            return np.where(wrong, math.nan, values), wrong
        return self._all_wrong()

    @cached_property
    def days(self) -> tuple[Floats, Mask]:
        """Days since 1970, in UTC."""
        if self.plain.type == TEXT:
            column, wrong = self._parsed_times()
        elif self.plain.type == TIME:
            column, wrong = self.plain, self._none_wrong()
        else:
            return self._all_wrong()
        microseconds = _with_nan(pc.cast(pc.cast(column, pa.int64()), NUMBER, safe=False))
        return microseconds / _MICROSECONDS_A_DAY, wrong

    @cached_property
    def text(self) -> Any:
        """Whole numbers without a point, so that 3 in a CSV and 3.0 in Parquet are the same."""
        column = self.plain
        if column.type == NUMBER:
            column = pc.if_else(pc.is_nan(column), None, column)
            short = pc.and_(
                pc.equal(pc.round(column), column), pc.less(pc.abs(column), float(EXACT))
            )
            whole = pc.cast(pc.cast(pc.if_else(short, column, 0.0), pa.int64()), TEXT)
            return pc.if_else(short, whole, pc.cast(column, TEXT))
        if column.type == VECTOR:
            return pa.array([None if v is None else str(v) for v in column.to_pylist()], TEXT)
        text = column if column.type == TEXT else pc.cast(column, TEXT)
        return pc.if_else(pc.equal(text, ""), None, text)

    @cached_property
    def names_of_numbers(self) -> Any:
        """The same text for 3, 3.0 and "3"."""
        if self.plain.type != TEXT:
            return self.text
        values, _ = self.numbers
        exact = pa.array(np.abs(values) < float(EXACT))  # not what is too large, or no number
        return pc.if_else(exact, Values(pa.array(values, from_pandas=True)).text, self.text)

    def vectors(self, width: int) -> tuple[Floats, Mask]:
        """Rows of so many numbers; missing ones are wrong."""
        values = np.zeros((len(self), width))
        if self.plain.type != VECTOR:
            return values, np.ones(len(self), bool)
        lengths = pc.fill_null(pc.list_value_length(self.plain), -1)
        wrong = lengths.to_numpy(zero_copy_only=False) != width
        if not wrong.all():
            flat = _with_nan(pc.list_flatten(self.plain.filter(pa.array(~wrong))))
            values[~wrong] = flat.reshape(-1, width)
        wrong = wrong | ~np.isfinite(values).all(axis=1)
        return np.where(wrong[:, None], 0.0, values), wrong

    @cached_property
    def trimmed(self) -> Any:
        """Text without spaces around it, and null where it stands for a missing value."""
        trimmed = pc.utf8_trim_whitespace(self.plain)
        gaps = pa.array(["", *_MISSING, *GAPS])
        return pc.if_else(pc.is_in(trimmed, value_set=gaps), None, trimmed)

    def _none_wrong(self) -> Mask:
        return np.zeros(len(self), bool)

    def _all_wrong(self) -> tuple[Floats, Mask]:
        wrong = ~self.plain.is_null().to_numpy(zero_copy_only=False)
        return np.full(len(self), math.nan), wrong

    def _parsed_text(self) -> tuple[Floats, Mask]:
        """Text as numbers, all at once if all are; else one by one, to know which are not."""
        for trim in (False, True):
            try:
                column = self.trimmed if trim else self.plain
                return _with_nan(pc.cast(column, NUMBER)), self._none_wrong()
            except pa.ArrowInvalid:
                continue
        values = [_number(value) for value in normal(self.trimmed).to_pylist()]
        wrong = np.array([value is None for value in values], bool)
        return np.array([math.nan if value is None else value for value in values]), wrong

    def _parsed_times(self) -> tuple[Any, Mask]:
        for wanted in (TIME, pa.timestamp("us", "UTC")):
            try:
                return pc.cast(pc.cast(self.trimmed, wanted), TIME), self._none_wrong()
            except pa.ArrowInvalid:
                continue
        values = [_time(value) for value in self.trimmed.to_pylist()]
        wrong = np.array([value is False for value in values], bool)
        return pa.array([value or None for value in values], TIME), wrong


def _without(column: Any, na: Sequence[str]) -> Any:
    """A plain column with nulls where one of some values is."""
    if column.type == TEXT:
        gaps, among = pa.array(na, TEXT), pc.utf8_trim_whitespace(column)
    elif column.type == NUMBER:
        known = [number for value in na if (number := _number(value)) is not None]
        gaps, among = pa.array(known, NUMBER), column
    else:
        return column
    return pc.if_else(pc.is_in(among, value_set=gaps), None, column)


def _bounded(values: Floats, wrong: Mask) -> tuple[Floats, Mask]:
    """Numbers that are too large are wrong, infinite ones too."""
    large = np.abs(values) > LARGEST
    return (np.where(large, math.nan, values), wrong | large) if large.any() else (values, wrong)


def text_of(value: Any) -> str | None:
    """One value of JSON as text, in the same way."""
    if isinstance(value, str):
        return value.encode("utf8", "replace").decode() or None
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124
            return None
        return str(int(value)) if value == round(value) and abs(value) < EXACT else repr(value)
    return None if value is None else json.dumps(value)


def _with_nan(column: Any) -> Floats:
    values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def _number(text: str | None) -> float | None:
    if text is None or not text.strip():
        return math.nan
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _time(text: str | None) -> datetime | bool | None:
    """False for what is no time."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return False
