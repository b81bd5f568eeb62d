"""Values of text columns that were predicted but never learned: counted for a warning."""

from __future__ import annotations

from typing import Any

from ._answers import Answers
from .findings import Finding

# Values of a column that are named.
_MOST_NAMED = 5


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
        """For JSON: by column the number of rows, and some of the values."""
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
