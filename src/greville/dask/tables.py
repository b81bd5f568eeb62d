"""Tables on a cluster: parts of files, which workers read, learn, predict and score."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Self

import dask
import distributed
import numpy as np

from .. import tables
from .partitions import added_up

# Rows that are learned together.
_ROWS_AT_ONCE = 16_384

# How large parts of Parquet files are, in bytes, and how many there are for each thread.
_LEAST_PART, _LARGEST_PART, _PARTS_PER_THREAD = 1 << 20, 1 << 26, 8


@dataclass
class Outcome:
    """What came of some parts.

    Attributes
    ----------
    found : TableModel, score or dict
        The rows added up, the score of a model, or the types of the columns that were written.
    rows, left_out : int
        How many rows were read, and how many had no target or could not be read.
    troubles, unlearned
        Rows that could not be used, and values that no learned row had.
    """

    found: Any
    troubles: tables.Troubles
    rows: int = 0
    left_out: int = 0
    unlearned: tables.UnlearnedValues = field(default_factory=tables.UnlearnedValues)

    def copy(self) -> Self:
        """One that can be added to."""
        model = isinstance(self.found, tables.TableModel)
        found = self.found.twin() if model else deepcopy(self.found)
        troubles, unlearned = self.troubles.copy(), deepcopy(self.unlearned)
        return replace(self, found=found, troubles=troubles, unlearned=unlearned)

    def joined(self, other: Self) -> Self:
        """Of the parts of both."""
        both = self.copy()
        both.found = _joined(both.found, other.found)
        both.rows += other.rows
        both.left_out += other.left_out
        both.troubles.join(other.troubles)
        both.unlearned.join(other.unlearned)
        return both


def _joined(mine: Any, theirs: Any) -> Any:
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    if isinstance(mine, tables.TableModel):
        return mine.merge(theirs)
    if not isinstance(mine, dict):
        mine.join(theirs)
    for name in {**mine, **theirs} if isinstance(mine, dict) else ():
        if mine.get(name) != theirs.get(name):
            raise tables.TableError(
                f"column {name!r} is {mine.get(name, 'missing')} in one part of the files and "
                f"{theirs.get(name, 'missing')} in another, so that the parts do not make one "
                "table; predict in one process, or give the column one type."
            )
    return mine


@dataclass
class Job:
    """Files that a cluster reads, in parts: row groups of Parquet, other files whole.

    Parameters
    ----------
    client : distributed.Client
    sources : list of Source
    reading : Reading
    skip : bool
        Whether rows that cannot be used are left out.
    report : function, optional
        It is called with the number of a part, and of its rows, whenever a worker is done with one.
    """

    client: Any
    sources: Sequence[Any]
    reading: tables.Reading
    skip: bool
    report: Callable[[int, int], None] | None = None
    parts: list[tables.Part] = field(init=False)
    _rows: Counter[str] = field(default_factory=Counter, init=False)
    _said: tables.Troubles = field(default_factory=tables.Troubles, init=False)
    _topic: str = field(default_factory=lambda: f"greville-{uuid.uuid4().hex}", init=False)

    def __post_init__(self) -> None:
        for source in self.sources:
            if not source.can_be_read_again:
                raise tables.TableError(
                    f"{source.name}: a cluster reads files, not pipes; write it to a file first."
                )
        self.sources = [source.located() for source in self.sources]
        total = sum(source.size for source in self.sources)
        threads = max(1, sum(self.client.nthreads().values()))
        size = int(np.clip(total / (_PARTS_PER_THREAD * threads), _LEAST_PART, _LARGEST_PART))
        self.parts = tables.split(self.sources, self.reading, size)

    def sample(
        self, model: tables.TableModel, holdout: tables.Holdout
    ) -> tuple[list[tables.Batch], int]:
        """A sample of all rows that are to be learned, that which one process takes; how many.

        `TableModel.prepare_from` takes columns and units from it. This process takes it.
        """
        read = self.sources if holdout.share else tables.parts_of(self.sources, self.reading)
        troubles = tables.Troubles(skip=self.skip or read != self.sources)
        with closing(tables.read(read, self.reading, troubles, model.needed)) as batches:
            return tables.sampled(holdout.learned(self._counted(batches)), tables.FIRST_ROWS)

    def _counted(self, batches: Any) -> Iterator[tables.Batch]:
        for batch in batches:
            self._rows[batch.source] += len(batch)
            self._said.findings += batch.findings
            yield batch

    def _first_rows(self) -> list[int]:
        """How many rows come before each part; only right where all rows were read for a sample."""
        counts = [self._rows[p.source.name] if p.n_rows is None else p.n_rows for p in self.parts]
        return [0, *accumulate(counts[:-1])]

    def learn(
        self, model: tables.TableModel, holdout: tables.Holdout
    ) -> tuple[tables.TableModel, tables.Troubles]:
        """The model after all rows, and findings about them."""
        units = int(model.estimator.solver_.n_features_in_)
        function = partial(_learned, holdout)
        done = self._added_up(function, model.accumulator(), self._first_rows(), units)
        done.troubles.join(self._said)  # what only one who reads all files can see
        return model.twin().merge(done.found), done.troubles

    def predict(
        self, model: tables.TableModel, write: Callable[[int], str], name: str, **asked: bool
    ) -> Outcome:
        """Predict all rows of each part, and write them into the file ``write(i)``."""
        sent = model if asked.get("std") else model.frozen()
        files = [write(i) for i in range(len(self.parts))]
        return self._added_up(partial(_predicted, name, asked), sent, files)

    def score(self, model: tables.TableModel, holdout: tables.Holdout | None = None) -> Outcome:
        """Compare predictions with what is known; of the rows that were held out, if there are."""
        sent = model if model.says_how_sure else model.frozen()
        return self._added_up(partial(_scored, holdout), sent, self._first_rows())

    def _added_up(
        self, function: Any, model: tables.TableModel, more: Sequence[Any], units: int = 1
    ) -> Outcome:
        """What a function makes of all parts, each with what belongs to it."""
        shared = dask.delayed(model, pure=False, traverse=False)
        task = dask.delayed(partial(_done, function, self.skip, self._topic), pure=False)

        def step(i: int, before: Any) -> Any:
            return task(shared, before, i, self.parts[i], more[i])

        def handle(event: Any) -> None:
            if self.report is not None:
                self.report(*event[1])

        self.client.subscribe_topic(self._topic, handle)
        try:
            with self.client.as_current():
                found: Outcome = added_up(step, len(self.parts), units, Outcome.joined)
        finally:
            self.client.unsubscribe_topic(self._topic)
        return found


# What workers do


def _done(
    function: Any,
    skip: bool,
    topic: str,
    model: tables.TableModel,
    before: Outcome | None,
    i: int,
    part: tables.Part,
    more: Any,
) -> Outcome:
    """What came of one part, after others; the client is told how many rows that were."""
    part.source.check_seen()
    done = Outcome(None, tables.Troubles(skip=skip)) if before is None else before.copy()
    rows = done.rows
    columns = None if function.func is _predicted else model.needed
    with closing(tables.read([part.source], part.reading, done.troubles, columns)) as batches:
        function(model, done, batches, more)
    distributed.get_worker().log_event(topic, (i, done.rows - rows))
    return done


def _learned(
    holdout: tables.Holdout, model: tables.TableModel, done: Outcome, batches: Any, first: int
) -> None:
    done.found = model.twin() if done.found is None else done.found
    for chunk in tables.in_chunks(holdout.learned(batches, first), _ROWS_AT_ONCE):
        done.found.learn(chunk, done.troubles)
        done.rows += sum(map(len, chunk))


def _predicted(
    name: str,
    asked: dict[str, bool],
    model: tables.TableModel,
    done: Outcome,
    batches: Any,
    file: str,
) -> None:
    """Write a Parquet file, here or at an address, if there are any rows."""

    def answered() -> Iterator[Any]:
        for batch in batches:
            answers = model.answers(batch, **asked)
            done.unlearned.add(answers)
            done.rows += len(batch)
            done.left_out += len(batch.skipped)
            yield tables.with_predictions(model, batch, answers, done.troubles, name)

    rows = answered()
    first = next(rows, None)
    if first is None:
        return
    types = {column.name: str(column.type) for column in first.schema}
    done.found = _joined(done.found or types, types)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "part.parquet") if "://" in file else Path(file)
        with tables.written(path) as writer:
            for batch in chain([first], rows):
                writer.write(batch)
        if "://" in file:
            import fsspec

            with path.open("rb") as source, fsspec.open(file, "wb") as target:
                shutil.copyfileobj(source, target)


def _scored(
    holdout: tables.Holdout | None,
    model: tables.TableModel,
    done: Outcome,
    batches: Any,
    first: int,
) -> None:
    done.found = tables.empty_score(model) if done.found is None else done.found
    for batch in batches if holdout is None else holdout.held_out(batches, first):
        done.left_out += tables.add_scores(done.found, model, batch, done.troubles, done.unlearned)
        done.rows += len(batch)
