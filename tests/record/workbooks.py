"""Tables in files that are not text: Parquet, Arrow, NumPy, Excel, SQLite."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from .cases import case
from .frames import houses
from .printed import cells, printed


def _arrow_table():
    import pyarrow as pa

    columns, price = houses(60)
    return pa.table({**columns, "price": price})


def _parquet():
    from pyarrow import parquet

    parquet.write_table(_arrow_table(), "houses.parquet")
    return "houses.parquet"


def _feather():
    from pyarrow import feather

    feather.write_feather(_arrow_table(), "houses.feather")
    return "houses.feather"


def _arrow_stream():
    import pyarrow as pa

    table = _arrow_table()
    with pa.OSFile("houses.arrow", "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return "houses.arrow"


def _numbers():
    columns, price = houses(60)
    area = np.array([np.nan if each is None else each for each in columns["area"]])
    return area, np.array(columns["garden"]), price


def _npz():
    area, garden, price = _numbers()
    np.savez("houses.npz", area=area, garden=garden, price=price)
    return "houses.npz"


def _npz_uneven():
    np.savez("uneven.npz", area=np.ones(5), price=np.ones(7))
    return "uneven.npz"


def _npy():
    np.save("houses.npy", np.column_stack(_numbers()))
    return "houses.npy"


def _records():
    area, garden, price = _numbers()
    np.save("records.npy", np.rec.fromarrays([area, garden, price], names="area,garden,price"))
    return "records.npy"


def _excel():
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Houses in three towns"])
    sheet.append([])
    columns, price = houses(60)
    sheet.append([*columns, "price"])
    for row in zip(*columns.values(), price.tolist(), strict=True):
        sheet.append(row)
    book.create_sheet("notes").append(["a", "b"])
    book.save("houses.xlsx")
    return "houses.xlsx"


def _database(*tables):
    columns, price = houses(60)
    with closing(sqlite3.connect("houses.sqlite")) as database:
        for table in tables:
            database.execute(
                f"CREATE TABLE {table} (area REAL, city TEXT, built TEXT, garden, price REAL)"
            )
            rows = zip(*columns.values(), price.tolist(), strict=True)
            database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", list(rows))
        database.commit()
    return "houses.sqlite"


def _bytes(name, content):
    Path(name).write_bytes(content)
    return name


FILES = {
    "parquet": (_parquet, ()),
    "feather": (_feather, ()),
    "arrow-stream": (_arrow_stream, ()),
    "npz": (_npz, ()),
    "npz-uneven": (_npz_uneven, ()),
    "npy": (_npy, ()),
    "npy-records": (_records, ()),
    "excel": (_excel, ()),
    "excel-other-sheet": (_excel, ("--table", "notes")),
    "excel-no-sheet": (_excel, ("--table", "attic")),
    "sqlite": (lambda: _database("houses"), ()),
    "sqlite-of-two": (lambda: _database("houses", "sheds"), ()),
    "sqlite-named": (lambda: _database("houses", "sheds"), ("--table", "sheds")),
    "damaged-parquet": (lambda: _bytes("bad.parquet", b"PAR1" + b"\x00" * 40 + b"PAR1"), ()),
    "pickle": (lambda: _bytes("model.pkl", b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00N."), ()),
    "web-page": (lambda: _bytes("page.csv", b"<!DOCTYPE html><html><body>1,2</body></html>"), ()),
    "orc": (lambda: _bytes("table.orc", b"ORC" + b"\x00" * 60), ()),
    "said-csv-is-parquet": (lambda: Path(_parquet()).rename("houses.csv").name, ()),
    "wrong-format": (_parquet, ("--format", "npz")),
}


@case("workbooks/check/{which}", which=FILES)
def checks(which):
    """How the file is read."""
    write, options = which
    path = write()
    target = "2" if path == "houses.npy" else "price"
    return printed("check", path, "--target", target, "--json", *options)


@case("workbooks/learn/{which}", which={k: FILES[k] for k in ("parquet", "npz", "excel", "sqlite")})
def learns(which):
    """The same rows make the same model, whatever the file."""
    path = which[0]()
    found = {"train": printed("train", path, "--target", "price", "--hidden", "6")}
    found["score"] = printed("score", "model.greville", path, "--json")
    found["predict"] = printed("predict", "model.greville", path, "-o", "out.csv")
    return {**found, "predicted": cells("out.csv", "prediction")}


@case(
    "workbooks/output/{name}",
    name={
        name: name
        for name in ("out.csv", "out.tsv", "out.jsonl", "out.parquet", "out.arrow", "out.xyz")
    },
)
def writes(name):
    """Predictions in files of all kinds that can be written."""
    path = _parquet()
    printed("train", path, "--target", "price", "--hidden", "6")
    found = printed("predict", "model.greville", path, "-o", name, "--as", "guess", "--std")
    if Path(name).exists():
        found["first bytes"] = Path(name).read_bytes()[:4].hex()
        found["again"] = printed("score", "model.greville", name, "--json")
    return found
