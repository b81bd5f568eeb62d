"""The warm-up of a stream: its first rows, kept while what is measured from them may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

from ..fields import count, require, storable, stored

Kept = TypeVar("Kept")


def _check_fields(warmup: Warmup[Any]) -> None:
    require(warmup.n == warmup.rows.n, "the warm-up has another number of rows than it says")
    require(not warmup.is_over, "the warm-up has more rows than it lasts")


@stored(check=_check_fields)
@dataclass(frozen=True)
class Warmup(Generic[Kept]):
    """The first rows of a stream, and when they are to be measured; an immutable value.

    What later rows need to know (the units of columns, the schema of a table) is measured from the
    first 1, 2, 4, ... rows up to `length`. When it has changed, all rows that are kept are learned
    again. After `length` rows the warm-up is over: what was measured last stays.

    Parameters
    ----------
    rows : the rows kept so far, in any form
    n : int
        How many they are.
    length : int
        How many rows the warm-up lasts.

    Examples
    --------
    >>> from greville.elm import Warmup
    >>> warmup = Warmup(rows=[], n=0, length=1024)
    >>> [(piece.start, piece.stop) for piece in warmup.pieces(6)]
    [(0, 1), (1, 2), (2, 4), (4, 6)]
    >>> later = warmup.with_rows([1, 2, 3], 3)
    >>> later.n_measured, later.is_due_after(warmup), later.is_over
    (2, True, False)
    """

    rows: Annotated[Kept, storable]
    n: Annotated[int, count]
    length: Annotated[int, count]

    @property
    def n_measured(self) -> int:
        """How many of the first rows are to be measured: the largest power of two up to n."""
        return min(self.length, 1 << (self.n.bit_length() - 1)) if self.n else 0

    @property
    def n_until_due(self) -> int:
        """How many more rows until they are to be measured again."""
        return max(1, 2 * self.n_measured) - self.n

    @property
    def is_over(self) -> bool:
        return self.n >= self.length

    def is_due_after(self, before: Warmup[Kept]) -> bool:
        """Whether more rows are to be measured than `before`."""
        return self.n_measured > before.n_measured

    def with_rows(self, rows: Kept, n: int) -> Warmup[Kept]:
        """The same warm-up with other rows."""
        return replace(self, rows=rows, n=n)

    def pieces(self, n: int) -> Iterator[slice]:
        """The next n rows, cut where they are measured and where the warm-up ends."""
        start, warmup = 0, self
        while start < n:
            ahead = n if warmup.is_over else warmup.n_until_due
            stop = min(n, start + ahead)
            yield slice(start, stop)
            warmup, start = warmup.with_rows(warmup.rows, self.n + stop), stop
