"""A format of tables that is not among those of the library: ``name=value`` pairs on each line."""

import re

import numpy as np

from greville.tables import Batch, TableFormat
from greville.tables.batch import record_batch, unusable_row
from greville.tables.readers.json import array_of

_PAIR = re.compile(r"(\w+)=(\S*)")


def read(request):
    """All rows as one batch; a line without any pair cannot be used."""
    text = b"".join(request.text.blocks()).decode()
    rows, left_out = [], []
    for number, line in enumerate(text.splitlines(), 1):
        row = dict(_PAIR.findall(line))
        if row:
            rows.append(row)
            continue
        reason = f"{request.source.name}, row {number}: it has no name=value"
        if not request.skip:
            raise unusable_row(reason)
        left_out.append((number, reason))
    names = dict.fromkeys(name for row in rows for name in row)
    table = record_batch({name: array_of([row.get(name) for row in rows]) for name in names})
    numbers = np.delete(np.arange(1, 1 + len(rows) + len(left_out)), [n - 1 for n, _ in left_out])
    yield Batch(table, request.source.name, numbers, 1.0, skipped=tuple(left_out))


class Writer:
    """Writes a line for each row."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, batch):
        for row in batch.to_pylist():
            line = " ".join(f"{name}={value}" for name, value in row.items() if value is not None)
            self._stream.write(f"{line}\n".encode())

    def close(self):
        """Every line is written already."""


PAIRS = TableFormat("pairs", (".pairs",), read, Writer, text=True)
