"""Columns of any type as numbers, times, flags, text or vectors, and values that are none.

Every column first becomes one of five plain types, and is then parsed as the kind that the schema
says it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import dates
from ._plain import EXACT, FLAG, LARGEST, NUMBER, TEXT, TIME, VECTOR, Floats, Mask, plain
from .numerals import PLAIN, Numerals, as_mask, normal

# A column of text with at most this share of slips among so many values is what the others are; of
# a few values, one may be.
_SHARE_OF_SLIPS, _VALUES_WITH_SLIPS, _VALUES_WITH_ONE = 0.05, 20, 8

# Words for true and false, which go together.
FLAGS = (
    ("true", "false"),
    ("yes", "no"),
    ("ja", "nein"),
    ("oui", "non"),
    ("sí", "no"),
    ("si", "no"),
    ("ja", "nee"),
    ("sim", "não"),
    ("да", "нет"),
    ("wahr", "falsch"),
    ("vrai", "faux"),
    ("y", "n"),
    ("t", "f"),
)
_FLAGS = {word: value for pair in FLAGS for word, value in zip(pair, (1.0, 0.0), strict=True)}

# What stands for a missing value in all columns; and besides that among numbers, dates and flags,
# where "NA" is not Namibia. What programs do not write is reported where it is found.
_GAPS = ["", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>", "?"]
_GAPS_OF_NUMBERS = ["NA", "none"]
_WORDS = ["missing", "unknown", "n.a.", "undefined", "not available", "nil", "empty", "blank"]
_SIGNS = ["-", "--", "---", ".", "..", "...", "–", "—", "*", "#VALUE!", "#DIV/0!", "#REF!", "#NA"]
GAPS = [*_SIGNS, *(form(word) for word in _WORDS for form in (str, str.upper, str.capitalize))]
IN_TEXT = pa.array(_GAPS)
IN_LABELS = pa.array([gap for gap in _GAPS if gap != "None"])
_IN_NUMBERS = pa.array([*_GAPS, *_GAPS_OF_NUMBERS, *GAPS])

# Several numbers in one value, by what stands between them.
_ONE = r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
SEPARATORS = {
    mark: rf"^[(\[]? ?-?{_ONE}(?: ?[{mark}] ?-?{_ONE})+ ?[)\]]?$" for mark in "/,;x×|"
} | {"-": rf"^{_ONE} ?- ?{_ONE}$"}


def joined(first: Any, more: Any) -> Any:
    """Two plain columns as one; as text if they are of different types.

    Among numbers, also those in text, a flag is 1 or 0.
    """
    if first.type != more.type:
        pair = [first, more]
        others = [each for each in pair if each.type != FLAG and each.null_count < len(each)]
        if others and not any(Values(each).numbers[1].any() for each in others):
            pair = [pc.cast(each, NUMBER) if each.type == FLAG else each for each in pair]
        first, more = pair if pair[0].type == pair[1].type else (Values(c).text for c in pair)
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
        self._whole = plain(column)
        self.plain = _without(self._whole, na) if na else self._whole
        self._parsed: dict[Any, tuple[Floats, Mask]] = {}

    def __len__(self) -> int:
        return len(self.plain)

    @cached_property
    def kind(self) -> str:
        """What the type of the column is: number, flag, time, vector, text, or empty."""
        gaps = self.trimmed if self.plain.type == TEXT else self.plain
        numbers = self.plain.type == NUMBER
        if gaps.null_count == len(self) or (numbers and np.isnan(self.numbers[0]).all()):
            return "empty"
        kinds = {NUMBER: "number", FLAG: "flag", TIME: "time", TEXT: "text"}
        return kinds.get(self.plain.type, "vector")

    @property
    def slips(self) -> float:
        """How many of the values of a column of text may be wrong."""
        n = len(self) - self.trimmed.null_count
        if n >= _VALUES_WITH_SLIPS:
            return _SHARE_OF_SLIPS * n
        return 1.0 if n >= _VALUES_WITH_ONE else 0.0

    def had(self, gap: str) -> bool:
        """Whether one of the values stands for a missing one as a text says."""
        return _without(self._whole, [gap]).null_count > self._whole.null_count

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
            known = pc.index_in(pc.utf8_lower(self.trimmed), value_set=pa.array(list(_FLAGS)))
            values = _with_nan(pc.take(pa.array(list(_FLAGS.values())), known))
            return values, np.isnan(values) & as_mask(self.trimmed.is_valid())
        return self._all_wrong()

    @cached_property
    def days(self) -> tuple[Floats, Mask]:
        """Days since 1970, in UTC."""
        if self.plain.type == TEXT:
            return dates.parsed_iso(self.trimmed)
        if self.plain.type == TIME:
            return dates.days_of(self.plain), self._none_wrong()
        return self._all_wrong()

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
        if column.type != TEXT:
            return pc.cast(column, TEXT)
        gaps = pc.is_in(pc.utf8_trim_whitespace(column), value_set=IN_TEXT)
        return pc.if_else(gaps, None, column) if pc.any(gaps).as_py() else column

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
        lists, values = self.lists, np.zeros((len(self), width))
        lengths = pc.fill_null(pc.list_value_length(lists), -1)
        wrong = lengths.to_numpy(zero_copy_only=False) != width
        if not wrong.all():
            flat = _with_nan(pc.list_flatten(lists.filter(pa.array(~wrong))))
            values[~wrong] = flat.reshape(-1, width)
        wrong = wrong | ~np.isfinite(values).all(axis=1)
        return np.where(wrong[:, None], 0.0, values), wrong

    @cached_property
    def lists(self) -> Any:
        """Lists of numbers, also those of text such as 120/80; null for what is none."""
        if self.plain.type != TEXT:
            return self.plain if self.plain.type == VECTOR else pa.nulls(len(self), VECTOR)
        text, known = normal(self.trimmed), np.zeros(len(self), bool)
        for pattern in SEPARATORS.values():
            known |= as_mask(pc.match_substring_regex(text, pattern))
        text = pc.replace_substring_regex(text, r"[(\[)\] ]", "")
        text = pc.replace_substring_regex(text, r"([0-9])[-/,;x×|]", r"\1;")
        return pc.cast(pc.split_pattern(pc.if_else(pa.array(known), text, None), ";"), VECTOR)

    @cached_property
    def trimmed(self) -> Any:
        """Text without spaces around it, and null where it stands for a missing value."""
        trimmed = pc.utf8_trim_whitespace(self.plain)
        return pc.if_else(pc.is_in(trimmed, value_set=_IN_NUMBERS), None, trimmed)

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
        kinds = pc.dictionary_encode(pc.fill_null(normal(self.trimmed), ""))
        numbers = [_number(value) for value in kinds.dictionary.to_pylist()]
        wrong = np.array([number is None for number in numbers], bool)
        values = np.array([math.nan if number is None else number for number in numbers])
        places = kinds.indices.to_numpy()
        return values[places], wrong[places]


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


def folded(column: Any) -> Any:
    """Text in small letters, with single blanks in it and none around it."""
    blanks = pc.replace_substring_regex(column, r"\s+", " ")
    return pc.utf8_lower(pc.utf8_trim_whitespace(blanks))


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
