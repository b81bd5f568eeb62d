"""The result of an experiment: numbers, and blocks of text, tables and pictures about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

ALGORITHMS = {"opium": "OPIUM", "light": "OPIUM light", "dynamic": "dynamic OPIUM"}


@dataclass(frozen=True)
class Text:
    """A paragraph; `code` between backticks.

    Examples
    --------
    >>> from greville.paper import Text
    >>> Text("Errors of `OPIUM`.")
    Text(text='Errors of `OPIUM`.')
    """

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of text, and the titles of their columns.

    Examples
    --------
    >>> from greville.paper import Table
    >>> Table("Errors", ["solver", "error"], [["OPIUM", "2.68 %"]]).rows
    [['OPIUM', '2.68 %']]
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """The name of a figure, with a title and a caption.

    Examples
    --------
    >>> from greville.paper import Picture
    >>> Picture("figure-1", "Figure 1", "A sine whose frequency doubles.").name
    'figure-1'
    """

    name: str
    title: str
    caption: str


Block = Text | Table | Picture


@dataclass(frozen=True)
class Result(ABC):
    """The result of one experiment.

    Attributes
    ----------
    numbers : dict
        All numbers, as in results.json; the keys do not change.
    series : dict
        Arrays that the figures are drawn from. Without them there are no figures.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    numbers: dict[str, Any]
    series: dict[str, Any] = field(default_factory=dict, repr=False)

    @abstractmethod
    def summary(self) -> str:
        """The main numbers in a sentence or two, for the top of the report."""

    @abstractmethod
    def blocks(self) -> list[Block]:
        """Text, tables and pictures for the report, from `numbers` alone."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """The Matplotlib figures of the pictures among the blocks, by name."""


def scientific(x: float | None) -> str:
    """A number in scientific notation, such as 4.4e-8; None is an overflow."""
    if x is None:
        return "overflow"
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{x:#.2g}" if exponent in ("-01", "+00") else f"{mantissa}e{int(exponent)}"


def count_runs(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def gigabytes(megabytes: float | None) -> str:
    """Convert from units of 2^20 bytes to units of 10^9, as in the paper."""
    return "unknown" if megabytes is None else f"{megabytes * 2**20 / 1e9:.2f} GB"


def ratio(ours: float, paper: float) -> str:
    """Write our number divided by that of the paper."""
    r = ours / paper
    if r < 0.095:
        return f"1/{1 / r:,.0f}"
    return f"{r:.2f}" if r < 1000 else scientific(r)
