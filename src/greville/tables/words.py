"""Free text: long values that differ in nearly every row, encoded by their words."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np

from ._values import Floats, Mask, Values
from .column import Column
from .writing import Written

# Inputs that share all words.
_WIDTH = 128
_WIDEST = 4096

# Words in half of the texts, at least, and the share of words that come in more than one row.
_LEAST_WORDS, _SHARE_OF_COMMON = 4, 0.5

_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Words(Column):
    """The words of a text, each added to one of some inputs with a sign, both from its checksum.

    Rows have length one, whatever the number of words; zeros where there is none.
    """

    kind, wants = "words", "text"
    width: int

    @classmethod
    def fit(cls, name: str, values: Values, written: Written) -> Column:
        return cls(name, _WIDTH)

    @property
    def inputs(self) -> list[str]:
        return [f"{self.name}: words {i}" for i in range(self.width)]

    def fill(self, values: Values, out: Floats) -> Mask:
        out[:] = 0
        places: dict[str, tuple[int, int]] = {}
        for row, text in zip(out, values.text.to_pylist(), strict=True):
            for word in _words(text or ""):
                if word not in places:
                    checksum = zlib.crc32(word.encode())
                    places[word] = (checksum >> 1) % self.width, 1 - 2 * (checksum & 1)
                place, sign = places[word]
                row[place] += sign
        lengths = np.sqrt((out**2).sum(axis=1, keepdims=True))
        out /= np.where(lengths > 0, lengths, 1.0)
        return np.zeros(len(values), bool)

    def description(self) -> str:
        return f"free text: its words in {self.width} inputs"

    def check(self) -> None:
        if not 1 <= self.width <= _WIDEST:
            raise ValueError(f"width={self.width}: it must be from 1 to {_WIDEST}.")


def is_free_text(values: Values) -> bool:
    """Whether values are sentences rather than names or numbers."""
    texts = [
        {word for word in _words(text) if _LETTER.search(word)}
        for text in values.text.drop_null().to_pylist()
    ]
    if not texts or np.median([len(words) for words in texts]) < _LEAST_WORDS:
        return False
    rows = Counter(word for words in texts for word in words)
    common = sum(n for n in rows.values() if n > 1)
    return common >= _SHARE_OF_COMMON * sum(rows.values())


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
