"""The series in some files: which rows belong to each, and at which times they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ._clock import MILLION, Times, month_label
from ._errors import UserError
from ._progress import rows_bar
from ._series import Array, Series
from ._several import Candidates, Several, find_several
from ._terminal import as_option, counted

# --by none: the rows are those of one series, whatever they look like.
ONE_SERIES = "none"

# Columns that are looked at to find out whether there are several series.
_MOST_CANDIDATES = 20

# A time may be in more than one row, as in the hour in which clocks go back, but not in many.
_MOST_REPEATED = 0.05

# Up to which share values that are no times are named, among others that are.
_MOST_ODD_TIMES = 0.3

_DAY = 86_400 * MILLION


@dataclass(frozen=True)
class Wanted:
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


def read_series(
    sources: Any, how: Any, troubles: Any, wanted: Wanted, quiet: bool
) -> tuple[list[Series], list[str]]:
    """The series of some files, each in the order of time, and findings about them."""
    # Also those that may tell series apart; a pipe cannot be looked at before, so all of them.
    more = [] if wanted.by else _candidates(sources, how, wanted)
    names = None if more is None else [*wanted.numbers, *wanted.others, *more]
    values, table, notes = _read(sources, how, troubles, wanted, names, quiet)
    looked_at = [] if wanted.by else _not_wanted(table, wanted)
    time = wanted.time
    if not wanted.by:
        times = {name: parsed[0] for name in looked_at if (parsed := _times(table, name))}
        if time is not None and (parsed := _times(table, time)):
            times[time] = parsed[0]
        notes += _check_one_series(sources[0].name, table, times, looked_at, wanted)
        if time is None and len(times) == 1:
            time = next(iter(times))  # to put the rows in order
    parsed = None if time is None else _times(table, time)
    if parsed is None and wanted.time is not None:
        _check_times(sources[0].name, table, wanted.time)
    labels = [] if wanted.time is None else table.table.column(wanted.time).to_pylist()
    everything = Series((), values, labels, *(parsed or ()))
    series = [*_split(everything, table, wanted.keys, troubles)]
    if time is not None and wanted.by != [ONE_SERIES]:
        series, said = _in_time(series, time, by_user=wanted.time is not None)
        notes += said
    return series, notes


def _candidates(sources: Any, how: Any, wanted: Wanted) -> list[str] | None:
    """The columns of the first rows that may tell series apart; None if these are in a pipe."""
    from ..tables import Troubles, read

    if sources[0].path is None:
        return None
    batches = read(sources[:1], how, Troubles(skip=True))
    with closing(batches):
        head = next(batches, None)
    return [] if head is None else _not_wanted(head, wanted)


def _not_wanted(batch: Any, wanted: Wanted) -> list[str]:
    """The columns of times, names and whole numbers besides those to forecast from."""
    names = [n for n in batch.table.schema.names if n not in (*wanted.numbers, *wanted.others)]
    return [name for name in names if _kind(batch, name)][:_MOST_CANDIDATES]


def _kind(batch: Any, name: str) -> str | None:
    """What a column is: time, text, or number if all are whole; None if anything else."""
    from ..tables import decision_of

    try:
        kind = decision_of(batch, name).kind
    except ValueError:
        return None
    if kind == "number":
        numbers = batch.values(name).numbers[0]
        numbers = numbers[np.isfinite(numbers)]
        return "number" if (numbers == np.round(numbers)).all() else None
    if kind in ("text", "code") and _times(batch, name):
        return "time"
    return {"time": "time", "text": "text", "code": "text"}.get(kind)


def _read(
    sources: Any, how: Any, troubles: Any, wanted: Wanted, names: list[str] | None, quiet: bool
) -> tuple[Array, Any, list[str]]:
    """The series and the other inputs as one array, the other columns as one batch, and notes.

    Numbers are read as those of the first rows are written.
    """
    from ..tables import decision_of, far_values, numbers, read

    written: dict[str, Any] = {}
    parts: list[Array] = []
    others: list[Any] = []
    rows = 0
    batches = read(sources, how, troubles, names)
    with closing(batches), rows_bar(quiet, "reading", sources) as advance:
        for batch in batches:
            known = batch.table.schema.names
            for name in [*wanted.numbers, *wanted.others]:
                if name not in known:
                    some = ", ".join(map(repr, known[:8]))
                    raise UserError(f"{batch.source}: there is no column {name!r}; it has {some}.")
            troubles.count_skipped(batch)
            block = np.empty((len(batch), len(wanted.numbers)))
            for i, name in enumerate(wanted.numbers):
                if name not in written:
                    written[name] = decision_of(batch, name)
                block[:, i], wrong = numbers(batch, name, written[name])
                troubles.meet_rows(batch, wrong)
            parts.append(block)
            kept = [name for name in known if name not in wanted.numbers]
            others.append(pa.Table.from_batches([batch.table.select(kept)]))
            rows += len(batch)
            advance(batch, rows)
    said = [*troubles.findings, *(f for each in written.values() for f in each.findings)]
    values = np.concatenate(parts)
    notes = [finding.sentence(as_option) for finding in said]
    for name, column in zip(wanted.numbers, values.T, strict=True):
        far = far_values(column)
        if len(far):
            notes.append(
                f"Warning: {name!r} has {counted(len(far), 'number')} very far from the others, "
                f"such as {far[0]:.6g}; forecasts are far off because of it if that is a mistake."
            )
    return values, _as_one_batch(others, rows), notes


def _as_one_batch(tables: list[Any], rows: int) -> Any:
    from ..tables import Batch

    names = list(dict.fromkeys(name for table in tables for name in table.schema.names))
    columns = []
    for name in names:
        parts = [
            table.column(name) if name in table.schema.names else pa.nulls(len(table))
            for table in tables
        ]
        chunks = [chunk for part in parts for chunk in getattr(part, "chunks", [part])]
        kinds = {chunk.type for chunk in chunks} - {pa.null()}
        kind = kinds.pop() if len(kinds) == 1 else pa.string()
        columns.append(pa.chunked_array([chunk.cast(kind) for chunk in chunks]).combine_chunks())
    if not columns:
        columns, names = [pa.nulls(rows)], [""]
    batch = pa.RecordBatch.from_arrays(columns, names=names)
    return Batch(batch, "", np.arange(1, rows + 1), 1.0)


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


def _check_times(source: str, table: Any, name: str) -> None:
    """Name the values that are no times where nearly all are."""
    values = table.values(name)
    wrong = np.flatnonzero(values.days[1])
    if 0 < len(wrong) <= _MOST_ODD_TIMES * len(values):
        raise UserError(
            f"{source}: row {wrong[0] + 1:,} of the table has {table.shown(name, int(wrong[0]))} "
            f"in {name!r}, which is no time like the others ({counted(len(wrong), 'such row')}); "
            "remove it, such as a row of totals."
        )


def _check_one_series(
    source: str, table: Any, times: dict[str, Times], looked_at: list[str], wanted: Wanted
) -> list[str]:
    """Ask which series is meant where there are several; other findings."""
    kinds = {name: _kind(table, name) for name in looked_at}
    dates = {name: t for name, t in times.items() if kinds.get(name, "time") == "time"}
    texts = {name: table.values(name).text for name in looked_at if kinds[name] == "text"}
    encoded = {name: pc.dictionary_encode(text) for name, text in texts.items()}
    found = find_several(
        Candidates(
            {name: _codes(each) for name, each in dates.items()},
            {
                name: pc.fill_null(each.indices, -1).to_numpy(zero_copy_only=False).astype(int)
                for name, each in encoded.items()
            },
            {n: _codes(table.values(n).numbers[0]) for n in looked_at if kinds[n] == "number"},
            {name: each.dictionary.to_pylist() for name, each in encoded.items()},
        )
    )
    if found is not None:
        raise UserError(_ask(source, found))
    if wanted.time in dates:
        n = len(table) - len(np.unique(dates[wanted.time]))
        if n > _MOST_REPEATED * len(table):
            raise UserError(
                f"{source}: {counted(n, 'row')} repeat a time in {wanted.time!r}, and no column "
                "tells several series apart; pass one series at a time, or --by none if the rows "
                "are those of one series in their order."
            )
        if n:
            return [f"{counted(n, 'row')} repeat a time in {wanted.time!r}."]
    return []


def _codes(values: Array) -> Array:
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    codes = np.full(len(values), -1)
    codes[known] = np.unique(values[known], return_inverse=True)[1].reshape(-1)
    return codes


def _ask(source: str, found: Several) -> str:
    by = ",".join(found.by)
    why = (
        f"the same {found.time!r} is in several rows"
        if found.time is not None
        else "its values come in equal blocks or in turns"
    )
    return (
        f"{source}: there seem to be {found.count:,} series, one for each {by!r}: {why}; pass "
        f"--by {by} to forecast each of them, or --by none if the rows are those of one series."
    )


def _split(series: Series, table: Any, by: Sequence[str], troubles: Any) -> Iterator[Series]:
    """A series for each combination of names, in the order in which they first come."""
    if not by:
        yield series
        return
    columns = [table.values(name).text.to_pylist() for name in by]
    rows: dict[tuple[str, ...], list[int]] = {}
    for i, key in enumerate(zip(*columns, strict=True)):
        if None in key:
            name = by[key.index(None)]
            troubles.meet(f"row {i + 1:,}: column {name!r} is empty, so that no series is known")
            continue
        rows.setdefault(key, []).append(i)
    for key, chosen in rows.items():
        labels = [series.labels[i] for i in chosen] if series.labels else []
        times = None if series.times is None else series.times[chosen]
        yield replace(series, name=key, values=series.values[chosen], labels=labels, times=times)


def _in_time(series: list[Series], time: str, *, by_user: bool) -> tuple[list[Series], list[str]]:
    """The series in the order of time and, where the user named it, with gaps."""
    ready, notes, n_moved = [], [], 0
    for each in series:
        ordered, moved = each.in_order()
        n_moved += moved
        said = None
        if by_user:
            ordered, said = ordered.on_the_clock(time)
        ready.append(ordered)
        notes += [f"{'/'.join(each.name)}: {said}" if each.name else said] if said else []
    if n_moved:
        notes.insert(0, f"The rows are not in the order of {time!r}: they were put in order.")
    if len(notes) > 5:
        notes = [*notes[:4], f"... and {len(notes) - 4} more of this kind."]
    return ready, notes
