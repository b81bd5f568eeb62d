"""Predictions for the rows of a batch, and a warning of values that were never learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .batch import Batch, RowErrors, TableError
from .findings import Finding
from .insights import reasons

# Values of a column that are named.
_MOST_NAMED = 5


@dataclass
class Answers:
    """Predictions for the rows of a batch; those in `wrong` have none, for the reason given."""

    prediction: NDArray[Any]
    wrong: dict[int, str]
    std: NDArray[Any] | None = None
    proba: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    has_target: NDArray[np.bool_] | None = None
    unlearned: dict[str, list[str]] = field(default_factory=dict)  # values, by column
    guessed: set[int] = field(default_factory=set)  # learned rows with values that were new
    classes: Sequence[Any] = ()  # those that `proba` has a column for

    def collect(self, parts: Sequence[tuple[Any, Answers]], classes: Sequence[Any]) -> None:
        """Take over the answers to some of the rows; `classes` are all that there are."""
        n = len(self.prediction)
        for rows, part in parts:
            self.prediction[rows] = part.prediction
            self.guessed.update(int(rows[row]) for row in part.guessed)
            self.wrong |= {int(rows[row]): reason for row, reason in part.wrong.items()}
            for name, values in part.unlearned.items():
                self.unlearned.setdefault(name, []).extend(values)
            if part.std is not None:
                self.std = np.full(n, np.nan) if self.std is None else self.std
                self.std[rows] = part.std
            if part.proba is not None:
                if self.proba is None:
                    self.proba, self.classes = np.zeros((n, len(classes))), classes
                places = [classes.index(label) for label in part.classes]
                self.proba[np.ix_(rows, places)] = part.proba


def with_predictions(
    model: Any,
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
        self._named: dict[str, list[str]] = {}

    def add(self, answers: Answers) -> None:
        """Count the rows of some answers."""
        for name, values in answers.unlearned.items():
            self.rows[name] = self.rows.get(name, 0) + len(values)
            some = dict.fromkeys([*self._named.get(name, ()), *values[:1000]])
            self._named[name] = list(some)[: _MOST_NAMED + 1]

    def findings(self) -> list[Finding]:
        """A sentence for each column."""
        return [self._finding(name, n) for name, n in self.rows.items()]

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: by column the number of rows, and some of the values."""
        return {
            name: {"rows": n, "values": [v or None for v in self._named[name][:_MOST_NAMED]]}
            for name, n in self.rows.items()
        }

    def _finding(self, name: str, n: int) -> Finding:
        named = self._named[name]
        values = [repr(value) if value else "none at all" for value in named[:_MOST_NAMED]]
        shown = ", ".join(values) + ", ..." * (len(named) > _MOST_NAMED)
        rows, was = ("1 row has a value", "was") if n == 1 else (f"{n:,} rows have values", "were")
        message = (
            f"{rows} of {name!r} that {was} never learned: {shown}; the most common value (of "
            "numbers and times the median) was used, and standard errors do not include the error "
            "of that."
        )
        return Finding("unlearned values", message, name, warning=True)
