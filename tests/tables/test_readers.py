"""Readers: every format says the same, and what is wrong with a file is said."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import greville
from greville.tables import (
    Batch,
    Reading,
    RowErrors,
    TableError,
    TableModel,
    find_sources,
    in_chunks,
    read,
)
from greville.tables.lines import StreamLines
from greville.tables.readers import relation

from .. import children
from ..houses import csv_bytes, houses, jsonl, number_rows, rows_of, shown_numbers


def write_stream(table, path):
    with pa.ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table)


WRITERS = {
    "houses.csv": lambda t, p: p.write_bytes(csv_bytes(t)),
    "houses.tsv": lambda t, p: p.write_bytes(csv_bytes(t, delimiter="\t")),
    "semicolons.csv": lambda t, p: p.write_bytes(csv_bytes(t, delimiter=";")),
    "houses.csv.gz": lambda t, p: p.write_bytes(gzip.compress(csv_bytes(t))),
    "houses.csv.zst": lambda t, p: p.write_bytes(pa.compress(csv_bytes(t), "zstd", asbytes=True)),
    "bom.csv": lambda t, p: p.write_bytes(b"\xef\xbb\xbf" + csv_bytes(t)),
    "windows.csv": lambda t, p: p.write_bytes(csv_bytes(t).replace(b"\n", b"\r\n")),
    "houses": lambda t, p: p.write_bytes(csv_bytes(t)),
    "houses.jsonl": lambda t, p: p.write_bytes(jsonl(t)),
    "houses.jsonl.gz": lambda t, p: p.write_bytes(gzip.compress(jsonl(t))),
    "no-suffix-json": lambda t, p: p.write_bytes(b"\n" + jsonl(t)),
    "houses.parquet": parquet.write_table,
    "houses.feather": lambda t, p: feather.write_feather(t, str(p)),
    "houses.arrow": write_stream,
}


@pytest.fixture(scope="module")
def want():
    return TableModel("price", hidden=40).learn(houses(100)).settle()


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_says_the_same(tmp_path, name, want):
    table = houses(100)
    WRITERS[name](table, tmp_path / name)
    model = TableModel("price", hidden=40).learn(rows_of(tmp_path / name)).settle()
    assert model.task == "regression"
    assert model.schema.columns == want.schema.columns
    np.testing.assert_allclose(model.predict(table), want.predict(table), rtol=1e-9)


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_numpy_files(tmp_path, name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] - X[:, 2]
    if name == "x.npy":
        np.save(tmp_path / name, np.column_stack([X, y]))
        target, kinds = "4", ["number"] * 4
    else:
        np.savez(tmp_path / name, X=X, y=y)
        target, kinds = "y", ["vector"]
    batches = rows_of(tmp_path / name)
    model = TableModel(target, hidden=100).learn(batches).settle()
    assert [column.kind for column in model.schema.columns] == kinds
    want = greville.ELMRegressor(100, random_state=0).partial_fit(X, y)
    np.testing.assert_allclose(model.predict(batches[0]), want.predict(X), rtol=1e-7)


def test_arrays_of_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="bad.npy: it cannot be read.*no objects"):
        rows_of(tmp_path / "bad.npy")


def test_folders_patterns_and_order(tmp_path):
    table = houses(90)
    for i in range(3):
        parquet.write_table(table.slice(30 * i, 30), tmp_path / f"part-{i}.parquet")
    (tmp_path / "notes.md").write_text("not a table")
    (tmp_path / "_SUCCESS").write_text("")
    for names in ([str(tmp_path)], [str(tmp_path / "part-*.parquet")]):
        found = list(read(find_sources(names), Reading(), RowErrors()))
        assert sum(map(len, found)) == 90
        assert [b.source[-9:-8] for b in found] == ["0", "1", "2"]


@given(
    sizes=st.lists(st.integers(1, 40), max_size=12),
    size=st.integers(1, 30),
    skip=st.integers(0, 50),
)
def test_chunks_have_all_rows_once(sizes, size, skip):
    number, batches = 0, []
    for n in sizes:
        numbers = np.arange(number, number + n)
        table = pa.RecordBatch.from_pydict({"x": numbers})
        batches.append(Batch(table, "here", numbers, 0.0))
        number += n
    chunks = [[v for b in c for v in b.numbers.tolist()] for c in in_chunks(batches, size, skip)]
    assert [v for chunk in chunks for v in chunk] == list(range(min(skip, number), number))
    assert all(len(chunk) == size for chunk in chunks[:-1])


# Files that are not as they should be


def test_rows_with_too_many_fields(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n8\n9,zehn\n")
    with pytest.raises(TableError, match=r"x.csv, line 3 has 3 fields instead of 2; fix"):
        rows_of(path)
    (batch,) = rows_of(path, row_errors=RowErrors(skip=True))
    assert shown_numbers(batch) == [2, 4, 6]
    lines = [reason.split("x.csv, ")[1] for _, reason in batch.skipped]
    assert lines == ["line 3 has 3 fields instead of 2", "line 5 has 1 field instead of 2"]
    assert not batch.part(1, 2).skipped  # they count with the last row
    assert batch.part(2, 3).skipped == batch.skipped


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "it is empty"),
        ("blank.csv", b"\n\n", "it is empty"),
        ("header.csv", b"a,b\n", "it has no rows"),
        ("twice.csv", b"a,a\n1,2\n", "several columns are called 'a'"),
        ("damaged.csv", "a,b\nä,1\n".encode() + b"\xe4,2\n", "line 3: it is not in UTF-8; pass"),
        ("x.parquet", b"PAR1 is not enough", "it cannot be read"),
        ("x.arrow", b"nothing of the kind", "it cannot be read"),
        ("x.npy", b"\x93NUMPY broken", "it cannot be read"),
        ("x.npz", b"no zip", "it cannot be read"),
        (
            "x.csv.gz",
            gzip.compress(str(list(range(9999))).encode(), mtime=0)[:9000],
            "damaged or cut",
        ),
        ("x.csv.gz", b"no gzip at all", "damaged or cut off"),
        ("x.csv.zst", b"no zstd at all", "damaged or cut off"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message) as caught:
        rows_of(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"PAR1....", "it cannot be read"),
        ("x.csv", b"ARROW1....", "it cannot be read"),
        (
            "x.csv",
            gzip.compress(b"PAR1....", mtime=0),
            "it cannot be read",
        ),
        ("x.parquet", b"a,b\n1,2\n", "does not begin as files of the format parquet.*format='csv'"),
    ],
)
def test_names_that_do_not_say_what_is_in_a_file(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        rows_of(tmp_path / name)
    (tmp_path / "zipped.csv").write_bytes(gzip.compress(b"a,b\n1,2\n", mtime=0))
    assert rows_of(tmp_path / "zipped.csv")[0].table.to_pydict() == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize(
    ("encoding", "city", "found"),
    [
        ("utf-16", "Köln", "utf-16"),
        ("cp1252", "Köln, für 20 €", "cp1252"),
        ("utf-8-sig", "Köln", None),
        ("cp1251", "Город на берегу реки", "cp1251"),
    ],
)
def test_other_encodings(tmp_path, encoding, city, found):
    path = tmp_path / "x.csv"
    path.write_bytes(f'stadt,y\n"{city}",1\n"{city}",2\n'.encode(encoding))
    for how in (Reading(), Reading(encoding=encoding)):
        (batch,) = rows_of(path, how)
        assert batch.table.to_pydict() == {"stadt": [city, city], "y": ["1", "2"]}
        said = [f.message for f in batch.findings if f.kind == "encoding"]
        if found is None or how.encoding:
            assert not said
        else:
            assert f"by its bytes read as {found}; if letters are wrong, pass" in said[0]
    with pytest.raises(TableError, match="it is not in ascii"):
        rows_of(path, Reading(encoding="ascii"))


def test_text_of_two_bytes_without_a_mark(tmp_path):
    (tmp_path / "x.csv").write_text("stadt,y\nKöln,1\nUlm,2\n", encoding="utf-16-le")
    with pytest.raises(TableError, match="it is not text.*pass encoding='utf-16-le'"):
        rows_of(tmp_path / "x.csv")
    (batch,) = rows_of(tmp_path / "x.csv", Reading(encoding="utf-16-le"))
    assert batch.table.to_pydict() == {"stadt": ["Köln", "Ulm"], "y": ["1", "2"]}


@pytest.mark.parametrize(("encoding", "city"), [("cp1252", "Straße"), ("cp1251", "Тула")])
def test_signs_do_not_decide_the_encoding(tmp_path, encoding, city):
    lines = [f"{city};{k} €" for k in range(10, 70)]
    (tmp_path / "x.csv").write_text("\n".join(["ort;preis", *lines]), encoding=encoding)
    (batch,) = rows_of(tmp_path / "x.csv")
    assert set(batch.table.column("ort").to_pylist()) == {city}


def test_json_lines_one_of_which_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "ROWS_AT_ONCE", 10)
    path = tmp_path / "x.jsonl"
    lines = [json.dumps({"x": i, "y": f"t{i}"}) for i in range(50)]
    lines[30] = '{"x": 1,'
    lines.insert(10, "")
    path.write_text("\n".join(lines))
    with pytest.raises(TableError, match="line 32: it is not JSON"):
        rows_of(path)
    row_errors = RowErrors(skip=True)
    batches = rows_of(path, row_errors=row_errors)
    numbers = [n for b in batches for n in b.numbers.tolist()]
    assert numbers == [n for n in range(1, 52) if n not in (11, 32)]
    assert [v for b in batches for v in b.table.column("x").to_pylist()][-1] == 49


def test_json_of_mixed_types(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"x": 1, "y": 1}\n{"x": "a", "y": 2}\n{"y": 3}\n')
    (batch,) = rows_of(path)
    assert batch.table.column("x").to_pylist() == ["1", "a", None]


def test_json_dates_stay_as_they_came(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"b": 1, "d": "2024-01-01"}\n{"b": 2, "d": "2024-01-02"}\n')
    (batch,) = rows_of(tmp_path / "x.jsonl")
    assert batch.table.to_pydict() == {"b": [1, 2], "d": ["2024-01-01", "2024-01-02"]}


def test_objects_in_objects_and_lists(tmp_path):
    rows = [
        {
            "engine": {"cylinders": 4 + i % 3, "a/b": {"~": i}},
            "v": [i, 0.5],
            "t": ["u", "v"][: i % 3],
        }
        for i in range(6)
    ]
    rows[5]["late"] = True
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "x.json").write_text(json.dumps(rows, indent=1))
    for name in ("x.jsonl", "x.json"):
        (batch,) = rows_of(tmp_path / name)
        assert batch.table.to_pydict() == {
            "engine.cylinders": [4, 5, 6, 4, 5, 6],
            "engine.a/b.~": list(range(6)),
            "v": [[float(i), 0.5] for i in range(6)],
            "t": [[], ["u"], ["u", "v"]] * 2,
            "late": [None] * 5 + [True],
        }
        assert batch.where(2).endswith("line 3" if name == "x.jsonl" else "row 3")


def test_nan_of_python_in_json(tmp_path):
    (tmp_path / "x.jsonl").write_text(
        '{"a": NaN, "b": "NaN", "c": 1}\n{"a": 2.5, "b": "", "c": 2}\n'
    )
    (batch,) = rows_of(tmp_path / "x.jsonl")
    assert batch.table.to_pydict() == {"a": [None, 2.5], "b": ["NaN", ""], "c": [1, 2]}


def test_kinds_of_json_that_differ_between_pieces(tmp_path, monkeypatch):
    values = [1, -2, 0.5, None, "a", True, [1], [-0.5], ["u"], {"b": 1}, {"c": -1.5}]
    pairs = {f"{i} {j}": (a, b) for i, a in enumerate(values) for j, b in enumerate(values)}
    rows = [{name: pair[i // 2] for name, pair in pairs.items()} for i in range(4)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (want,) = rows_of(tmp_path / "x.jsonl")
    monkeypatch.setattr(relation, "ROWS_AT_ONCE", 2)
    found = pa.Table.from_batches([batch.table for batch in rows_of(tmp_path / "x.jsonl")])
    assert set(found.schema) == set(want.table.schema)
    assert found.to_pydict() == want.table.to_pydict()


def test_optional_fields_of_json(tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "ROWS_AT_ONCE", 1000)
    rows = [{"x": float(i), "y": 2.0 * i} | ({"z": 1.0} if i < 5 else {}) for i in range(5000)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    batches = rows_of(tmp_path / "x.jsonl")
    assert len(batches) > 3
    model = TableModel("y", task="regression", hidden=10).learn(batches)
    assert len(np.concatenate([model.answers(b).prediction for b in batches])) == 5000
    with pytest.raises(TableError, match="it has no column 'x'"):
        model.predict(
            Batch(pa.RecordBatch.from_pydict({"q": [1]}), "q", np.ones(1, int), 1.0, True)
        )


def test_a_reader_that_is_dropped_lets_the_interpreter_end(here):
    Path("long.csv").write_text(number_rows(20_000))
    code = """
from greville.tables import Reading, RowErrors, find_sources, read
batches = read(find_sources(["long.csv"] * 50), Reading(), RowErrors())
next(batches)
"""
    done = children.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_rows_with_objects_are_those_of_a_file_of_them(here):
    rows = [{"engine": {"power": i % 17, "size": {"cc": i % 5}}, "y": i % 17} for i in range(90)]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = TableModel("y", task="regression").learn(rows_of("t.jsonl")).settle()
    want = model.predict(rows_of("t.jsonl"))
    np.testing.assert_allclose([model.predict_one(row) for row in rows[:20]], want[:20], rtol=1e-6)
    lines = StreamLines().rows([json.dumps(row).encode() for row in rows[:2]])[0]
    assert lines[1] == rows[1] | {"engine.power": 1, "engine.size": {"cc": 1}, "engine.size.cc": 1}


def test_a_few_bytes_of_windows_that_happen_to_be_utf8(tmp_path):
    cities = ["Köln", "Spaß”", "Zürich", "„Ulm“"]  # ß” are two bytes that are one letter in UTF-8
    text = "stadt,y\n" + "".join(f"{cities[i % 4]},{i}\n" for i in range(40))
    (tmp_path / "x.csv").write_bytes(text.encode("cp1252"))
    (batch,) = rows_of(tmp_path / "x.csv")
    assert batch.table.column("stadt").to_pylist()[:4] == cities
