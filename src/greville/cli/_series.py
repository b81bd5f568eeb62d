"""The series in a table: which rows belong to each, in the order of time, with gaps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._clock import MILLION, Clock, Times, find_clock, label_like
from ._files import InputTable
from ._terminal import UserError, as_option, counted

Array = NDArray[Any]

# --by none: the rows are those of one series, whatever they look like.
ONE_SERIES = "none"

_OR_ONE = f"or --by {ONE_SERIES} if the rows are those of one series"

# Columns that are looked at to find out which tells series apart, and rows that each must have.
_MOST_CANDIDATES, _LEAST_ROWS = 10, 5

# A time may be in more than one row, as in the hour in which clocks go back, but not in many.
_MOST_REPEATED = 0.05

# Up to which share values that are no times are named, among others that are.
_MOST_ODD_TIMES = 0.3

# Rows that may be missing between the times of others, for each that is there.
_MOST_MISSING = 1.0


@dataclass(frozen=True)
class SeriesColumns:
    """The columns to read: the series, other inputs, the time, and what tells series apart."""

    column: str
    inputs: list[str]
    time: str | None
    by: list[str]

    @property
    def numbers(self) -> list[str]:
        return list(dict.fromkeys([self.column, *self.inputs]))

    @property
    def keys(self) -> list[str]:
        return [] if self.by == [ONE_SERIES] else self.by

    @property
    def others(self) -> list[str]:
        return [*([self.time] if self.time else []), *self.keys]


@dataclass(frozen=True)
class Series:
    """Samples in the order of time, NaN where one is missing, the other inputs beside them.

    `name` has the values of the columns in `--by`. `labels` say the times of the samples, and
    `clock` how they go on; None if that is not known.
    """

    name: tuple[str, ...]
    values: Array
    labels: list[Any] = field(default_factory=list)
    times: Array | None = None
    dates: str | None = None
    clock: Clock | None = None

    def rows(self, chosen: Any) -> Series:
        """Return some of the samples."""
        labels = [self.labels[i] for i in chosen] if self.labels else []
        times = None if self.times is None else self.times[chosen]
        return replace(self, values=self.values[chosen], labels=labels, times=times)

    def in_order(self) -> Series:
        """Return the series in the order of time: itself if it is in order."""
        if self.times is None or (np.diff(self.times) >= 0).all():
            return self
        return self.rows(np.argsort(self.times, kind="stable"))

    def future_labels(self, n: int) -> list[Any]:
        """The times of the next samples; None where they are not known."""
        if self.clock is None or self.times is None:
            return [None] * n
        return [self._label(self.clock.after(int(self.times[-1]), k + 1)) for k in range(n)]

    def _label(self, time: int) -> Any:
        return label_like(self.labels[-1], time, self.dates)

    def with_gaps(self, time: str) -> tuple[Series, str | None]:
        """Return the series with gaps where rows are missing, and notes about its times."""
        if self.times is None:
            return self, f"{time!r} is not read as times: the rows are taken as they come."
        steps = find_clock(self.times, are_dates=self.dates is not None)
        if steps is None:
            return self, (
                f"The times in {time!r} are irregular: the rows are taken one after the other, and "
                "the times to come are not known."
            )
        clock, positions = steps
        n, total = len(positions), int(positions[-1]) + 1
        series = replace(self, clock=clock)
        if clock.irregular or total > (1 + _MOST_MISSING) * n:
            return series, (
                f"The steps between the times in {time!r} differ: the rows are taken one after the "
                "other, and the times to come are those of the most frequent step."
            )
        if total == n:
            return series, None
        values = np.full((total, self.values.shape[1]), np.nan)
        values[positions] = self.values
        times = np.array([clock.after(int(self.times[0]), k) for k in range(total)])
        labels = dict(zip(positions.tolist(), self.labels, strict=True))
        every = [labels[k] if k in labels else self._label(int(times[k])) for k in range(total)]
        missing = f"{total - n:,} rows are" if total - n > 1 else "1 row is"
        said = f"{missing} missing between the times in {time!r}: taken as missing values."
        return replace(series, values=values, labels=every, times=times), said


def read_series(
    table: InputTable, columns: SeriesColumns, quiet: bool
) -> tuple[list[Series], list[str]]:
    """The series of a table, each in the order of time, and findings about them."""
    values, others, notes = _read(table, columns, quiet)
    source, time = table.sources[0].name, columns.time
    if time is None and not columns.by:  # to put the rows in order
        dates = [name for name in others.table.schema.names if _kind(others, name) == "time"]
        time = dates[0] if len(dates) == 1 else None
    parsed = None if time is None else _times(others, time)
    if parsed is None and columns.time is not None:
        _check_times(source, others, columns.time)
    if time is not None and parsed is not None and not columns.by:
        notes += _check_one_series(source, others, time, parsed[0])
    labels = [] if columns.time is None else others.table.column(columns.time).to_pylist()
    everything = Series((), values, labels, *(parsed or ()))
    series = [*_split(everything, others, columns.keys, table)]
    if time is None or columns.by == [ONE_SERIES]:
        return series, notes
    ready = [each.in_order() for each in series]
    if any(each is not before for each, before in zip(ready, series, strict=True)):
        notes.append(f"The rows are not in the order of {time!r}: they were put in order.")
    if columns.time is None:
        return ready, notes
    with_gaps = [each.with_gaps(time) for each in ready]
    said = [
        f"{'/'.join(each.name)}: {note}" if each.name else note for each, note in with_gaps if note
    ]
    if len(said) > 5:
        said = [*said[:4], f"... and {len(said) - 4} more of this kind."]
    return [each for each, _ in with_gaps], notes + said


def _read(table: InputTable, columns: SeriesColumns, quiet: bool) -> tuple[Array, Any, list[str]]:
    """The series and the other inputs as one array, the other columns as one batch, and notes.

    Numbers are read as those of the first rows are written.
    """
    from ..tables import Batch, decision_of, far_values, numbers

    written: dict[str, Any] = {}
    parts: list[Array] = []
    others: list[Any] = []
    # Also those that may tell series apart.
    names = [*columns.numbers, *columns.others] if columns.by else None
    with table.batches("reading", quiet, names) as batches:
        for batch in batches:
            in_table = batch.table.schema.names
            for name in [*columns.numbers, *columns.others]:
                if name not in in_table:
                    some = ", ".join(map(repr, in_table[:8]))
                    raise UserError(f"{batch.source}: there is no column {name!r}; it has {some}.")
            table.row_errors.count_skipped(batch)
            block = np.empty((len(batch), len(columns.numbers)))
            for i, name in enumerate(columns.numbers):
                if name not in written:
                    written[name] = decision_of(batch, name)
                block[:, i], wrong = numbers(batch, name, written[name])
                table.row_errors.add_rows(batch, wrong)
            parts.append(block)
            kept = [name for name in in_table if name not in columns.numbers]
            others.append(pa.Table.from_batches([batch.table.select(kept)]))
    values = np.concatenate(parts)
    findings = [*table.row_errors.findings, *chain(*(each.findings for each in written.values()))]
    notes = [
        ("Warning: " if finding.warning else "") + finding.sentence(as_option)
        for finding in findings
    ]
    for name, column in zip(columns.numbers, values.T, strict=True):
        far = far_values(column)
        if len(far):
            notes.append(
                f"Warning: {name!r} has {counted(len(far), 'number')} very far from the others, "
                f"such as {far[0]:.6g}; forecasts are far off because of it if that is a mistake."
            )
    try:
        rows = pa.concat_tables(others, promote_options="permissive").combine_chunks()
    except pa.ArrowTypeError as error:
        raise UserError(f"a column is of another type in a later file ({error}).") from error
    arrays = [column.combine_chunks() for column in rows.columns] or [pa.nulls(len(values))]
    batch = pa.RecordBatch.from_arrays(arrays, names=rows.schema.names or [""])
    return values, Batch(batch, "", np.arange(1, len(values) + 1), 1.0), notes


def _kind(batch: Any, name: str) -> str | None:
    from ..tables import decision_of

    with suppress(ValueError):
        return str(decision_of(batch, name).kind)
    return None


def _times(batch: Any, name: str) -> tuple[Times, str | None] | None:
    """The times in a column, and the format of dates; None if they are not all times."""
    from ..tables import decision_of

    values, written = batch.values(name), decision_of(batch, name)
    if written.kind not in ("time", "number"):
        return None
    is_time = written.kind == "time"
    numbers, _ = values.days_as(written.dates) if is_time else values.numbers
    millionths = numbers * (86_400 * MILLION if is_time else MILLION)
    if not (np.abs(millionths) <= 2.0**62).all():  # also where one is missing
        return None
    return np.round(millionths).astype(np.int64), written.dates if is_time else None


def _check_times(source: str, batch: Any, name: str) -> None:
    """Report the values that are not times in a column where nearly all values are times."""
    from ..tables import decision_of

    values, written = batch.values(name), decision_of(batch, name)
    of_times = written.kind == "time"
    times, odd = values.days_as(written.dates) if of_times else values.days
    wrong = np.flatnonzero(np.isnan(times) if of_times else odd)
    if 0 < len(wrong) <= (1 if of_times else _MOST_ODD_TIMES) * len(values):
        has = batch.shown(name, int(wrong[0])) if odd[wrong[0]] else "nothing"
        where = f"{source}: row {wrong[0] + 1:,} of the table has {has} in {name!r}"
        rows = counted(len(wrong), "such row")
        what = f"which is no time like the others ({rows}); remove it, such as a row of totals"
        raise UserError(f"{where}, {what}.")


def _check_one_series(source: str, batch: Any, name: str, times: Times) -> list[str]:
    """Raise a UserError if many times repeat, since the rows hold several series; else findings."""
    n_times = len(np.unique(times))
    n = len(times) - n_times
    if n <= _MOST_REPEATED * len(times):
        return [f"{counted(n, 'row')} repeat a time in {name!r}."] if n else []
    kinds = {each: _kind(batch, each) for each in batch.table.schema.names if each != name}
    usable = [each for each, kind in kinds.items() if kind in ("text", "code", "number")]
    table = pa.table({name: times, **{each: batch.table[each] for each in usable}})
    for by in chain.from_iterable(combinations(usable[:_MOST_CANDIDATES], size) for size in (1, 2)):
        count = table.group_by(by).aggregate([]).num_rows
        full = count * n_times == len(times) or "number" not in map(kinds.get, by)
        different = table.group_by([name, *by]).aggregate([]).num_rows
        if count <= len(times) / _LEAST_ROWS and full and different == len(times):
            what = f"there seem to be {count:,} series, one for each {','.join(by)!r}: the same "
            advice = f"{name!r} is in several rows; pass --by {','.join(by)} to forecast each"
            raise UserError(f"{source}: {what}{advice} of them, {_OR_ONE}.")
    what = f"{counted(n, 'row')} repeat a time in {name!r}, and no column tells several series"
    raise UserError(f"{source}: {what} apart; pass one series at a time, {_OR_ONE} in their order.")


def _split(series: Series, batch: Any, by: list[str], table: InputTable) -> Iterator[Series]:
    """A series for each combination of names, in the order in which they first come."""
    if not by:
        yield series
        return
    rows: dict[tuple[str, ...], list[int]] = {}
    names = (batch.values(name).text.to_pylist() for name in by)
    for i, key in enumerate(zip(*names, strict=True)):
        if None in key:
            name = by[key.index(None)]
            where = f"{table.sources[0].name}, row {i + 1:,}"
            table.row_errors.add(f"{where}: column {name!r} is empty, so that no series is known")
        else:
            rows.setdefault(key, []).append(i)
    for key, chosen in rows.items():
        yield replace(series.rows(chosen), name=key)
