"""Free text: long values that differ in nearly every row, encoded by their words."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

import numpy as np

from ._plain import Floats, Mask
from ._values import Values
from .column import Column
from .evidence import Decision, Hints
from .findings import Finding

# Inputs that share all words.
_WIDTH = 128
_WIDEST = 4096

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Words(Column):
    """The words of a text, each added to one of some inputs with a sign, both from its checksum.

    Rows have length one, whatever the number of words; zeros where there is none.
    """

    kind, wants = "words", "text"
    width: int

    @classmethod
    def fit(cls, name: str, values: Values, decision: Decision, hints: Hints) -> Column:
        return cls(name, _WIDTH)

    def findings(self, values: Values) -> list[Finding]:
        message = f"{self.name!r} is free text: its words are hashed to {self.width} inputs."
        return [Finding("free text", message, self.name)]

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


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
