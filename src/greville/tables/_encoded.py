"""Rows as inputs and targets, and what the first rows say of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._first import FirstRows
from ._values import IN_LABELS
from .batch import Batch, TableError
from .decisions import Evidence, Hints, usual_of
from .doubts import unused_options
from .schema import Schema
from .target import Target, check_target, decide_target


@dataclass(frozen=True)
class EncodedRows:
    """Inputs, targets, which rows have a target, and what is wrong with rows."""

    X: NDArray[Any]
    y: NDArray[Any]
    known: NDArray[np.bool_]
    wrong: dict[int, str]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Rows that can be learned."""
        usable = self.known.copy()
        usable[list(self.wrong)] = False
        return usable

    def learned_from(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The inputs and targets of rows that can be learned."""
        use = self.usable
        return (self.X, self.y) if use.all() else (self.X[use], self.y[use])

    def until_wrong(self) -> EncodedRows:
        """The rows before the first wrong one."""
        stop = min(self.wrong, default=len(self.X))
        return EncodedRows(self.X[:stop], self.y[:stop], self.known[:stop], {})


def first_columns(settings: dict[str, Any], first: FirstRows) -> tuple[Schema, Target, Batch]:
    """What the columns of the first rows are, and the target; and these rows as a batch."""
    batch, name = first.batch().with_gaps(settings["na"]), settings["target"]
    check_target(batch, name)
    columns = {other: batch.values(other) for other in first.columns if other != name}
    hints = Hints.of(settings)
    schema = Schema.fit(columns, hints, first.places)
    if not schema.inputs:
        what = "; ".join(f"{c.name!r} is {c.description()}" for c in schema.columns)
        raise TableError(f"there is no column to learn from: {what or 'there is no other'}.")
    values, decisions = batch.values(name), schema.decisions
    column = Evidence(name, values, hints, usual_of(columns, decisions), IN_LABELS)
    decision = decide_target(column)
    target = Target.fit(name, values, settings["task"], decision, folds=name in hints.fold)
    unused = unused_options({**columns, name: values}, [*decisions.values(), decision], hints)
    findings = [*unused, *target.findings(column, decision), *schema.findings]
    return schema.saying(findings), target, batch


@contextmanager
def naming_rows(batches: Sequence[Batch]) -> Iterator[None]:
    """Say which rows an estimator has refused."""
    try:
        yield
    except ValueError as error:
        first, last = batches[0], batches[-1]
        where = first.where(0)
        if last is not first or len(last) > 1:
            where += f" to {last.where(len(last) - 1)}"
        raise TableError(f"{where}: {error}") from error
