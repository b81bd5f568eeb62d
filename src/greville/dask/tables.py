"""Tables on a cluster: files cut into parts, which workers read, learn and predict."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dask
import distributed
import numpy as np

from .. import tables
from ._cluster import as_tree, compute, n_walks, walked

# Rows that are learned together.
_ROWS_AT_ONCE = 16_384

# How large parts of files are, in bytes, and how many there are for each thread of the cluster.
_LEAST_PART, _LARGEST_PART, _PARTS_PER_THREAD = 1 << 20, 1 << 26, 8

# Tells how many rows of which part are done.
Report = Callable[[int, int], None]


@dataclass
class Job:
    """Files that a cluster reads, in parts.

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
    report: Report | None = None
    parts: list[tables.Part] = field(init=False)

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

    def _map(self, function: Any, arguments: list[Any]) -> Iterable[Any]:
        """Apply a function to many arguments, on the workers."""
        task = dask.delayed(partial(_applied, function), pure=False)
        tasks = [task(argument) for argument in arguments]
        found: list[Any] = compute(self.client, dask.delayed(list)(tasks))
        return found

    # Training

    def sample(
        self, model: tables.TableModel, holdout: tables.Holdout
    ) -> tuple[list[tables.Batch], int]:
        """A sample of all rows that are to be learned, that which one machine takes; how many.

        `TableModel.prepare_from` takes columns and units from it.
        """
        total = tables.total_rows(self.parts)
        if total is None or holdout.share:
            return self._sample_here(model, holdout)
        return self._sample_there(model, total), total

    def _sample_here(
        self, model: tables.TableModel, holdout: tables.Holdout
    ) -> tuple[list[tables.Batch], int]:
        read = self.sources if holdout.share else tables.parts_of(self.sources, self.reading)
        troubles = tables.Troubles(skip=self.skip or read != self.sources)
        batches = tables.read(read, self.reading, troubles, model.needed)
        with closing(batches):
            return tables.sampled(holdout.learned(batches), tables.FIRST_ROWS)

    def _sample_there(self, model: tables.TableModel, total: int) -> list[tables.Batch]:
        firsts = self._first_rows([part.n_rows or 0 for part in self.parts])
        wanted, more = min(tables.FIRST_ROWS, total), 1.0
        while True:
            function = partial(_sampled, self.skip, model.needed, total, more)
            found = self._map(function, list(zip(self.parts, firsts, strict=True)))
            pieces = [piece for part in found for piece in part]
            if sum(len(numbers) for _, numbers in pieces) >= wanted:
                return tables.joined_sample(pieces, tables.FIRST_ROWS)
            more *= 4

    @staticmethod
    def _first_rows(counts: Sequence[int]) -> list[int]:
        """How many rows come before each part."""
        return [0, *np.cumsum(counts[:-1]).tolist()] if counts else []

    def counts(self) -> list[int]:
        """How many rows each part has, counted where that is not known."""
        unknown = [part for part in self.parts if part.n_rows is None]
        counted = iter(self._map(partial(_counted, self.skip), unknown))
        return [next(counted) if p.n_rows is None else p.n_rows for p in self.parts]

    def findings(self) -> list[tables.Finding]:
        """Findings about columns that not all files have, as in one process."""
        firsts = {part.source.name: part for part in reversed(self.parts)}
        if len(firsts) < 2:
            return []
        parts = [firsts[source.name] for source in self.sources if source.name in firsts]
        names = [n for n in self._map(partial(_names, self.skip), parts) if n is not None]
        found = [tables.new_columns(source, each, names[0][1]) for source, each in names[1:]]
        return [finding for finding in found if finding is not None]

    def learn(
        self, model: tables.TableModel, holdout: tables.Holdout
    ) -> tuple[tables.TableModel, tables.Troubles]:
        """The model after all rows, and findings about them."""
        counts = self.counts() if holdout.share else [0] * len(self.parts)
        firsts = self._first_rows(counts)
        sums = self._sums(model, holdout, firsts)
        troubles = sums.troubles.copy()
        troubles.findings += self.findings()
        return model.twin().merge(sums.model), troubles

    def _sums(
        self, model: tables.TableModel, holdout: tables.Holdout, firsts: Sequence[int]
    ) -> _Sums:
        """The sums over the rows of all parts, and findings about them."""
        start = _Sums(model.accumulator(), tables.Troubles(skip=self.skip))
        shared = dask.delayed(start, pure=False, traverse=False)
        units = int(model.estimator.solver_.n_features_in_)
        walks = n_walks(self.client, len(self.parts), units)
        with self._reported() as topic:
            task = partial(_added, _How(self.skip, holdout, topic))

            def step(i: int, before: Any) -> Any:
                before = shared if before is None else before
                return dask.delayed(task, pure=False)(before, i, self.parts[i], firsts[i])

            tree = walked(step, len(self.parts), walks, _Sums.merged)
            found: _Sums = compute(self.client, tree)
        return found

    # Predicting

    def predict(
        self, model: tables.TableModel, write: Callable[[int], Any], name: str, **wanted: bool
    ) -> Predicted:
        """Predict all rows of each part, and write them where ``write(i)`` says."""
        sent = model if wanted.get("std") else model.frozen()
        shared = dask.delayed(sent, pure=False, traverse=False)
        with self._reported() as topic:
            task = partial(_predicted, _How(self.skip, tables.Holdout(0), topic), name, wanted)
            tasks = [
                dask.delayed(task, pure=False)(shared, i, part, write(i))
                for i, part in enumerate(self.parts)
            ]
            found: Predicted = compute(self.client, as_tree(tasks, Predicted.joined))
        return found

    def score(self, model: tables.TableModel, holdout: tables.Holdout | None = None) -> Scored:
        """Compare predictions with what is known; of the rows that were held out, if there are."""
        shared = dask.delayed(
            model if model.says_how_sure else model.frozen(), pure=False, traverse=False
        )
        counts = self.counts() if holdout is not None else [0] * len(self.parts)
        firsts = self._first_rows(counts)
        with self._reported() as topic:
            task = partial(_scored, _How(self.skip, holdout, topic))
            tasks = [
                dask.delayed(task, pure=False)(shared, i, part, firsts[i])
                for i, part in enumerate(self.parts)
            ]
            found: Scored = compute(self.client, as_tree(tasks, Scored.joined))
        return found

    # Progress

    @contextmanager
    def _reported(self) -> Iterator[str | None]:
        """A topic of Dask's events, whose events are reported."""
        if self.report is None:
            yield None
            return
        topic, done = f"greville-{uuid.uuid4().hex}", {}
        report = self.report

        def handle(event: Any) -> None:
            number, rows = event[1]
            if number not in done:  # a worker that died may have been done with it
                done[number] = rows
                report(number, rows)

        self.client.subscribe_topic(topic, handle)
        try:
            yield topic
        finally:
            self.client.unsubscribe_topic(topic)


def _applied(function: Any, argument: Any) -> Any:
    first: Any = argument[0] if isinstance(argument, tuple) else argument
    source: Any = getattr(first, "source", first)
    source.check_seen()
    return function(argument)


@dataclass(frozen=True)
class _How:
    """How parts are read, and where progress is told."""

    skip: bool
    holdout: tables.Holdout | None
    topic: str | None

    @contextmanager
    def rows(
        self, part: tables.Part, troubles: tables.Troubles, columns: Any
    ) -> Iterator[Iterator[tables.Batch]]:
        part.source.check_seen()
        batches = tables.read([part.source], part.reading, troubles, columns)
        with closing(batches):
            yield batches

    def tell(self, i: int, rows: int) -> None:
        """Say that a part is done."""
        if self.topic is not None:
            distributed.get_worker().log_event(self.topic, (i, rows))


@dataclass(frozen=True)
class _Sums:
    """A model that adds rows up, and findings about these."""

    model: Any
    troubles: tables.Troubles

    def merged(self, other: _Sums) -> _Sums:
        troubles = self.troubles.copy()
        troubles.join(other.troubles)
        return _Sums(self.model.twin().merge(other.model), troubles)


def _added(how: _How, before: _Sums, i: int, part: tables.Part, first: int) -> _Sums:
    """The rows of one part, after those of others."""
    model, troubles = before.model.twin(), before.troubles.copy()
    assert how.holdout is not None
    rows = 0
    with how.rows(part, troubles, model.needed) as batches:
        for chunk in tables.in_chunks(how.holdout.learned(batches, first), _ROWS_AT_ONCE):
            model.learn(chunk, troubles)
            rows += sum(map(len, chunk))
    how.tell(i, rows)
    return _Sums(model, troubles)


def _sampled(skip: bool, columns: Any, total: int, more: float, at: tuple[tables.Part, int]) -> Any:
    part, first = at
    troubles = tables.Troubles(skip=skip)
    batches = tables.read([part.source], part.reading, troubles, columns)
    with closing(batches):
        return tables.sampled_part(batches, first, tables.FIRST_ROWS, total, more)


def _names(skip: bool, part: tables.Part) -> tuple[str, list[str]] | None:
    """The source of a part, and its columns; None where rows may have any."""
    batches = tables.read([part.source], part.reading, tables.Troubles(skip=skip))
    with closing(batches):
        first = next(batches, None)
    return None if first is None or first.sparse else (first.source, first.table.schema.names)


def _counted(skip: bool, part: tables.Part) -> int:
    batches = tables.read([part.source], part.reading, tables.Troubles(skip=skip))
    with closing(batches):
        return sum(map(len, batches))


@dataclass(frozen=True)
class Predicted:
    """How many rows were read, left out by readers, and findings about them."""

    rows: int
    left_out: int
    troubles: tables.Troubles
    unlearned: tables.UnlearnedValues
    schema: Any = None  # names and types of the columns that were written

    def joined(self, other: Predicted) -> Predicted:
        schema = self.schema or other.schema
        if schema != (other.schema or schema):
            mine, theirs = dict(schema), dict(other.schema)
            name = next(n for n in {**mine, **theirs} if mine.get(n) != theirs.get(n))
            raise tables.TableError(
                f"column {name!r} is {mine.get(name, 'missing')} in one part of the files and "
                f"{theirs.get(name, 'missing')} in another, so that the parts do not make one "
                "table; predict in one process, or give the column one type."
            )
        troubles, unlearned = self.troubles.copy(), deepcopy(self.unlearned)
        troubles.join(other.troubles)
        unlearned.join(other.unlearned)
        rows, left_out = self.rows + other.rows, self.left_out + other.left_out
        return Predicted(rows, left_out, troubles, unlearned, schema)


def _predicted(
    how: _How,
    name: str,
    wanted: dict[str, bool],
    model: tables.TableModel,
    i: int,
    part: tables.Part,
    target: Any,
) -> Predicted:
    troubles, unlearned = tables.Troubles(skip=how.skip), tables.UnlearnedValues()
    rows = left_out = 0
    with how.rows(part, troubles, None) as batches, target.opened() as writer:
        for batch in batches:
            answers = model.answers(batch, **wanted)
            unlearned.add(answers)
            writer.write(tables.with_predictions(model, batch, answers, troubles, name))
            rows += len(batch)
            left_out += len(batch.skipped)
    how.tell(i, rows)
    return Predicted(rows, left_out, troubles, unlearned, writer.schema)


@dataclass(frozen=True)
class Scored:
    """Scores of rows, how many were read and had no target, and findings about them."""

    found: Any
    rows: int
    left_out: int
    troubles: tables.Troubles
    unlearned: tables.UnlearnedValues

    def joined(self, other: Scored) -> Scored:
        troubles, unlearned, found = (
            self.troubles.copy(),
            deepcopy(self.unlearned),
            deepcopy(self.found),
        )
        troubles.join(other.troubles)
        unlearned.join(other.unlearned)
        found.join(other.found)
        rows, left_out = self.rows + other.rows, self.left_out + other.left_out
        return Scored(found, rows, left_out, troubles, unlearned)


def _scored(how: _How, model: tables.TableModel, i: int, part: tables.Part, first: int) -> Scored:
    troubles, unlearned = tables.Troubles(skip=how.skip), tables.UnlearnedValues()
    found = tables.empty_score(model)
    rows = left_out = 0
    with how.rows(part, troubles, model.needed) as read:
        batches: Iterator[tables.Batch] = read
        if how.holdout is not None:
            batches = how.holdout.held_out(read, first)
        for batch in batches:
            left_out += tables.add_scores(found, model, batch, troubles, unlearned)
            rows += len(batch)
    how.tell(i, rows)
    return Scored(found, rows, left_out, troubles, unlearned)
