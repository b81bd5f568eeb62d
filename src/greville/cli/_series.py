"""The series in a table: which rows belong to each, in the order of time, with gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ._clock import MILLION, Clock, Times, find_clock, label_like, month_label
from ._files import InputTable
from ._several import Candidate, Codes, find_several
from ._terminal import UserError, as_option, counted

Array = NDArray[Any]

# --by none: the rows are those of one series, whatever they look like.
ONE_SERIES = "none"

# Columns that are looked at to find out whether there are several series.
_MOST_CANDIDATES = 20

# A time may be in more than one row, as in the hour in which clocks go back, but not in many.
_MOST_REPEATED = 0.05

# Up to which share values that are no times are named, among others that are.
_MOST_ODD_TIMES = 0.3

# Rows that may be missing between the times of others, for each that is there.
_MOST_MISSING = 1.0

_DAY = 86_400 * MILLION


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
        return list(dict.fromkeys([*([self.time] if self.time else []), *self.keys]))


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
    are_dates: bool = False
    clock: Clock | None = None

    def rows(self, chosen: Any) -> Series:
        """Some of the samples."""
        labels = [self.labels[i] for i in chosen] if self.labels else []
        times = None if self.times is None else self.times[chosen]
        return replace(self, values=self.values[chosen], labels=labels, times=times)

    def future_labels(self, n: int) -> list[Any]:
        """The times of the next samples; None where they are not known."""
        if self.clock is None or self.times is None:
            return [None] * n
        return [self._label(self.clock.after(int(self.times[-1]), k + 1)) for k in range(n)]

    def _label(self, time: int) -> Any:
        return label_like(self.labels[-1], time, is_date=self.are_dates)

    def with_gaps(self, time: str) -> tuple[Series, str | None]:
        """The same with gaps where rows are missing, and findings about its times."""
        if self.times is None:
            return self, f"{time!r} is not read as times: those to come are not known."
        found = find_clock(self.times, are_dates=self.are_dates)
        if found is None:
            return self, (
                f"The times in {time!r} are irregular: the rows are taken one after the other, and "
                "the times to come are not known."
            )
        clock, positions = found
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
    if not columns.by:
        candidates = _candidates(others, columns)
        notes += _check_one_series(source, candidates, time)
        dates = [each.name for each in candidates if each.kind == "time"]
        time = dates[0] if time is None and len(dates) == 1 else time  # to put the rows in order
    parsed = None if time is None else _times(others, time)
    if parsed is None and columns.time is not None:
        _check_times(source, others, columns.time)
    labels = [] if columns.time is None else others.table.column(columns.time).to_pylist()
    everything = Series((), values, labels, *(parsed or ()))
    series = [*_split(everything, others, columns.keys, table.troubles)]
    if time is None or columns.by == [ONE_SERIES]:
        return series, notes
    ready = [_in_order(each) for each in series]
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
            known = batch.table.schema.names
            for name in [*columns.numbers, *columns.others]:
                if name not in known:
                    some = ", ".join(map(repr, known[:8]))
                    raise UserError(f"{batch.source}: there is no column {name!r}; it has {some}.")
            table.troubles.count_skipped(batch)
            block = np.empty((len(batch), len(columns.numbers)))
            for i, name in enumerate(columns.numbers):
                if name not in written:
                    written[name] = decision_of(batch, name)
                block[:, i], wrong = numbers(batch, name, written[name])
                table.troubles.meet_rows(batch, wrong)
            parts.append(block)
            kept = [name for name in known if name not in columns.numbers]
            others.append(pa.Table.from_batches([batch.table.select(kept)]))
    values = np.concatenate(parts)
    findings = [*table.troubles.findings, *(f for each in written.values() for f in each.findings)]
    notes = [finding.sentence(as_option) for finding in findings]
    for name, column in zip(columns.numbers, values.T, strict=True):
        far = far_values(column)
        if len(far):
            notes.append(
                f"Warning: {name!r} has {counted(len(far), 'number')} very far from the others, "
                f"such as {far[0]:.6g}; forecasts are far off because of it if that is a mistake."
            )
    try:
        joined = pa.concat_tables(others, promote_options="permissive")
    except pa.ArrowTypeError as error:
        raise UserError(f"a column is of another type in a later file ({error}).") from error
    if not joined.num_columns:
        joined = pa.table({"": pa.nulls(len(values))})
    found = joined.combine_chunks().to_batches()
    batch = found[0] if found else pa.RecordBatch.from_pylist([], schema=joined.schema)
    return values, Batch(batch, "", np.arange(1, len(values) + 1), 1.0), notes


def _candidates(batch: Any, columns: SeriesColumns) -> list[Candidate]:
    """The columns of times, names and whole numbers besides those to forecast from."""
    names = [n for n in batch.table.schema.names if n not in columns.others]
    found = [each for name in names if (each := _candidate(batch, name))][:_MOST_CANDIDATES]
    if columns.time is not None and (parsed := _times(batch, columns.time)):
        found.append(Candidate(columns.time, "time", _codes(parsed[0])))
    return found


def _candidate(batch: Any, name: str) -> Candidate | None:
    """What may tell series apart: times, text, or numbers if all are whole."""
    from ..tables import decision_of

    try:
        kind = decision_of(batch, name).kind
    except ValueError:
        return None
    if kind == "number":
        numbers = batch.values(name).numbers[0]
        known = numbers[np.isfinite(numbers)]
        whole = (known == np.round(known)).all()
        return Candidate(name, kind, _codes(numbers)) if whole else None
    if parsed := _times(batch, name) if kind in ("time", "text", "code") else None:
        return Candidate(name, "time", _codes(parsed[0]))
    if kind not in ("text", "code"):
        return None
    encoded = pc.dictionary_encode(batch.values(name).text)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(int)
    return Candidate(name, "text", codes, encoded.dictionary.to_pylist())


def _codes(values: Array) -> Codes:
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    codes = np.full(len(values), -1)
    codes[known] = np.unique(values[known], return_inverse=True)[1].reshape(-1)
    return codes


def _times(batch: Any, name: str) -> tuple[Times, bool] | None:
    """The times in a column, and whether they are dates; None if they are not all times."""
    from ..tables import decision_of

    values, written = batch.values(name), decision_of(batch, name)
    if written.kind == "time":
        numbers, per_one, are_dates = values.days_as(written.dates)[0], _DAY, True
    elif written.kind == "number":
        numbers, per_one, are_dates = values.numbers[0], MILLION, False
    else:
        months = [month_label(text) for text in values.text.to_pylist()]
        return None if None in months else (np.array(months), True)
    if np.isnan(numbers).any() or np.abs(numbers).max(initial=0) > 2**62 / per_one:
        return None
    return np.round(numbers * per_one).astype(np.int64), are_dates


def _check_times(source: str, batch: Any, name: str) -> None:
    """Name the values that are no times where nearly all are."""
    values = batch.values(name)
    wrong = np.flatnonzero(values.days[1])
    if 0 < len(wrong) <= _MOST_ODD_TIMES * len(values):
        raise UserError(
            f"{source}: row {wrong[0] + 1:,} of the table has {batch.shown(name, int(wrong[0]))} "
            f"in {name!r}, which is no time like the others ({counted(len(wrong), 'such row')}); "
            "remove it, such as a row of totals."
        )


def _check_one_series(source: str, candidates: list[Candidate], time: str | None) -> list[str]:
    """Ask which series is meant where there are several; other findings."""
    found = find_several(candidates)
    if found is not None:
        by, why = ",".join(found.by), "its values come in equal blocks or in turns"
        if found.time is not None:
            why = f"the same {found.time!r} is in several rows"
        raise UserError(
            f"{source}: there seem to be {found.count:,} series, one for each {by!r}: {why}; pass "
            f"--by {by} to forecast each of them, or --by none if the rows are those of one series."
        )
    for codes in (each.codes for each in candidates if each.name == time):
        n = len(codes) - len(np.unique(codes))
        if n > _MOST_REPEATED * len(codes):
            raise UserError(
                f"{source}: {counted(n, 'row')} repeat a time in {time!r}, and no column "
                "tells several series apart; pass one series at a time, or --by none if the rows "
                "are those of one series in their order."
            )
        if n:
            return [f"{counted(n, 'row')} repeat a time in {time!r}."]
    return []


def _split(series: Series, batch: Any, by: list[str], troubles: Any) -> Iterator[Series]:
    """A series for each combination of names, in the order in which they first come."""
    if not by:
        yield series
        return
    rows: dict[tuple[str, ...], list[int]] = {}
    names = (batch.values(name).text.to_pylist() for name in by)
    for i, key in enumerate(zip(*names, strict=True)):
        if None in key:
            name = by[key.index(None)]
            troubles.meet(f"row {i + 1:,}: column {name!r} is empty, so that no series is known")
        else:
            rows.setdefault(key, []).append(i)
    for key, chosen in rows.items():
        yield replace(series.rows(chosen), name=key)


def _in_order(series: Series) -> Series:
    """The series in the order of time: itself if it is in order."""
    if series.times is None or (np.diff(series.times) >= 0).all():
        return series
    return series.rows(np.argsort(series.times, kind="stable"))
