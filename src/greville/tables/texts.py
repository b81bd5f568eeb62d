"""The different values of a column of text, and how often each of them is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .findings import listed_values

# What makes a number of a text without spaces around it, or None.
Parse = Callable[[str], float | None]


@dataclass(frozen=True)
class Texts:
    """Values that are not missing, each once, and their counts."""

    distinct: Sequence[str]
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """How many values there are, counting each as often as it comes."""
        return int(self.counts.sum())

    def read(self, parse: Parse) -> NDArray[np.float64]:
        """The values as numbers, nan for what is none."""
        numbers = map(parse, self.distinct)
        return np.array([np.nan if each is None else each for each in numbers], np.float64)

    def number_of(self, chosen: Any) -> int:
        """How many values are those of a mask."""
        return int(self.counts[chosen].sum())

    def misses(self, parse: Parse) -> int:
        """How many values a function cannot read."""
        return self.number_of(np.array([parse(text) is None for text in self.distinct], bool))

    def matching(self, pattern: str) -> NDArray[np.bool_]:
        """Which of the different values match a pattern."""
        search = re.compile(pattern).search
        return np.array([search(text) is not None for text in self.distinct], bool)

    def some(self, pattern: str = "", n: int = 2) -> str:
        """A few values that match a pattern, for a message."""
        search = re.compile(pattern).search
        return listed_values([text for text in self.distinct if search(text)][:n])
