"""Rows that were read together, where they come from, and those that cannot be used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._values import Values
from .findings import Finding, as_argument

# Columns of a table. More would fit into no model file, and take hours.
MOST_COLUMNS = 50_000

# How many of the rows that cannot be used are described.
_MOST_REASONS = 5

# Characters of a value in a message.
_LONGEST_SHOWN = 60


class TableError(ValueError):
    """An error in the data, or in what was asked of them, that the user can fix.

    Parameters
    ----------
    message : str
        What is wrong, and where.
    advice : str
        What to do, as a template in which ``{task}`` stands for the argument `task`.
    argument : str, optional
        The argument that is wrong, if the message begins with it, as in ``hidden=0: ...``.
    **recommended
        Values of the arguments in `advice`; None where only the name is meant. An argument that
        is there twice is the second time ``{task_}``.

    Examples
    --------
    >>> from greville.tables import TableError
    >>> print(TableError("hidden=0: no units.", " Pass {hidden}.", argument="hidden", hidden=10))
    hidden=0: no units. Pass hidden=10.
    """

    def __init__(
        self, message: str, advice: str = "", *, argument: str | None = None, **recommended: Any
    ) -> None:
        self.message, self.argument = message, argument
        self._advice, self._recommended = advice, recommended
        super().__init__(message + self.advice())

    def __reduce__(self) -> Any:
        made = partial(TableError, argument=self.argument, **self._recommended)
        return made, (self.message, self._advice)

    def advice(self, name: Callable[[str, Any], str] = as_argument) -> str:
        """Say what the user can do; `name` says how an argument and its value are written."""
        named = {key: name(key.rstrip("_"), value) for key, value in self._recommended.items()}
        return self._advice.format(**named)


@dataclass(frozen=True)
class Place:
    """Place of rows, which names a row by its number.

    Parameters
    ----------
    source : str
    unit : str
        What is counted, for messages.
    number_of : function, optional
        What an editor or a program shows as the number of the row.
    """

    source: str
    unit: str = "row"
    number_of: Callable[[int], int] | None = None

    def __call__(self, number: int) -> str:
        shown = number if self.number_of is None else self.number_of(number)
        return f"{self.source}, {self.unit} {shown:,}"


@dataclass(frozen=True)
class Batch:
    """Some rows of one source, as an Arrow record batch.

    `numbers` are those of the rows in the source, from 1, and `place` names them in messages;
    `done` is the share of the source that was read by the end of them. In a `sparse` one, a column
    that is not there is missing. `skipped` are the rows that were left out before or among these,
    and why; `findings` is what the reader has to say about the source. `na` are values that stand
    for a missing one, besides the usual ones. `delimiter` is what stands between fields of text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, RowErrors, find_sources, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batch = next(read(find_sources([str(path)]), Reading(), RowErrors()))
    >>> len(batch), batch.numbers[:3].tolist(), batch.done
    (16384, [1, 2, 3], 0.7585185185185185)
    """

    table: Any
    source: str
    numbers: NDArray[np.int64]
    done: float
    sparse: bool = False
    skipped: tuple[tuple[int, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    na: tuple[str, ...] = ()
    place: Place | None = None
    delimiter: str | None = None
    _values: dict[str, Values] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return self.table.num_rows

    def values(self, name: str) -> Values:
        """The values of a column, so that they are parsed once; an `UnknownType` if none can be.

        In a sparse batch, the values of a column that is not there are missing.
        """
        if name not in self._values:
            missing = self.sparse and name not in self.table.schema.names
            column = pa.nulls(len(self), pa.string()) if missing else self.table.column(name)
            self._values[name] = Values(column, self.na)
        return self._values[name]

    def with_gaps(self, na: Sequence[str]) -> Self:
        """Return these rows, where some values stand for a missing one."""
        return replace(self, na=tuple(na)) if na else self

    def shown(self, name: str, row: int) -> str:
        """Shorten a value for a message."""
        exists = name in self.table.schema.names
        text = repr(self.table.column(name)[row].as_py() if exists else None)
        return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."

    def value(self, name: str, row: int) -> str:
        """Return a value as text; an empty text if the value is missing."""
        value = self.table.column(name)[row].as_py() if name in self.table.schema.names else None
        return "" if value is None else str(value)

    def part(self, start: int, stop: int) -> Self:
        """The rows from `start` to before `stop`."""
        rows, numbers = self.table.slice(start, stop - start), self.numbers[start:stop]
        first = self.numbers[start - 1] if start else -1
        last = np.inf if stop == len(self) else self.numbers[stop - 1] if stop else -1
        skipped = tuple(each for each in self.skipped if first < each[0] < last)
        return replace(self, table=rows, numbers=numbers, skipped=skipped)

    def filter(self, chosen: NDArray[np.bool_]) -> Self:
        """Return only some of the rows."""
        table = self.table.filter(pa.array(chosen))
        return replace(self, table=table, numbers=self.numbers[chosen])

    def where(self, row: int) -> str:
        """The name of a row in a message."""
        return self.located()(int(self.numbers[row]))

    def located(self) -> Place:
        """Place of the rows of the batch."""
        return self.place or Place(self.source)


@dataclass
class RowErrors:
    """Rows that cannot be used: stop at the first, or skip and count them.

    Parameters
    ----------
    skip : bool, default=False
        Whether to go on without such rows.

    Attributes
    ----------
    count : int
        How many there were.
    reasons : list of str
        Why the first few of them cannot be used.
    findings : list of Finding
        What readers had to say about the sources of these rows.

    Examples
    --------
    >>> from greville.tables import RowErrors, Stream
    >>> stream, row_errors = Stream("y"), RowErrors(skip=True)
    >>> _ = stream.answer([{"x": 1.0, "y": 2.0}, "it is not JSON"], row_errors=row_errors)
    >>> row_errors.count, row_errors.reasons
    (1, ['standard input, line 2: it is not JSON'])
    """

    skip: bool = False
    count: int = field(default=0, repr=False)
    reasons: list[str] = field(default_factory=list, repr=False)
    findings: list[Finding] = field(default_factory=list, repr=False)

    def copy(self) -> Self:
        return replace(self, reasons=list(self.reasons), findings=list(self.findings))

    def extend(self, other: RowErrors) -> None:
        """Add the counts and findings of another counter."""
        self.count += other.count
        self.reasons = [*self.reasons, *other.reasons][:_MOST_REASONS]
        said = {_without_numbers(each) for each in self.findings}
        for each in other.findings:  # parts of one file say the same of different lines
            if _without_numbers(each) not in said:
                said.add(_without_numbers(each))
                self.findings.append(each)

    def add(self, reason: str | Callable[[], str]) -> None:
        """Count a row that cannot be used; `reason` may be a function, called only if shown."""
        if not self.skip:
            raise unusable_row(reason if isinstance(reason, str) else reason())
        self._count(reason)

    def _count(self, reason: str | Callable[[], str]) -> None:
        self.count += 1
        if len(self.reasons) < _MOST_REASONS:
            self.reasons.append(reason if isinstance(reason, str) else reason())

    def count_skipped(self, batch: Batch) -> None:
        """Count the rows that a reader has left out, and take over its findings."""
        for _, reason in batch.skipped:
            self._count(reason)
        self.findings += [each for each in batch.findings if each not in self.findings]

    def add_rows(self, rows: Any, wrong: dict[int, str]) -> None:
        """Count rows that cannot be used, with reasons; `rows` gives the names of the rows."""
        for row, reason in sorted(wrong.items()):
            self.add(partial(_named, rows.where, row, reason))


def _named(where: Callable[[int], str], row: int, reason: str) -> str:
    return f"{where(row)}: {reason}"


def _without_numbers(finding: Finding) -> tuple[str, str]:
    return finding.kind, re.sub(r"line [\d,]+", "line", finding.message)


def unusable_row(reason: str) -> TableError:
    """Make the error for a row that cannot be used, if such rows are not skipped."""
    advice = "; fix it, or pass {row_errors} to go on without such rows."
    return TableError(reason, advice, row_errors=RowErrors(skip=True))


def batches_of(table: Any) -> Iterator[Batch]:
    """The batches of a batch, a list of batches, an Arrow table or a data frame."""
    if isinstance(table, Batch):
        yield table
        return
    if isinstance(table, list) and all(isinstance(batch, Batch) for batch in table):
        yield from table
        return
    table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else pa.table(table)
    views = [field.name for field in table.schema if pa.types.is_string_view(field.type)]
    for name in views:  # as polars has them; Arrow cannot choose rows of these
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(place).cast(pa.string()))
    number = 0
    for piece in table.combine_chunks().to_batches():
        yield Batch(piece, "the table", np.arange(number + 1, number + 1 + len(piece)), 1.0)
        number += len(piece)


def in_chunks(batches: Iterable[Batch], size: int, skip: int = 0) -> Iterator[list[Batch]]:
    """Cut the rows of all files into pieces of exactly `size`, but for the last.

    What is done with them then depends on nothing but the rows, and can go on after the first
    `skip` of them as if it had never stopped.

    Examples
    --------
    >>> from pathlib import Path
    >>> from greville import datasets
    >>> from greville.tables import Reading, RowErrors, find_sources, in_chunks, read
    >>> path = Path(datasets.__file__).with_name("ecg.npz")  # a table that comes with greville
    >>> batches = read(find_sources([str(path)]), Reading(), RowErrors())
    >>> [sum(len(batch) for batch in chunk) for chunk in in_chunks(batches, 10_000)]
    [10000, 10000, 1600]
    """
    chunk: list[Batch] = []
    room = size
    for batch in batches:
        start = min(skip, len(batch))
        skip -= start
        while start < len(batch):
            stop = min(len(batch), start + room)
            chunk.append(batch.part(start, stop))
            room -= stop - start
            start = stop
            if room == 0:
                yield chunk
                chunk, room = [], size
    if chunk:
        yield chunk


def record_batch(columns: dict[str, Any]) -> Any:
    """Arrow arrays by name as a record batch."""
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def check_column_names(source: str, names: Sequence[str]) -> None:
    """Raise a TableError for too many names, or for one that comes twice.

    Examples
    --------
    >>> from greville.tables import TableError, check_column_names
    >>> check_column_names("flow.csv", ["x", "y"])
    >>> try:
    ...     check_column_names("flow.csv", ["x", "x"])
    ... except TableError:
    ...     print("x comes twice")
    x comes twice
    """
    check_count(source, len(names))
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise TableError(
            f"{source}: several columns are called {name!r}; give each a name of its own."
        )


def check_count(source: str, n_columns: int) -> None:
    """Raise a TableError for more columns than can be used."""
    if n_columns > MOST_COLUMNS:
        raise TableError(
            f"{source}: it has {n_columns:,} columns, and at most {MOST_COLUMNS:,} can be used; "
            "is this the right format or delimiter? Else make a file with fewer."
        )


def listed(names: Sequence[str]) -> str:
    """List some names, for a message."""
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
