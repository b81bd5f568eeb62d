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

_Pieces = list[tuple[Batch, NDArray[np.float64]]]


def sampled(batches: Iterable[Batch], n: int) -> tuple[list[Batch], int]:
    """n rows, all with the same chance and always the same ones; and how many there were.

    Every row gets a random number, and the rows with the n smallest are kept: rows that follow
    each other in some regular way, sorted or in turns, make no difference.
    """
    random, limit = np.random.RandomState(0), 1.0
    pieces: _Pieces = []
    total = kept = 0
    for batch in batches:
        numbers = random.random_sample(len(batch))
        total += len(batch)
        pieces.append(_below(batch, numbers, limit))
        kept += len(pieces[-1][1])
        if kept > 2 * n:
            pieces, limit = _smallest(pieces, n)
            kept = n
    return list(_joined([batch for batch, _ in _smallest(pieces, n)[0]])), total


def _smallest(pieces: _Pieces, n: int) -> tuple[_Pieces, float]:
    """The rows with the n smallest numbers, and the next number."""
    numbers = np.concatenate([numbers for _, numbers in pieces])
    limit = float(np.partition(numbers, n)[n]) if len(numbers) > n else 1.0
    some = (_below(batch, numbers, limit) for batch, numbers in pieces)
    return [piece for piece in some if len(piece[1])], limit


def _below(
    batch: Batch, numbers: NDArray[np.float64], limit: float
) -> tuple[Batch, NDArray[np.float64]]:
    keep = numbers < limit
    return batch.filter(keep), numbers[keep]


def _joined(batches: list[Batch]) -> Iterator[Batch]:
    """The same rows in fewer batches: those of a source together, if they have the same columns."""

    def kind(batch: Batch) -> Any:
        return batch.source, batch.table.schema

    for _, group in groupby(batches, kind):
        some = list(group)
        table = pa.Table.from_batches([batch.table for batch in some]).combine_chunks()
        numbers = np.concatenate([batch.numbers for batch in some])
        yield replace(some[0], table=table.to_batches()[0], numbers=numbers)
