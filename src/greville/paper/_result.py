"""What an experiment gives back, and the blocks of text, tables and pictures it tells it in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

ALGORITHMS = {"opium": "OPIUM", "light": "OPIUM light", "dynamic": "dynamic OPIUM"}


@dataclass(frozen=True)
class Text:
    """A paragraph; `code` between backticks."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of text under column heads."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure by its name, and what it shows."""

    name: str
    title: str
    caption: str


Block = Text | Table | Picture


@dataclass(frozen=True)
class Result(ABC):
    """One experiment's outcome.

    Attributes
    ----------
    numbers : dict
        Every number, under keys that stay; what results.json holds.
    series : dict
        Arrays that the figures are drawn from. Without them there are no figures.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    numbers: dict[str, Any]
    series: dict[str, Any] = field(default_factory=dict, repr=False)

    @abstractmethod
    def blocks(self) -> list[Block]:
        """The story, from the numbers alone."""

    @abstractmethod
    def figures(self, dark: bool = False) -> dict[str, Any]:
        """The pictures named in the story, as matplotlib figures."""


def power(x: float | None) -> str:
    """A number that spans magnitudes, such as 4.4e-8."""
    if x is None:
        return "overflow"
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{x:#.2g}" if exponent in ("-01", "+00") else f"{mantissa}e{int(exponent)}"


def times(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def gigabytes(megabytes: float | None) -> str:
    """From units of 2^20 bytes to the paper's, 10^9."""
    return "unknown" if megabytes is None else f"{megabytes * 2**20 / 1e9:.2f} GB"


def ratio(ours: float, paper: float) -> str:
    """Ours as a part or a multiple of the paper's."""
    r = ours / paper
    if r < 0.095:
        return f"1/{1 / r:,.0f}"
    return f"{r:.2f}" if r < 1000 else power(r)
