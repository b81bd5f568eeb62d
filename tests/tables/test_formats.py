"""Files are recognised by their first bytes, whatever they are called."""

import builtins
import bz2
import datetime
import gzip
import os
import pickle
import random
import sqlite3
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from openpyxl import Workbook
from pyarrow import parquet

import greville
from greville.tables import Reading, RowErrors, TableError, TableModel

from ..children import forked
from ..houses import as_rows, csv_bytes, houses, number_rows, rows_of
from ..runner import refused, run

CSV = b"a,y\n1,2\n3,4\n"


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def write_sqlite(path, **tables):
    Path(path).unlink(missing_ok=True)
    database = sqlite3.connect(path)
    for name, rows in tables.items():
        columns = ", ".join(rows[0])
        database.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * len(rows[0]))
        values = [tuple(row.values()) for row in rows]
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
    database.commit()
    database.close()


def write_excel(path, **sheets):
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def in_excel(table):
    """Rows for a sheet, with dates as Excel has them."""
    rows = table.to_pylist()
    return [list(rows[0]), *(list(row.values()) for row in rows)]


def findings_of(path, how=None):
    return {f.kind: f.message for batch in rows_of(path, how) for f in batch.findings}


@pytest.mark.parametrize("name", ["t.zip", "t.csv.bz2", "t.sqlite", "t.xlsx"])
@pytest.mark.parametrize("called", ["as it is", "csv"])
def test_every_format_says_the_same(here, name, called):
    table = houses(60)
    path = name if called == "as it is" else "t.csv"
    if name == "t.zip":
        write_zip(path, {"d/houses.csv": csv_bytes(table), "__MACOSX/d/._houses.csv": b"x"})
    elif name == "t.csv.bz2":
        content = csv_bytes(table)
        half = content.index(b"\n", 1000) + 1
        Path(path).write_bytes(bz2.compress(content[:half]) + bz2.compress(content[half:]))
    elif name == "t.sqlite":
        write_sqlite(path, houses=as_rows(table))
    else:
        write_excel(path, houses=in_excel(table))
    model, want = TableModel("price").learn(rows_of(path)), TableModel("price").learn(table)
    assert model.settle().task == "regression"
    kinds = {column.name: column.kind for column in want.settle().schema.columns}
    if name == "t.sqlite":
        kinds["garden"] = "number"  # it has no true and false
    assert {column.name: column.kind for column in model.schema.columns} == kinds
    if called == "csv" and name in ("t.sqlite", "t.xlsx"):
        said = findings_of(path)["format"]
        assert "not csv as its name says; it is read as" in said


def test_the_tables_of_an_archive(here):
    write_zip("two.zip", {"train.csv": CSV, "test.csv": CSV + b"5,6\n", "notes.md": b"hello"})
    said = refused("train", "two.zip", "--target", "y")
    assert said == (
        "two.zip: there are several tables in it, 'train.csv', 'test.csv'; name one with --table."
    )
    (batch,) = rows_of("two.zip", Reading(table="test.csv"))
    assert batch.numbers.tolist() == [1, 2, 3]
    assert batch.where(2) == "two.zip, line 4"
    found = findings_of("two.zip", Reading(table="test.csv"))
    want = "the file 'test.csv' in it is read, and not 'train.csv', 'notes.md'."
    assert found["file in an archive"] == f"two.zip: {want}"
    write_zip("one.zip", {"data": CSV})
    assert rows_of("one.zip")[0].table.to_pydict() == {"a": ["1", "3"], "y": ["2", "4"]}
    write_zip("none.zip", {"a.md": b"", "b.md": b""})
    assert "there is no table in it, but 'a.md', 'b.md'" in refused("train", "none.zip", "-t", "y")
    parquet.write_table(pa.table({"a": [1]}), "p.parquet")
    write_zip("inner.zip", {"p.parquet": Path("p.parquet").read_bytes()})
    assert rows_of("inner.zip")[0].table.to_pydict() == {"a": [1]}
    write_zip("outer.zip", {"inner.zip": Path("inner.zip").read_bytes(), "b.md": b""})
    with pytest.raises(TableError, match="it is a zip in an archive; unpack it"):
        rows_of("outer.zip", Reading(table="inner.zip"))


def test_the_tables_of_a_database(here):
    rows = [{"a": 1.5, "kind": "u", "y": 1}, {"a": None, "kind": b"\x00", "y": "n"}]
    write_sqlite("d.db", good=rows)
    (batch,) = rows_of("d.db")
    assert batch.table.to_pydict()["a"] == [1.5, None]
    assert batch.table.to_pydict()["y"] == ["1", "n"]
    assert batch.where(1) == "d.db, row 2"
    write_sqlite("d.db", good=rows, other=[{"y": 1}])
    before = Path("d.db").stat().st_mtime_ns
    said = refused("train", "d.db", "--target", "y")
    assert said.endswith("several tables in it, 'good', 'other'; name one with --table.")
    assert refused("train", "d.db", "-t", "y", "--table", "x").endswith("but 'good', 'other'.")
    assert rows_of("d.db", Reading(table="other"))[0].table.to_pydict() == {"y": [1]}
    assert Path("d.db").stat().st_mtime_ns == before
    assert list(Path().glob("d.db*")) == [Path("d.db")]  # no journal is left behind


def test_a_database_is_read_in_batches_and_only_the_columns_that_are_needed(here):
    write_sqlite("d.sqlite", t=[{"a": i, "b": "x", "y": i % 7} for i in range(20_000)])
    from greville.tables import find_sources, read

    batches = list(read(find_sources(["d.sqlite"]), Reading(), RowErrors(), ["y", "a"]))
    assert [len(batch) for batch in batches] == [16_384, 3616]
    assert batches[1].table.schema.names == ["a", "y"]
    assert batches[1].numbers[0] == 16_385


def test_sheets(here):
    day = datetime.datetime(2024, 5, 1)
    table = [["Report", None, None], [], ["x", "when", "y"], [1, day, 2.5], [], [2, day, 3.5]]
    write_excel("b.xlsx", Cover=[], Data=table, More=[["a"], [1]])
    (batch,) = rows_of("b.xlsx")
    assert batch.table.to_pydict() == {"x": [1, 2], "when": [day, day], "y": [2.5, 3.5]}
    assert batch.where(1) == "b.xlsx, row 6"  # as Excel counts them
    found = findings_of("b.xlsx")
    assert found["sheet"].startswith("b.xlsx: the sheet 'Data' is read, and not 'Cover', 'More'")
    assert "what is above row 3 is no part of the table" in found["title"]
    assert rows_of("b.xlsx", Reading(table="More"))[0].table.to_pydict() == {"a": [1]}
    assert "no sheet 'Moor' in it, but 'Cover', 'Data', 'More'." in refused(
        "train", "b.xlsx", "--target", "y", "--table", "Moor"
    )
    write_excel("wide.xlsx", s=[["x", "y"], [1, 2], [3, 4, 5]])
    assert "wide.xlsx, row 3: there is a value to the right" in refused(
        "train", "wide.xlsx", "--target", "y"
    )
    write_excel("bare.xlsx", s=[[1.5, 2], [3.5, 4]])
    assert "bare.xlsx, row 1: the names of the columns would be '1.5', '2'" in refused(
        "train", "bare.xlsx", "--target", "y"
    )


def test_the_sheet_or_the_table_with_the_target(here):
    rows = [["region", "y"], *([f"r{i % 3}", i] for i in range(20)), ["Total", 190]]
    write_excel("b.xlsx", Notes=[["a", "b"], [1, 2]], Sales=[["Sales of 2020"], *rows])
    run("train", "b.xlsx", "--target", "y", "--task", "regression", "-q")
    assert greville.load("model.greville").n_rows == 20
    said = run("check", "b.xlsx", "--target", "y")[1]
    assert "the sheet 'Sales' is read, and not 'Notes'" in said
    assert "Warning: b.xlsx, row 23 is left out: it is the total of the others (Total)" in said
    write_sqlite("d.db", notes=[{"a": 1}], sales=[{"x": i, "y": i} for i in range(9)])
    assert "the table 'sales' in it is read" in run("check", "d.db", "--target", "y")[1]


def test_workbooks_that_unpack_to_much_more_than_they_are(here):
    write_excel("b.xlsx", s=[["x", "y"]])
    head = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    )
    far = b'<row r="999999999"><c r="A999999999"><v>1</v></c></row>'
    for rows, message in (
        (far, "no more than 1,048,576 rows"),
        (b"<row/>" * (1 << 24), "unpacks to"),
    ):
        with zipfile.ZipFile("b.xlsx") as good:
            parts = {name: good.read(name) for name in good.namelist()}
        parts["xl/worksheets/sheet1.xml"] = head + rows + b"</sheetData></worksheet>"
        write_zip("bomb.xlsx", parts)
        assert message in refused("check", "bomb.xlsx")


def test_excel_without_its_extra(here, monkeypatch):
    write_excel("b.xlsx", s=[["x", "y"], [1, 2]])
    imported = builtins.__import__

    def missing(name, *rest):
        if name == "openpyxl":
            raise ModuleNotFoundError(name=name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert refused("train", "b.xlsx", "--target", "y") == (
        "b.xlsx: Excel files need openpyxl; install it with: pip install 'greville[excel]'"
    )


FOREIGN = {
    "a DuckDB database": bytes(8) + b"DUCK" + bytes(50),
    "an old Excel or Office file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(50),
    "an SPSS file": b"$FL2@(#) SPSS DATA FILE",
    "a Stata file": b"<stata_dta><header>",
    "an R data file": gzip.compress(b"X\n\x00\x00\x00\x03\x00", mtime=0),
    "an HDF5 or NetCDF file": b"\x89HDF\r\n\x1a\n",
    "an ORC file": b"ORC\x08",
    "a tar archive": b"a.csv".ljust(257, b"\x00") + b"ustar  ",
    "a web page": b"\n<!DOCTYPE html><html><body>Not found",
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
}


@pytest.mark.parametrize(
    ("what", "name"), [*((what, "t.csv") for what in FOREIGN), ("a web page", "t.bin")]
)
def test_what_cannot_be_read_is_named(here, what, name):
    Path(name).write_bytes(FOREIGN[what])
    said = refused("train", name, "--target", "y")
    assert said.startswith(f"{name}: it is {what}")
    assert said.count(". ") == 0


def test_pickles_are_not_read(here):
    class Evil:
        def __reduce__(self):
            return Path.touch, (Path("opened"),)

    for protocol in (2, 3, 4, 5):
        Path("t.pkl").write_bytes(pickle.dumps(Evil(), protocol))
        said = refused("train", "t.pkl", "--target", "y")
        assert said.startswith("t.pkl: it is a Python pickle, which is never read")
    assert not Path("opened").exists()


def test_names_that_say_something_else(here):
    Path("t.csv").write_text('{"a": 1, "y": 2}\n{"a": 2, "y": 3}\n')
    assert rows_of("t.csv")[0].table.to_pydict() == {"a": [1, 2], "y": [2, 3]}
    assert findings_of("t.csv")["format"].startswith("t.csv: it is JSON, not csv as its name says")
    parquet.write_table(pa.table({"a": [1]}), "p.csv")
    assert rows_of("p.csv")[0].table.to_pydict() == {"a": [1]}
    assert "a file of the format parquet, not csv as its" in findings_of("p.csv")["format"]
    Path("p.parquet").write_bytes(CSV)
    assert refused("train", "p.parquet", "-t", "y").endswith("For text pass --format csv.")
    assert rows_of("p.parquet", Reading(format="csv"))[0].table.num_rows == 2
    write_zip("t.npz", {"t.csv": CSV})
    assert rows_of("t.npz")[0].table.num_rows == 2


@pytest.mark.posix("named pipes")
@pytest.mark.parametrize("name", ["d.sqlite", "d.xlsx", "d.parquet", "d.csv.gz"])
def test_out_of_a_pipe(here, name):
    rows = [{"x": i, "y": 2 * i} for i in range(30)]
    if name == "d.sqlite":
        write_sqlite(name, t=rows)
    elif name == "d.xlsx":
        write_excel(name, s=[["x", "y"], *(list(row.values()) for row in rows)])
    elif name == "d.parquet":
        parquet.write_table(pa.Table.from_pylist(rows), name)
    else:
        Path(name).write_bytes(gzip.compress(csv_bytes(pa.Table.from_pylist(rows))))
    os.mkfifo("pipe.csv")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(Path("pipe.csv").write_bytes, Path(name).read_bytes())
        run("train", "pipe.csv", "--target", "y", "--task", "regression", "-q")
    assert greville.load("model.greville").n_rows == 30

    def work():
        os.dup2(os.open(name, os.O_RDONLY), 0)
        run("score", "model.greville", "-", "-q")

    assert forked(work) == 0


@pytest.mark.parametrize("name", ["t.xlsx", "t.sqlite", "t.zip", "t.csv.bz2"])
def test_damaged_files_are_refused_or_read(here, name):
    text = number_rows(40).encode()
    rows = [dict(zip("aby", line.split(","), strict=True)) for line in text.decode().split()[1:]]
    if name == "t.xlsx":
        write_excel(name, s=[list(rows[0]), *(list(row.values()) for row in rows)])
    elif name == "t.sqlite":
        write_sqlite(name, t=rows)
    elif name == "t.zip":
        write_zip(name, {"t.csv": text})
    else:
        Path(name).write_bytes(bz2.compress(text))
    good, outcomes = Path(name).read_bytes(), set()
    for seed in range(60):
        chance, content = random.Random(seed), bytearray(good)
        for _ in range(chance.choice([1, 2, 5, 20])):
            at = chance.randrange(len(content))
            if chance.random() < 0.5:
                content[at] ^= 1 << chance.randrange(8)
            else:
                del content[at : at + chance.randrange(1, 9)]
        Path(name).write_bytes(content)
        try:
            outcomes.add(sum(map(len, rows_of(name, Reading(header=True)))) >= 0)
        except TableError as error:
            outcomes.add(str(error).startswith(name) and "\n" not in str(error))
    assert outcomes == {True}


def test_train_and_score_from_a_workbook(here):
    write_excel("t.xlsx", houses=in_excel(houses(200)))
    run("train", "t.xlsx", "--target", "price", "-q")
    assert "R²" in run("score", "model.greville", "t.xlsx")[0]
