"""A sample of all rows of a table, wherever in it they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .batch import Batch

# What random numbers are for: rows that are held out have others than those of a sample.
HELD_OUT, _SAMPLE = 0, 1

_Pieces = list[tuple[Batch, NDArray[np.float64]]]


def sampled(batches: Iterable[Batch], n: int) -> tuple[list[Batch], int]:
    """Return a reproducible random sample of n rows, and the number of all rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, RowErrors, find_sources, read, sampled
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batches, total = sampled(read(find_sources([str(path)]), Reading(), RowErrors()), 2)
    >>> sum(len(batch) for batch in batches), total
    (2, 21600)
    """
    sample = Sample(n)
    for batch in batches:
        sample.add(batch)
    return sample.batches(), sample.total


class Sample:
    """A reproducible uniform random sample of n rows from batches that come one by one.

    Every row gets a random number, and the rows with the n smallest are kept: rows that follow
    each other in some regular way, sorted or in turns, make no difference.
    """

    def __init__(self, n: int) -> None:
        self.total = 0  # rows that have come
        self._n, self._limit, self._kept = n, 1.0, 0
        self._pieces: _Pieces = []

    def add(self, batch: Batch) -> None:
        numbers = uniform(self.total, len(batch), _SAMPLE)
        self.total += len(batch)
        self._pieces.append(_below(batch, numbers, self._limit))
        self._kept += len(self._pieces[-1][1])
        if self._kept > 2 * self._n:
            self._pieces, self._limit = _smallest(self._pieces, self._n)
            self._kept = self._n

    def batches(self) -> list[Batch]:
        """The rows, in the order in which they came."""
        pieces = _smallest(self._pieces, self._n)[0] if self._pieces else []
        return list(_per_source([batch for batch, _ in pieces]))


def uniform(first: int, n: int, purpose: int) -> NDArray[np.float64]:
    """Return a reproducible number from 0 to 1 for each of n row numbers (splitmix64)."""
    start = np.uint64((purpose * 0xD1342543DE82EF95) & 0xFFFFFFFFFFFFFFFF)
    z = (np.arange(first, first + n, dtype=np.uint64) + 1) * np.uint64(0x9E3779B97F4A7C15) + start
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(np.float64) / 2.0**64


def _smallest(pieces: _Pieces, n: int) -> tuple[_Pieces, float]:
    """Keep the rows with the n smallest random numbers; return the next larger number too."""
    numbers = np.concatenate([numbers for _, numbers in pieces])
    limit = float(np.partition(numbers, n)[n]) if len(numbers) > n else 1.0
    some = (_below(batch, numbers, limit) for batch, numbers in pieces)
    return [piece for piece in some if len(piece[1])], limit


def _below(
    batch: Batch, numbers: NDArray[np.float64], limit: float
) -> tuple[Batch, NDArray[np.float64]]:
    keep = numbers < limit
    return batch.filter(keep), numbers[keep]


def _per_source(batches: list[Batch]) -> Iterator[Batch]:
    """Join the batches of a source that have the same columns."""

    def kind(batch: Batch) -> Any:
        return batch.source, batch.table.schema

    for _, group in groupby(batches, kind):
        some = list(group)
        table = pa.Table.from_batches([batch.table for batch in some]).combine_chunks()
        numbers = np.concatenate([batch.numbers for batch in some])
        yield replace(some[0], table=table.to_batches()[0], numbers=numbers)
