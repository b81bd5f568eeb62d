"""What the columns of a table are, before anything is learned, and what a model has learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ..representation import memory_of
from ._first_rows import FirstRows, first_columns
from ._sample import sampled
from ._settings import FIRST_ROWS, Settings
from ._values import UnknownType, Values
from .batch import Batch, RowErrors, TableError, batches_of
from .doubts import totals_row
from .findings import Finding, as_argument, distinct
from .kinds import Column, Time
from .model import TableModel
from .schema import Schema
from .target import Target

# Values of a column that are shown, and how much of each.
_EXAMPLES, _LONGEST_EXAMPLE = 3, 24


@dataclass(frozen=True)
class ColumnOverview:
    """The kind and the values of one column of a table.

    Attributes
    ----------
    name : str
    use : {"input", "target", "not used"}
    what : what it is, in words
    inputs : how many inputs it becomes
    examples : some of its values
    least, most : the smallest and the largest number or time, as text; None for others
    missing : how many of the rows looked at have no value
    different : how many values differ, in the rows from which the types come
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
    looked_at : how many of them were looked at: all of those that can be read twice
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
        """Return the overview as a dictionary for JSON."""
        return {
            **asdict(self),
            "columns": [asdict(column) for column in self.columns],
            "findings": [finding.as_dict(name) for finding in self.findings],
        }


def look_at(batches: Iterable[Batch], target: str | None = None, **settings: Any) -> Overview:
    """Look at a table as `TableModel` would, and learn nothing.

    What the columns are comes from 4096 rows, taken at random. Then all rows are read as these
    columns, and what cannot be is said.

    Parameters
    ----------
    batches : iterable of Batch
        As `read` gives them. Of an iterator, which can be walked once, only the 4096 rows are read.
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
    rows = FirstRows.of(sample)
    if rows.n == n and n:
        totals = totals_row(rows.batch(), rows.where(n - 1))
        if totals is not None:
            rows = rows.without([n - 1])
            said.append(totals)
    schema, fitted = _described(model.settings, target, rows)
    again = rows.n < n - 1 and not isinstance(batches, Iterator)
    whole = rows.batch().with_gaps(model.settings.na)
    seen = _Seen(schema, fitted, model.settings.na, list(rows.columns))
    for batch in _listened(batches, said) if again else [whole]:
        seen.add(batch, batch if again else rows)
    columns = {column.name: column for column in schema.columns}
    task = None if fitted is None else fitted.description()
    described = tuple(
        _column(name, whole.values(name), columns.get(name), task if name == target else None, seen)
        for name in rows.columns
    )
    findings = distinct([*said, *seen.findings(), *schema.findings])
    return Overview(n, n if again else rows.n, task, described, findings)


def _listened(batches: Iterable[Any], said: list[Finding]) -> Iterator[Batch]:
    """Yield batches, and collect their findings."""
    for each in batches:
        for batch in batches_of(each):
            said += [finding for finding in batch.findings if finding not in said]
            yield batch


def _described(
    settings: Settings, target: str | None, rows: FirstRows
) -> tuple[Schema, Target | None]:
    """Decide the schema of the used columns, and the target if there is one."""
    used = {k: v for k, v in rows.columns.items() if settings.uses(k) or k == target}
    chosen = FirstRows(used, rows.n, rows.origins)
    if target is not None:
        return first_columns(settings, chosen)[:2]
    batch = chosen.batch().with_gaps(settings.na)
    columns = {name: batch.values(name) for name in used}
    return Schema.fit(columns, settings, chosen.places), None


class _Seen:
    """Counts over all rows: the range of each column, missing values and wrong values."""

    def __init__(
        self, schema: Schema, target: Target | None, na: Sequence[str], names: list[str]
    ) -> None:
        self._schema, self._target, self._na = schema, target, na
        self._columns = {column.name: column for column in schema.columns}
        self.missing = dict.fromkeys(names, 0)
        self.ends: dict[str, tuple[float, float]] = {}
        self._wrong, self._unread = RowErrors(skip=True), ""

    def add(self, batch: Batch, rows: Batch | FirstRows) -> None:
        """Look at some more rows, which `rows` names."""
        batch = batch.with_gaps(self._na)
        for name in self.missing.keys() & set(batch.table.schema.names):
            with suppress(UnknownType):
                self._look(name, batch.values(name))
        try:
            wrong = self._schema.encode(batch)[1] if self._schema.used else {}
            wrong = wrong if self._target is None else self._target.read(batch)[2] | wrong
        except TableError as error:
            self._unread = self._unread or error.message
            return
        self._wrong.add_rows(rows, wrong)

    def _look(self, name: str, values: Values) -> None:
        column = self._columns.get(name)
        ordered = None if column is None else column.ordered(values)
        if ordered is None:
            self.missing[name] += values.text.null_count
            return
        gaps = np.isnan(ordered[0])
        self.missing[name] += int((gaps & ~ordered[1]).sum())
        if not gaps.all():
            low, high = self.ends.get(name, (np.inf, -np.inf))
            ends = float(np.nanmin(ordered[0])), float(np.nanmax(ordered[0]))
            self.ends[name] = min(low, ends[0]), max(high, ends[1])

    def findings(self) -> list[Finding]:
        """Return findings about wrong rows, in the words of training."""
        findings = [Finding("columns", self._unread, warning=True)] if self._unread else []
        n = self._wrong.count
        if n:
            more = f" ({n:,} rows cannot be used)" if n > 1 else ""
            text, advice = (
                f"{self._wrong.reasons[0]}{more}; fix it",
                ", or pass {row_errors} to leave it out.",
            )
            findings.append(Finding("wrong", text, None, True, advice, {"row_errors": None}))
        return findings


def _column(
    name: str, values: Values, column: Column | None, target: str | None, seen: _Seen
) -> ColumnOverview:
    different = values.text.drop_null().unique()
    inputs = 0 if column is None else len(column.inputs)
    use = "target" if target is not None else "input" if inputs else "not used"
    what = target or ("not asked for" if column is None else column.description())
    examples = tuple(_short(value) for value in different[:_EXAMPLES].to_pylist())
    shown = _date if isinstance(column, Time) else "{:.6g}".format
    ends = seen.ends.get(name)
    least, most = (None, None) if ends is None else map(shown, ends)
    missing = seen.missing[name]
    return ColumnOverview(name, use, what, inputs, examples, least, most, missing, len(different))


def _date(days: float) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)
    except (OverflowError, ValueError):
        return f"{days:.6g} days after 1970"
    return moment.strftime("%Y-%m-%d" if days == round(days) else "%Y-%m-%d %H:%M:%S")


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_EXAMPLE else value[: _LONGEST_EXAMPLE - 1] + "…"


# What a model has learned


def model_summary(model: TableModel) -> dict[str, Any]:
    """Summarise a model: its target, its number of inputs, and its number of rows.

    Examples
    --------
    >>> from greville.tables import TableModel, model_summary
    >>> model_summary(TableModel("price"))["target"]
    'price'
    """
    estimator = model.estimator
    summary = {
        "target": model.target,
        "task": model.task,
        "classes": model.classes or None,
        "rows": model.n_rows,
        "rows_without_target": model.n_without_target,
        "columns_may_still_change": model.schema_may_change,
        "solver": model.settings.solver,
        "alpha": model.settings.alpha,
        "seed": model.settings.seed,
    }
    if estimator is not None:
        summary["inputs"] = len(model.schema.inputs)
        summary["units"] = int(estimator.solver_.n_features_in_)
        epsilon = getattr(estimator, "epsilon_", None)
        summary["epsilon"] = None if epsilon is None else float(f"{epsilon:.4g}")
    return summary


def model_bytes(model: TableModel) -> int:
    """Return the bytes that the numbers of a model take.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from greville.tables import TableModel, model_bytes
    >>> model = TableModel("y", hidden=10)
    >>> _ = model.learn(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})).settle()
    >>> model_bytes(model) > 0
    True
    """
    estimator = model.estimator
    return 0 if estimator is None else memory_of(estimator.fitted_)


def table_summary(model: TableModel) -> dict[str, str]:
    """Summarise what a table model has learned; rows that wait are not learned for it.

    "columns" is what kinds of columns there are, to be appended to how many.
    """
    if model.n_waiting:
        rows = f"{model.n_waiting:,}, which are learned when the model is used, or more have come"
        return {"rows": rows, "columns": ""}
    kinds = Counter("not used" if not c.inputs else c.kind for c in model.schema.columns)
    summary = {"rows": f"{model.n_rows:,}"}
    summary["columns"] = f" ({', '.join(f'{n:,} {kind}' for kind, n in kinds.items())})"
    if model.estimator is not None:
        summary |= {k: v for k, v in model.estimator.summary().items() if k != "rows"}
        summary["inputs"] = f"{len(model.schema.inputs):,}"
    return summary
