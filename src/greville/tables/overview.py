"""What the columns of a table are, before anything is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ._encoded import first_columns
from ._first import FirstRows
from ._sample import sampled
from ._settings import FIRST_ROWS, is_used
from ._values import Values
from .batch import Batch
from .column import Column
from .evidence import Hints
from .findings import Finding, as_argument, distinct
from .model import TableModel
from .schema import Schema
from .totals import totals_row

# Values of a column that are shown, and how much of each.
_EXAMPLES, _LONGEST_EXAMPLE = 3, 24


@dataclass(frozen=True)
class ColumnOverview:
    """One column.

    Attributes
    ----------
    name : str
    use : {"input", "target", "not used"}
    what : what it is, in words
    inputs : how many inputs it becomes
    examples : some of its values
    least, most : the smallest and the largest number or time, as text; None for others
    missing, different : how many of the rows looked at have no value, and how many values differ
    """

    name: str
    use: str
    what: str
    inputs: int
    examples: tuple[str, ...]
    least: str | None
    most: str | None
    missing: int
    different: int


@dataclass(frozen=True)
class Overview:
    """A table: its columns, and what its owner should know.

    Attributes
    ----------
    rows : how many it has
    looked_at : how many of them, taken at random, were looked at
    task : what would be learned; None without a target
    columns : in the order of the table
    findings : what readers and columns have to say

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import look_at
    >>> overview = look_at([pa.table({"x": [1, 2, 3], "kind": ["a", "b", "a"]})])
    >>> overview.rows, [column.name for column in overview.columns]
    (3, ['x', 'kind'])
    """

    rows: int
    looked_at: int
    task: str | None
    columns: tuple[ColumnOverview, ...]
    findings: tuple[Finding, ...]

    def as_dict(self, name: Callable[[str, Any], str] = as_argument) -> dict[str, Any]:
        """For JSON."""
        return {
            **asdict(self),
            "columns": [asdict(column) for column in self.columns],
            "findings": [finding.as_dict(name) for finding in self.findings],
        }


def look_at(batches: Iterable[Batch], target: str | None = None, **settings: Any) -> Overview:
    """Look at a table as `TableModel` would, and learn nothing.

    Parameters
    ----------
    batches : iterable of Batch
        As `read` gives them.
    target : str, optional
        The column to predict; without it all are described as inputs.
    **settings
        Other parameters of `TableModel`.

    Returns
    -------
    overview : Overview

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import look_at
    >>> table = pa.table({"day": ["31.12.2020", "01.01.2021"] * 5, "y": range(10)})
    >>> look_at(table.to_batches(), target="y").columns[0].what
    'date, written as %d.%m.%Y: days, day of week, day of year'
    """
    model = TableModel("" if target is None else target, **settings)
    said: list[Finding] = []
    sample, n = sampled(_listened(batches, said), FIRST_ROWS)
    rows = FirstRows()
    for batch in sample:
        rows = rows.with_batch(batch, lambda name: True)
    if rows.n == n and n:
        found = totals_row(rows.batch(), rows.where(n - 1))
        if found is not None:
            rows = rows.without([n - 1])
            said.append(found)
    task, schema = _described(model.settings, target, rows)
    columns = {column.name: column for column in schema.columns}
    whole = rows.batch().with_gaps(model.settings["na"])
    described = [
        _column(name, whole.values(name), columns.get(name), task if name == target else None)
        for name in rows.columns
    ]
    return Overview(n, rows.n, task, tuple(described), distinct([*said, *schema.findings]))


def _listened(batches: Iterable[Any], said: list[Finding]) -> Any:
    """Batches, whose findings are kept."""
    from .batch import batches_of

    for each in batches:
        for batch in batches_of(each):
            said += [finding for finding in batch.findings if finding not in said]
            yield batch


def _described(
    settings: dict[str, Any], target: str | None, rows: FirstRows
) -> tuple[str | None, Schema]:
    """What is learned, and the columns that are used for it."""
    used = FirstRows(
        {k: v for k, v in rows.columns.items() if is_used(settings, k) or k == target},
        rows.n,
        rows.origins,
    )
    if target is not None:
        schema, fitted, _ = first_columns(settings, used)
        return fitted.description(), schema
    batch = used.batch().with_gaps(settings["na"])
    columns = {name: batch.values(name) for name in used.columns}
    return None, Schema.fit(columns, Hints.of(settings), used.places)


def _column(name: str, values: Values, column: Column | None, target: str | None) -> ColumnOverview:
    text = values.text
    different = text.drop_null().unique()
    inputs = 0 if column is None else len(column.inputs)
    use = "target" if target is not None else "input" if inputs else "not used"
    what = target or ("not asked for" if column is None else column.description())
    examples = tuple(_short(value) for value in different[:_EXAMPLES].to_pylist())
    least, most, missing = _range(values, column)
    return ColumnOverview(name, use, what, inputs, examples, least, most, missing, len(different))


def _range(values: Values, column: Column | None) -> tuple[str | None, str | None, int]:
    """The least and the largest value, where they have an order, and how many are missing."""
    known = None if column is None else column.ordered(values)
    if known is None:
        return None, None, values.text.null_count
    numbers, is_time = known
    missing = int(np.isnan(numbers).sum())
    if missing == len(numbers):
        return None, None, missing
    shown = _date if is_time else _number
    return shown(float(np.nanmin(numbers))), shown(float(np.nanmax(numbers))), missing


def _number(number: float) -> str:
    return f"{number:.6g}"


def _date(days: float) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
    except (OverflowError, ValueError):
        return f"{days:.6g} days after 1970"
    return moment.strftime("%Y-%m-%d" if days == round(days) else "%Y-%m-%d %H:%M:%S")


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_EXAMPLE else value[: _LONGEST_EXAMPLE - 1] + "…"
