"""Tables that a cluster learns: parts of files, which workers read and add up."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import dask
import distributed
import numpy as np

from .. import tables
from .blocks import added_up

# Rows that are learned together.
_ROWS_AT_ONCE = 16_384

# How large parts of Parquet files are, in bytes, and how many there are for each thread.
_LEAST_PART, _LARGEST_PART, _PARTS_PER_THREAD = 1 << 20, 1 << 26, 8

Learned = tuple[tables.TableModel, tables.RowErrors]


@dataclass
class ClusterTable:
    """Files that a cluster reads, in parts: row groups of Parquet, other files whole.

    Parameters
    ----------
    client : distributed.Client
    sources : list of Source
    reading : Reading
    holdout : Holdout
        The rows that are not learned.
    skip : bool
        Whether rows that cannot be used are left out.
    """

    client: Any
    sources: Sequence[Any]
    reading: tables.Reading
    holdout: tables.Holdout
    skip: bool
    _rows: Counter[str] = field(default_factory=Counter, init=False)
    _said: tables.RowErrors = field(default_factory=tables.RowErrors, init=False)

    def sample(self, model: tables.TableModel) -> tuple[list[tables.Batch], int]:
        """Return the same sample of rows as one process, and the number of all rows to learn.

        `TableModel.prepare_from` takes columns and units from it. This process takes it.
        """
        row_errors = tables.RowErrors(skip=self.skip)
        with closing(tables.read(self.sources, self.reading, row_errors, model.needed)) as batches:
            learned = self.holdout.learned(self._counted(batches))
            return tables.sampled(learned, tables.FIRST_ROWS)

    def _counted(self, batches: Any) -> Iterator[tables.Batch]:
        for batch in batches:
            self._rows[batch.source] += len(batch)
            self._said.findings += batch.findings
            yield batch

    def learn(self, model: tables.TableModel, report: Callable[[int], None]) -> Learned:
        """The model after all rows, and findings about them.

        `report` is called with a number of rows whenever a worker has learned so many.
        """
        total = sum(source.size for source in self.sources)
        threads = sum(self.client.nthreads().values())
        size = int(np.clip(total / (_PARTS_PER_THREAD * threads), _LEAST_PART, _LARGEST_PART))
        parts = tables.split(self.sources, size)
        counts = [self._rows[p.name] if p.n_rows is None else p.n_rows for p in parts]
        begins = [0, *accumulate(counts[:-1])]
        topic, skip = f"greville-{uuid.uuid4().hex}", tables.RowErrors(skip=self.skip)
        shared = dask.delayed((model.accumulator(), skip), pure=False, traverse=False)
        task = dask.delayed(_learn_part, pure=False)

        def step(before: Any, i: int) -> Any:
            return task(shared, before, parts[i], self.reading, begins[i], self.holdout, topic)

        self.client.subscribe_topic(topic, lambda event: report(event[1]))
        try:
            with self.client.as_current():
                added, row_errors = added_up(step, len(parts), _merge)
        finally:
            self.client.unsubscribe_topic(topic)
        row_errors.extend(self._said)  # what only one who reads all files can see
        return model.twin().merge(added), row_errors


def _learn_part(
    start: Learned, before: Any, part: Any, reading: Any, first: int, holdout: Any, topic: str
) -> Learned:
    """Learn one part after those before it, and report its number of rows to the client."""
    model, row_errors = _copy(start if before is None else before)
    with closing(tables.read([part], reading, row_errors, model.needed)) as batches:
        for chunk in tables.in_chunks(holdout.learned(batches, first), _ROWS_AT_ONCE):
            model.learn(chunk, row_errors)
            distributed.get_worker().log_event(topic, sum(map(len, chunk)))
    return model, row_errors


def _merge(one: Learned, other: Learned) -> Learned:
    model, row_errors = _copy(one)
    row_errors.extend(other[1])
    return model.merge(other[0]), row_errors


def _copy(learned: Learned) -> Learned:
    return learned[0].twin(), learned[1].copy()
