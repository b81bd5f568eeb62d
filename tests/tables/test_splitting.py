"""Files cut into parts: the same rows in the same order, with the numbers of their lines."""

import gzip
import json
import random

import pyarrow as pa
import pytest
from pyarrow import parquet

from greville.tables import Reading, TableError, Troubles, find_sources, read, split, total_rows

from ..every_pair import every_pair

HERE = map  # the function that applies another to many arguments


def rows_of(sources, reading=None, skip=False):
    """The rows, and their numbers."""
    rows, numbers, troubles = [], [], Troubles(skip=skip)
    for batch in read(sources, reading or Reading(), troubles):
        troubles.count_skipped(batch)
        rows += batch.table.to_pylist()
        numbers += batch.numbers.tolist()
    return rows, numbers, troubles


def rows_of_parts(parts, skip=False):
    rows, numbers, troubles = [], [], Troubles(skip=skip)
    for part in parts:
        found = rows_of([part.source], part.reading, skip)
        rows += found[0]
        numbers += found[1]
        troubles.join(found[2])
    return rows, numbers, troubles


def write_csv(path, chance, end, quoted=True, header=True, n=250):
    def text():
        if quoted and chance.random() < 0.4:
            inside = chance.choice([f"one{end}two", 'say ""hi""', "a,b", "", end + end, '""'])
            return f'"{inside}"'
        return chance.choice(["x", "yy", "", "plain text"])

    with open(path, "w", newline="") as file:
        if header:
            file.write(f"a,b,c{end}")
        for i in range(n):
            file.write(f"{i},{text()},{chance.random()}{end}")
            if chance.random() < 0.03:
                file.write(end)


@pytest.mark.full
@every_pair(
    end=["\n", "\r\n", "\r"],
    quoted=[False, True],
    reading=[Reading(), Reading(header=True, encoding="utf-8")],
)
def test_ranges_of_csv(tmp_path, end, quoted, reading):
    chance, path = random.Random(0), tmp_path / "t.csv"
    for _ in range(2):
        write_csv(path, chance, end, quoted, n=40)
        sources = find_sources([str(path)])
        whole = rows_of(sources, reading)
        for size in (31, 200):
            parts = split(sources, reading, size, HERE)
            assert len(parts) > 1
            found = rows_of_parts(parts)
            assert found[0] == whole[0]
            assert found[1] == whole[1]
            assert total_rows(parts) is None


def test_quotes_that_do_not_allow_it(tmp_path):
    """Where quotes stand in the middle of fields, or one is not closed, a file stays whole."""
    path = tmp_path / "t.csv"
    for odd in ('5" pipe', '"open'):
        path.write_text("a,b\n" + "".join(f"{i},{odd if i == 50 else 'x'}\n" for i in range(100)))
        parts = split(find_sources([str(path)]), Reading(), 100, HERE)
        assert len(parts) == 1


def test_comments_blanks_encodings_and_compressed_files_stay_whole(tmp_path):
    rows = "".join(f"{i},{i}\n" for i in range(300))
    for name, content, reading in (
        ("a.csv", "# comment\na,b\n" + rows, Reading()),
        ("b.txt", "a b\n" + rows.replace(",", " "), Reading()),
        ("c.csv", "a,b\n" + rows, Reading(encoding="latin-1")),
        ("e.csv", rows, Reading(header=False)),  # the first row says how many columns there are
    ):
        (tmp_path / name).write_text(content)
        assert len(split(find_sources([str(tmp_path / name)]), reading, 100, HERE)) == 1
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(("a,b\n" + rows).encode()))
    assert len(split(find_sources([str(tmp_path / "d.csv.gz")]), Reading(), 100, HERE)) == 1


def test_lines_that_are_no_objects_and_long_last_rows(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("".join('{"a": 1}\n' if i % 3 == 0 else "[1, 2]\n" for i in range(300)))
    sources = find_sources([str(path)])
    whole = rows_of(sources, skip=True)
    for size in (40, 333):
        found = rows_of_parts(split(sources, Reading(), size, HERE), skip=True)
        assert found[:2] == whole[:2]
        assert found[2].count == whole[2].count == 200
    path.write_text('{"a": "1"}\n' * 20 + '{"a": "' + 3000 * "x" + '"}')  # no end of a line
    sources = find_sources([str(path)])
    found = rows_of_parts(split(sources, Reading(), 100, HERE))
    assert found[:2] == rows_of(sources)[:2]


def test_a_row_longer_than_any_reader_takes(tmp_path, monkeypatch):
    monkeypatch.setattr("greville.tables.readers.splitting._AHEAD", 1000)
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n' + '{"a": "' + 3000 * "x" + '"}\n' + '{"a": 1}\n' * 500)
    parts = split(find_sources([str(path)]), Reading(), 200, HERE)
    with pytest.raises(TableError, match="a row is longer than"):
        rows_of_parts(parts)


def test_a_row_longer_than_a_part(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2," + 5000 * "y" + "\n3,z\n")
    sources = find_sources([str(path)])
    parts = split(sources, Reading(), 100, HERE)
    assert len(parts) > 10
    assert rows_of_parts(parts)[:2] == rows_of(sources)[:2]


def test_rows_that_cannot_be_used_have_their_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join("1,2,3\n" if i == 170 else "1,2\n" for i in range(200)))
    sources = find_sources([str(path)])
    parts = split(sources, Reading(), 90, HERE)
    assert len(parts) > 3
    for skip in (True,):
        assert rows_of_parts(parts, skip)[2].first == rows_of(sources, skip=skip)[2].first
    with pytest.raises(TableError, match="line 172 has 3 fields"):
        rows_of_parts(parts)


def test_json_lines_and_row_groups(tmp_path):
    chance = random.Random(0)
    with open(tmp_path / "t.jsonl", "w") as file:
        for i in range(300):
            row = {"a": i, "t": chance.choice(["x", 'q"uote', "new\nline"])}
            file.write(json.dumps(row) + "\n")
    table = pa.table({"a": range(1000), "b": [str(i) for i in range(1000)]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    for name, size in (("t.jsonl", 200), ("t.parquet", 900)):
        sources = find_sources([str(tmp_path / name)])
        parts = split(sources, Reading(), size, HERE)
        assert len(parts) > 3
        assert rows_of_parts(parts)[:2] == rows_of(sources)[:2]
    assert total_rows(parts) == 1000


def test_row_groups_without_rows(tmp_path):
    table = pa.table({"a": range(10)})
    with parquet.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
        for part in (table[:0], table, table[:0], table[:3], table[:0]):
            writer.write_table(part)
    parts = split(find_sources([str(tmp_path / "t.parquet")]), Reading(), 1, HERE)
    assert [part.n_rows for part in parts] == [10, 3]
    assert len(rows_of_parts(parts)[0]) == 13


@pytest.mark.full
def test_addresses(tmp_path):
    """Files that fsspec reads: one, a pattern, a folder; and what cannot be read from there."""
    import fsspec

    memory = fsspec.filesystem("memory")
    table = pa.table({"a": range(500), "b": [str(i) for i in range(500)]})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    write_csv(tmp_path / "t.csv", random.Random(0), "\n")
    for name in ("t.parquet", "t.csv"):
        memory.pipe(f"/greville/{name}", (tmp_path / name).read_bytes())
    memory.pipe("/greville/t.csv.gz", gzip.compress((tmp_path / "t.csv").read_bytes()))
    memory.pipe("/greville/notes.md", b"no table")
    try:
        for name in ("t.parquet", "t.csv", "t.csv.gz"):
            here = rows_of(find_sources([str(tmp_path / name.removesuffix(".gz"))]))
            sources = find_sources([f"memory://greville/{name}"])
            assert sources[0].name == f"memory://greville/{name}"
            assert rows_of(sources)[:2] == here[:2]
            assert rows_of_parts(split(sources, Reading(), 500, HERE))[:2] == here[:2]
        assert len(find_sources(["memory://greville/t.*"])) == 3
        folder = find_sources(["memory://greville"])
        assert [source.path.name for source in folder] == ["t.csv", "t.csv.gz", "t.parquet"]
        assert "notes.md" in folder[0].findings[0].message
        memory.pipe("/greville/t.npy", b"\x93NUMPY")
        with pytest.raises(TableError, match="npy cannot be read from an address"):
            rows_of(find_sources(["memory://greville/t.npy"]))
        with pytest.raises(TableError, match="there is no such file"):
            find_sources(["memory://greville/nothing.csv"])
        with pytest.raises(TableError, match="unheard-of://x: "):
            find_sources(["unheard-of://x"])
    finally:
        memory.rm("/greville", recursive=True)
