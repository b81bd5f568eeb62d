"""Columns of any type as numbers, times, flags, text or lists, and values that are none.

Files do not agree on types: what is a float in Parquet is text in CSV. So every column first
becomes one of six plain types, and is then parsed as the kind that the schema says it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from . import dates
from .findings import listed_values
from .numerals import PLAIN, Numerals, as_number

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# What makes a number of a text without spaces around it, or None.
Parse = Callable[[str], float | None]

NUMBER, FLAG, TEXT, TIME, VECTOR, TAGS = (
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.timestamp("us"),
    pa.list_(pa.float64()),
    pa.list_(pa.string()),
)
_KINDS = {NUMBER: "number", FLAG: "flag", TEXT: "text", TIME: "time", VECTOR: "vector"}
_KINDS[TAGS] = "tags"

# Up to here every whole number is a float; beyond there numbers are too large to be squared.
EXACT, LARGEST = 2**53, 1e100

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
_WORDS = ["missing", "unknown", "n.a.", "undefined", "not available", "nil", "empty", "blank"]
_SIGNS = ["-", "--", "---", ".", "..", "...", "–", "—", "*", "#VALUE!", "#DIV/0!", "#REF!", "#NA"]
GAPS = [*_SIGNS, *(form(word) for word in _WORDS for form in (str, str.upper, str.capitalize))]
IN_TEXT = pa.array(_GAPS)
IN_LABELS = pa.array([gap for gap in _GAPS if gap != "None"])
_IN_NUMBERS = pa.array([*_GAPS, "NA", "none", *GAPS])

# Several numbers in one value, by what stands between them.
_ONE = r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
SEPARATORS = {
    mark: rf"^[(\[]? ?-?{_ONE}(?: ?[{mark}] ?-?{_ONE})+ ?[)\]]?$" for mark in "/,;x×|"
} | {"-": rf"^{_ONE} ?- ?{_ONE}$"}

_ONE_KIND_OF_SIGN = (("[\u00a0\u202f\u2009]", " "), ("’", "'"), ("[−–]", "-"))


@dataclass(frozen=True)
class Texts:
    """Values that are not missing, each once, and their counts."""

    distinct: Sequence[str]
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of values, each counted as often as it comes."""
        return int(self.counts.sum())

    def read(self, parse: Parse) -> NDArray[np.float64]:
        """The values as numbers, nan for what is none."""
        numbers = map(parse, self.distinct)
        return np.array([np.nan if each is None else each for each in numbers], np.float64)

    def number_of(self, chosen: Any) -> int:
        """Count the values of a mask."""
        return int(self.counts[chosen].sum())

    def misses(self, parse: Parse) -> int:
        """Count the values that a parse function cannot read."""
        return self.number_of(np.array([parse(text) is None for text in self.distinct], bool))

    def matching(self, pattern: str) -> NDArray[np.bool_]:
        """Return a mask of the distinct values that match a pattern."""
        search = re.compile(pattern).search
        return np.array([search(text) is not None for text in self.distinct], bool)

    def some(self, pattern: str = "", n: int = 2) -> str:
        """Return a few values that match a pattern, for a message."""
        search = re.compile(pattern).search
        return listed_values([text for text in self.distinct if search(text)][:n])


class UnknownType(ValueError):
    """A column of a type that no model can use."""


def plain(column: Any) -> Any:
    """Convert a column to one of the plain types; an `UnknownType` if that is impossible."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if types.is_duration(kind):
        lengths = pc.cast(pc.cast(column, pa.duration("us"), safe=False), pa.int64())
        return pc.divide(pc.cast(lengths, NUMBER, safe=False), 1e6)
    if types.is_time(kind):
        return pc.cast(pc.cast(pc.cast(column, pa.time64("us")), pa.int64()), NUMBER)
    if types.is_integer(kind) and _has_large(column):
        return pc.cast(column, TEXT)  # as a float it would be another number, and another name
    numeric = types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind)
    string = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    new = NUMBER if numeric else TEXT if string or types.is_null(kind) else None
    if types.is_boolean(kind) or types.is_date(kind) or types.is_timestamp(kind):
        new = FLAG if types.is_boolean(kind) else TIME
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = kind.value_type
        if types.is_floating(inner) or types.is_integer(inner):
            new = VECTOR
        elif types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner):
            new = TAGS
    if new is None:
        raise UnknownType(f"its type, {kind}, is none that can be learned from")
    same = kind == new and not types.is_nested(kind)  # whose fields may have other names
    return column if same else pc.cast(column, new, safe=False)


def _has_large(column: Any) -> bool:
    ends = pc.min_max(column)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    return most is not None and max(most, -least) > EXACT


def concatenated(first: Any, more: Any) -> Any:
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
        """Kind of the column by its type: number, flag, time, vector, tags, text, or empty."""
        gaps, kind = self.trimmed if self.is_text else self.plain, self.plain.type
        empty = gaps.null_count == len(self)
        empty = empty or (kind == NUMBER and bool(np.isnan(self.numbers[0]).all()))
        return "empty" if empty or (kind == TAGS and not any(self.tags[0])) else _KINDS[kind]

    @property
    def is_text(self) -> bool:
        """Whether the column is of text, whatever is written in it."""
        return bool(self.plain.type == TEXT)

    def had(self, gap: str) -> bool:
        """Whether a text such as "n/a" is among the values and so stands for a missing value."""
        return bool(_without(self._whole, [gap]).null_count > self._whole.null_count)

    # Text, in which each different value is parsed once

    @cached_property
    def trimmed(self) -> Any:
        """Text without spaces around it, and null where it stands for a missing value."""
        trimmed = pc.utf8_trim_whitespace(self.plain)
        return pc.if_else(pc.is_in(trimmed, value_set=_IN_NUMBERS), None, trimmed)

    @cached_property
    def _coded(self) -> Any:
        """Dictionary-encode the text, with one kind of blank, apostrophe and minus sign."""
        text = self.trimmed if self.is_text else self.text
        for several, one in _ONE_KIND_OF_SIGN:
            text = pc.replace_substring_regex(text, several, one)
        return pc.dictionary_encode(pc.fill_null(text, ""))

    @cached_property
    def texts(self) -> Texts:
        """Distinct text values that are not missing, and their counts."""
        distinct = self._coded.dictionary.to_pylist()
        counts = np.bincount(self._coded.indices.to_numpy(), minlength=len(distinct))
        there = np.array([text != "" for text in distinct], bool)
        return Texts([text for text in distinct if text], counts[there])

    def _each(self, parse: Parse) -> tuple[Floats, Mask]:
        """Apply a function to each text; the function returns a number, or None if wrong."""
        parsed = [parse(text) if text else nan for text in self._coded.dictionary.to_pylist()]
        values = np.array([nan if each is None else each for each in parsed], np.float64)
        wrong, places = np.array([each is None for each in parsed], bool), self._coded.indices
        return values[places.to_numpy()], wrong[places.to_numpy()]

    # Numbers, flags and times

    def numbers_as(self, numerals: Numerals) -> tuple[Floats, Mask]:
        """Numbers as they are written in this column."""
        if numerals == PLAIN:
            return self.numbers
        if numerals not in self._parsed:
            is_written = self.is_text and not numerals.is_plain
            values, wrong = _bounded(*self._each(numerals.number)) if is_written else self.numbers
            values = np.where(np.isin(values, numerals.gaps), nan, values)
            self._parsed[numerals] = values, wrong
        return self._parsed[numerals]

    @cached_property
    def numbers(self) -> tuple[Floats, Mask]:
        """Numbers as programs write them."""
        if not self.is_text and self.plain.type not in (NUMBER, FLAG):
            return self._all_wrong()
        for column in (self.plain, self.trimmed) if self.is_text else (self.plain,):
            with suppress(pa.ArrowInvalid):
                return _bounded(_with_nan(pc.cast(column, NUMBER)), self._none_wrong())
        return _bounded(*self._each(as_number))

    @cached_property
    def flags(self) -> tuple[Floats, Mask]:
        """1 for true, 0 for false."""
        if self.is_text:
            return self._each(lambda text: _FLAGS.get(text.lower()))
        if self.plain.type not in (NUMBER, FLAG):
            return self._all_wrong()
        values = _with_nan(pc.cast(self.plain, NUMBER))
        return values, ~(np.isnan(values) | (values == 0) | (values == 1))

    def days_as(self, format: str) -> tuple[Floats, Mask]:
        """Days since 1970 of times in this format."""
        if format == dates.ISO or self.kind in ("time", "flag", "vector", "tags"):
            return self.days
        if format in dates.PER_DAY:
            return self.numbers[0] / dates.PER_DAY[format], self.numbers[1]
        if format not in self._parsed:
            self._parsed[format] = self._each(dates.reader(format))
        return self._parsed[format]

    @cached_property
    def days(self) -> tuple[Floats, Mask]:
        """Days since 1970, in UTC, of times in ISO 8601."""
        if self.plain.type == TIME:
            return _days_of(self.plain), self._none_wrong()
        if not self.is_text:
            return self._all_wrong()
        for zone in (None, "UTC"):
            with suppress(pa.ArrowInvalid):
                return _days_of(pc.cast(self.trimmed, pa.timestamp("us", zone))), self._none_wrong()
        return self._each(dates.reader(dates.WRITTEN_ISO))

    # Names

    @cached_property
    def text(self) -> Any:
        """Whole numbers without a point, so that 3 in a CSV and 3.0 in Parquet are the same."""
        column = self.plain
        if column.type == NUMBER:
            column = pc.if_else(pc.is_nan(column), None, column)
            exact = pc.less(pc.abs(column), float(EXACT))
            short = pc.and_(pc.equal(pc.round(column), column), exact)
            whole = pc.cast(pc.cast(pc.if_else(short, column, 0.0), pa.int64()), TEXT)
            return pc.if_else(short, whole, pc.cast(column, TEXT))
        if column.type in (VECTOR, TAGS):
            return pa.array([None if v is None else str(v) for v in column.to_pylist()], TEXT)
        return self.text_without(IN_TEXT) if self.is_text else pc.cast(column, TEXT)

    def text_without(self, gaps: Any) -> Any:
        """Text with nulls where a value is among gaps."""
        return pc.if_else(pc.is_in(pc.utf8_trim_whitespace(self.plain), gaps), None, self.plain)

    @cached_property
    def names_of_numbers(self) -> Any:
        """Write numbers as text: one text for 3, 3.0 and "3"."""
        if not self.is_text:
            return self.text
        values, _ = self.numbers
        exact = pa.array(np.abs(values) < float(EXACT))  # not what is too large, or no number
        return pc.if_else(exact, Values(pa.array(values, from_pandas=True)).text, self.text)

    # Lists

    def vectors(self, width: int) -> tuple[Floats, Mask]:
        """Rows of so many numbers; missing ones are wrong."""
        lists, values = self.lists, np.zeros((len(self), width))
        wrong = np.asarray(pc.fill_null(pc.list_value_length(lists), -1)) != width
        flat = _with_nan(pc.list_flatten(lists.filter(pa.array(~wrong))))
        values[~wrong] = flat.reshape(-1, width)
        wrong = wrong | ~np.isfinite(values).all(axis=1)
        return np.where(wrong[:, None], 0.0, values), wrong

    @cached_property
    def lists(self) -> Any:
        """Lists of numbers, also those of text such as 120/80; null for what is none."""
        if not self.is_text:
            return self.plain if self.plain.type == VECTOR else pa.nulls(len(self), VECTOR)
        text, is_list = self._coded.dictionary_decode(), np.zeros(len(self), bool)
        for pattern in SEPARATORS.values():
            is_list |= np.asarray(pc.match_substring_regex(text, pattern))
        text = pc.replace_substring_regex(text, r"[(\[)\] ]", "")
        text = pc.replace_substring_regex(text, r"([0-9])[-/,;x×|]", r"\1;")
        return pc.cast(pc.split_pattern(pc.if_else(pa.array(is_list), text, None), ";"), VECTOR)

    @property
    def width(self) -> int:
        """Return the most common length of the lists."""
        lengths = pc.mode(pc.list_value_length(self.lists))
        return int(lengths[0]["mode"].as_py() or 0)

    @property
    def tags(self) -> tuple[list[list[str]], Mask]:
        """The words of each row's list, none where it is missing; and which values are no lists."""
        if self.plain.type != TAGS:
            return [[] for _ in range(len(self))], np.asarray(self.text.is_valid())
        lists = self.plain.to_pylist()
        return [[word for word in each or () if word] for each in lists], self._none_wrong()

    def _none_wrong(self) -> Mask:
        return np.zeros(len(self), bool)

    def _all_wrong(self) -> tuple[Floats, Mask]:
        return np.full(len(self), nan), np.asarray(self.plain.is_valid())


def _without(column: Any, na: Sequence[str]) -> Any:
    """A plain column with nulls where one of some values is."""
    if column.type == TEXT:
        return pc.if_else(
            pc.is_in(pc.utf8_trim_whitespace(column), pa.array(na, TEXT)), None, column
        )
    if column.type == NUMBER:
        gaps = [number for value in na if (number := as_number(value)) is not None]
        return pc.if_else(pc.is_in(column, pa.array(gaps, NUMBER)), None, column)
    return column


def _bounded(values: Floats, wrong: Mask) -> tuple[Floats, Mask]:
    """Mark numbers that are too large, infinite numbers included, as wrong."""
    large = np.abs(values) > LARGEST
    return (np.where(large, nan, values), wrong | large) if large.any() else (values, wrong)


def _days_of(times: Any) -> Floats:
    """Times of Arrow as days since 1970 in UTC, nan where one is missing."""
    return _with_nan(pc.cast(pc.cast(times, pa.int64()), NUMBER, safe=False)) / 86_400e6


def _with_nan(column: Any) -> Floats:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def folded(column: Any) -> Any:
    """Text in small letters, with single blanks in it and none around it."""
    blanks = pc.replace_substring_regex(column, r"\s+", " ")
    return pc.utf8_lower(pc.utf8_trim_whitespace(blanks))


def text_of(value: Any) -> str | None:
    """Write one value of JSON as text."""
    if isinstance(value, str):
        return value.encode("utf8", "replace").decode() or None
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124
            return None
        return str(int(value)) if value == round(value) and abs(value) < EXACT else repr(value)
    return None if value is None else json.dumps(value)
