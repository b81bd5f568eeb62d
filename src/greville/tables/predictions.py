"""Rows with their predictions beside them, and a warning of values that were never learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ._answers import Answers
from .batch import Batch, RowErrors, TableError
from .findings import Finding
from .insights import reasons
from .model import TableModel

# Values of a column that are named.
_MOST_NAMED = 5


def with_predictions(
    model: TableModel,
    batch: Batch,
    answers: Answers,
    row_errors: RowErrors,
    name: str,
    *,
    why: bool = False,
) -> Any:
    """Return the record batch with columns for predictions and other requested answers.

    With `why` also the columns with the largest shares of each prediction.

    Rows that cannot be used are counted, and have no prediction.
    """
    row_errors.count_skipped(batch)
    row_errors.add_rows(batch, answers.wrong)
    unusable = np.zeros(len(batch), bool)
    unusable[list(answers.wrong)] = True
    new = {name: answers.prediction}
    if answers.std is not None:
        new["std"] = answers.std
    if answers.proba is not None:
        new |= {f"p({label})": answers.proba[:, i] for i, label in enumerate(model.classes)}
    if why:
        new["why"] = np.array(reasons(model, batch, answers.prediction), object)
    table = batch.table
    for column, values in new.items():
        if column in table.schema.names:
            raise TableError(
                f"{batch.source}: it has a column {column!r} already; rename it, or name the "
                "column of predictions",
                " with {as}.",
                **{"as": None},
            )
        table = table.append_column(column, pa.array(values, mask=unusable))
    return table


class UnlearnedValues:
    """Counts the rows, by column, whose value was in no row that was learned before them."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.gaps: dict[str, int] = {}
        self._named: dict[str, list[str]] = {}

    def add(self, answers: Answers) -> None:
        """Count the rows of some answers."""
        for name, n in answers.gaps.items():
            self.gaps[name] = self.gaps.get(name, 0) + n
        for name, values in answers.unlearned.items():
            self.rows[name] = self.rows.get(name, 0) + len(values)
            named = self._named.setdefault(name, [])
            some = dict.fromkeys([*named, *values[:1000]])
            self._named[name] = list(some)[: _MOST_NAMED + 1]

    def findings(self) -> list[Finding]:
        """A sentence for each column."""
        unlearned = [self._finding(name, n) for name, n in self.rows.items() if n]
        return unlearned + [_of_gaps(name, n) for name, n in self.gaps.items()]

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: by column the number of rows, and some of the values."""
        return {
            name: {"rows": n, "values": [v or None for v in self._named[name][:_MOST_NAMED]]}
            for name, n in self.rows.items()
            if n
        }

    def _finding(self, name: str, n: int) -> Finding:
        named = self._named[name]
        values = [repr(value) if value else "none at all" for value in named[:_MOST_NAMED]]
        shown = ", ".join(values) + ", ..." * (len(named) > _MOST_NAMED)
        rows = "1 row has a value" if n == 1 else f"{n:,} rows have values"
        was, they = ("was", "it was") if n == 1 else ("were", "they were")
        message = (
            f"{rows} of {name!r} that {was} never learned: {shown}; {they} predicted as the "
            "mean over values that were learned."
        )
        return Finding("unlearned values", message, name, warning=True)


def _of_gaps(name: str, n: int) -> Finding:
    rows = "1 row has" if n == 1 else f"{n:,} rows have"
    message = (
        f"{rows} no value of {name!r}, but every learned row had one; the median was used, and "
        "standard errors do not include the error of that."
    )
    return Finding("unknown gaps", message, name, warning=True)
