"""Files cut into parts: the same rows in the same order, with their numbers."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from greville.tables import Reading, RowErrors, TableError, find_sources, read, split

from ..houses import csv_bytes


def rows_of(sources, reading=None, skip=False):
    """The rows, and their numbers."""
    rows, numbers, row_errors = [], [], RowErrors(skip=skip)
    for batch in read(sources, reading or Reading(), row_errors):
        row_errors.count_skipped(batch)
        rows += batch.table.to_pylist()
        numbers += batch.numbers.tolist()
    return rows, numbers, row_errors


def rows_of_parts(parts, skip=False):
    rows, numbers, row_errors = [], [], RowErrors(skip=skip)
    for part in parts:
        found = rows_of([part], skip=skip)
        rows += found[0]
        numbers += found[1]
        row_errors.extend(found[2])
    return rows, numbers, row_errors


def test_row_groups_and_other_files(tmp_path):
    table = pa.table({"a": range(1000), "b": [str(i) for i in range(1000)]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    sources = find_sources([str(tmp_path / "t.parquet")])
    parts = split(sources, 900)
    assert len(parts) > 3
    assert rows_of_parts(parts)[:2] == rows_of(sources)[:2]
    assert sum(part.n_rows for part in parts) == 1000
    (tmp_path / "t.csv").write_bytes(csv_bytes(table))
    parts = split(find_sources([str(tmp_path)]), 900)
    assert [part.path.name for part in parts[:2]] == ["t.csv", "t.parquet"]
    assert parts[0].n_rows is None


def test_row_groups_without_rows(tmp_path):
    table = pa.table({"a": range(10)})
    with parquet.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
        for part in (table[:0], table, table[:0], table[:3], table[:0]):
            writer.write_table(part)
    parts = split(find_sources([str(tmp_path / "t.parquet")]), 1)
    assert [part.n_rows for part in parts] == [10, 3]
    assert len(rows_of_parts(parts)[0]) == 13


@pytest.mark.full
def test_addresses(tmp_path):
    """Files that fsspec reads: one, a pattern, a folder; and what cannot be read from there."""
    import fsspec

    memory = fsspec.filesystem("memory")
    table = pa.table({"a": range(500), "b": [str(i) for i in range(500)]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    (tmp_path / "t.csv").write_bytes(csv_bytes(table))
    for name in ("t.parquet", "t.csv"):
        memory.pipe(f"/greville/{name}", (tmp_path / name).read_bytes())
    memory.pipe("/greville/t.csv.gz", gzip.compress((tmp_path / "t.csv").read_bytes()))
    try:
        for name in ("t.parquet", "t.csv", "t.csv.gz"):
            here = rows_of(find_sources([str(tmp_path / name.removesuffix(".gz"))]))
            sources = find_sources([f"memory://greville/{name}"])
            assert sources[0].name == f"memory:///greville/{name}"
            assert rows_of(sources)[:2] == here[:2]
            assert rows_of_parts(split(sources, 500))[:2] == here[:2]
        assert len(find_sources(["memory://greville/t.*"])) == 3
        np.save(tmp_path / "t.npy", np.arange(3))
        memory.pipe("/greville/t.npy", (tmp_path / "t.npy").read_bytes())
        assert len(rows_of(find_sources(["memory://greville/t.npy"]))[0]) == 3
        with pytest.raises(TableError, match="there is no such file"):
            find_sources(["memory://greville/nothing.csv"])
        with pytest.raises(TableError, match="unheard-of://x: "):
            find_sources(["unheard-of://x"])
    finally:
        memory.rm("/greville", recursive=True)
