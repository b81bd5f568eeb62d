"""Rows that were read together, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# What to do about a row that cannot be used.
ADVICE = "mend it, or pass --on-error skip to go on without such rows."


class TableError(ValueError):
    """Something is wrong with the data, or with what was asked of them: for the user to mend."""


@dataclass(frozen=True)
class Batch:
    """Some rows of one source, as an Arrow record batch.

    `numbers` are those of the rows in the source, from 1; `done` is the share of the source that
    was read by the end of them. In a `sparse` one, a column that is not there is missing.
    `skipped` are the rows that were left out before or among these, and why.
    """

    table: Any
    source: str
    numbers: NDArray[np.int64]
    done: float
    sparse: bool = False
    skipped: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        return self.table.num_rows

    def part(self, start: int, stop: int) -> Self:
        rows, numbers = self.table.slice(start, stop - start), self.numbers[start:stop]
        first = self.numbers[start - 1] if start else -1
        last = np.inf if stop == len(self) else self.numbers[stop - 1] if stop else -1
        skipped = tuple(each for each in self.skipped if first < each[0] < last)
        return replace(self, table=rows, numbers=numbers, skipped=skipped)

    def where(self, row: int) -> str:
        """The name of a row in a message."""
        return f"{self.source}, row {self.numbers[row]:,}"


@dataclass
class Troubles:
    """What to do with rows that cannot be used: stop at the first, or count them."""

    skip: bool = False
    count: int = 0
    first: list[str] = field(default_factory=list)

    def copy(self) -> Self:
        return replace(self, first=list(self.first))

    def meet(self, what: str) -> None:
        """One row that cannot be used."""
        if not self.skip:
            raise TableError(f"{what}; {ADVICE}")
        self._count(what)

    def _count(self, what: str) -> None:
        self.count += 1
        if len(self.first) < 5:
            self.first.append(what)

    def count_skipped(self, batch: Batch) -> None:
        """Rows that a reader has left out already."""
        for _, what in batch.skipped:
            self._count(what)

    def meet_rows(self, batch: Batch, wrong: dict[int, str]) -> None:
        """Rows of a batch that cannot be used, and why."""
        for row, reason in sorted(wrong.items()):
            self.meet(f"{batch.where(row)}: {reason}")


def in_chunks(batches: Iterable[Batch], size: int, skip: int = 0) -> Iterator[list[Batch]]:
    """The same rows in pieces of exactly `size` but for the last, whatever files they are from.

    What is done with them then depends on nothing but the rows, and can go on after the first
    `skip` of them as if it had never stopped.
    """
    chunk: list[Batch] = []
    room = size
    for batch in batches:
        start = min(skip, len(batch))
        skip -= start
        while start < len(batch):
            stop = min(len(batch), start + room)
            chunk.append(batch.part(start, stop))
            room -= stop - start
            start = stop
            if room == 0:
                yield chunk
                chunk, room = [], size
    if chunk:
        yield chunk
