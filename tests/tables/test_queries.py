"""Queries of SQL as tables, and conditions on rows."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

import duckdb
import numpy as np
import pytest

import greville
from greville.tables import Hints, Reading, TableError, TableRegressor, find_sources

from ..houses import houses, number_rows, rows_of, shown_numbers, write
from ..runner import refused, run

JOINED = "SELECT a, b, y + extra AS y FROM 'left.csv' JOIN 'right.parquet' USING (id) ORDER BY id"


@pytest.fixture
def two_tables(here):
    """A table of which the numbers are in one file, and what belongs to its target in another."""
    rows = number_rows(200).splitlines()
    text = "".join(f"{i},{row}\n" for i, row in enumerate(rows[1:]))
    Path("left.csv").write_text(f"id,{rows[0]}\n{text}")
    duckdb.sql("SELECT range AS id, 10.0 * range AS extra FROM range(200)").write_parquet(
        "right.parquet"
    )
    return np.array([[float(v) for v in row.split(",")] for row in rows[1:]])


@pytest.mark.parametrize("how", ["argument", "file"])
def test_a_query_is_a_table(two_tables, how):
    Path("joined.sql").write_text(JOINED + ";\n")
    data = JOINED if how == "argument" else "joined.sql"
    (batch,) = rows_of(data)
    assert batch.table.schema.names == ["a", "b", "y"]
    want = two_tables[:, 2] + 10.0 * np.arange(200)
    np.testing.assert_allclose(batch.table.column("y"), want)
    assert shown_numbers(batch)[:2] == [1, 2]
    run("train", data, "--target", "y", "--test", "0.2", "-q")
    run("predict", "model.greville", "SELECT 0.5 AS a, 1.5 AS b", "-o", "out.csv", "-q")
    assert greville.load("model.greville").schema.names == ["a", "b"]
    assert len(Path("out.csv").read_text().splitlines()) == 2


def test_a_relation_is_a_frame(two_tables):
    relation = duckdb.sql(JOINED)
    fitted = TableRegressor(hidden=20).fit(relation.project("a, b"), relation.fetchnumpy()["y"])
    want = TableRegressor(hidden=20).fit(relation.project("a, b").df(), relation.fetchnumpy()["y"])
    frame = relation.project("a, b").df()
    np.testing.assert_array_equal(fitted.predict(frame), want.predict(frame))


def test_queries_that_cannot_be_answered(two_tables):
    for query, message in {
        "SELECT nothing FROM 'left.csv'": 'Referenced column "nothing" not found',
        "SELECT * FROM 'nothing.csv'": "No files found that match the pattern",
        "SELECT * FROM": "syntax error",
        "SELECT * FROM 'left.csv' WHERE false": "it has no rows; there is nothing to read",
    }.items():
        said = refused("train", query, "--target", "y")
        assert said.startswith(query[:37])
        assert message in said
    assert len(find_sources(["left.csv"])) == 1
    with pytest.raises(TableError, match="there is no such file"):
        find_sources(["select.csv"])


@pytest.mark.parametrize("name", ["houses.csv", "houses.jsonl", "houses.parquet"])
def test_conditions_on_rows(here, name):
    table = houses(100)
    path = write(table, name)
    rows = rows_of(path, Reading(where="rooms > 3 AND city = 'Ulm' OR area < 40.5"))
    numbers = [number - (name == "houses.csv") for batch in rows for number in shown_numbers(batch)]
    want = [
        i
        for i, row in enumerate(table.to_pylist(), 1)
        if (row["rooms"] > 3 and row["city"] == "Ulm") or (row["area"] or 99) < 40.5
    ]
    assert numbers == want
    run("train", path, "-t", "price", "--features", "area", "--where", "rooms > 3", "-q")
    known = sum(row["rooms"] > 3 for row in table.to_pylist())
    assert greville.load("model.greville").n_rows == known


def test_conditions_that_are_wrong(here):
    write(houses(20))
    for where, message in {
        "windows > 3": "--where 'windows > 3': Referenced column \"windows\" not found",
        "rooms > 300": "--where 'rooms > 300': no row of houses.csv is like that",
        "rooms >": "syntax error",
    }.items():
        assert message in refused("train", "houses.csv", "-t", "price", "--where", where)


@pytest.mark.parametrize("where", [None, "a > 0", "a IS NOT NULL"])
def test_conditions_on_a_column_with_a_late_value_that_is_no_number(here, where):
    n, bad = 200_000, 150_000
    a = np.random.default_rng(0).normal(size=n).round(3)
    lines = [f"{value},{i % 7},{i}\n" for i, value in enumerate(a)]
    lines[bad] = "abc,1,1\n"
    Path("late.csv").write_text("a,b,y\n" + "".join(lines))
    command = ["train", "late.csv", "-t", "y", "--hidden", "5"]
    for options in [[], ["--features", "b"]] if where else [[]]:
        condition = ["--where", where] if where else []
        want = f"late.csv, line {bad + 2:,}: column 'a' should be a number, got 'abc'; fix it"
        assert refused(*command, *options, *condition).startswith(want)
        _, err = run(*command, *options, *condition, "--on-error", "skip")
        assert f"line {bad + 2:,}: column 'a' should be a number, got 'abc'" in err
        others = np.delete(a, bad)
        known = (others > 0).sum() if where == "a > 0" else n - 1
        assert greville.load("model.greville").n_rows == known


def test_conditions_compare_numbers_as_the_model_reads_them(here):
    prices = ["1.234,50 €", "-3 €", "", "7,5 €"] * 10
    lines = [f"{price};{i}\n" for i, price in enumerate(prices)]
    Path("prices.csv").write_text("price;y\n" + "".join(["-;90\n"] * 9 + lines))
    (batch,) = rows_of("prices.csv", Reading(where="price > 7"))
    assert batch.table.column("price").to_pylist() == ["1.234,50 €", "7,5 €"] * 10


@pytest.mark.parametrize(
    ("where", "hints", "lines"),
    [
        ("price > 1.5", {"decimal": "."}, [2, 3, 4, 5]),
        ("price > 1.5", {"decimal": ","}, [3]),
        ("code = '007'", {"text": ["code"]}, [2]),
        ("number > 1", {"na": ["none yet"]}, [3, 4]),
    ],
)
def test_conditions_know_how_columns_are_written(here, where, hints, lines):
    rows = ["1,234;007;1", "2,500;7;2", "1,250;8;3", "1,125;9;none yet"]
    Path("t.csv").write_text("price;code;number\n" + "\n".join(rows) + "\n")
    (batch,) = rows_of("t.csv", Reading(where=where, hints=Hints(**hints)))
    assert shown_numbers(batch) == lines
    options = [text for name, value in hints.items() for text in (f"--{name}", "".join(value))]
    said = json.loads(run("check", "t.csv", "--where", where, *options, "--json")[0])
    assert said["rows"] == len(lines)


def test_conditions_are_about_one_row(here):
    write(houses(20))
    for where in ("max(rooms) > 3", "rooms > avg(rooms) OVER ()"):
        said = refused("train", "houses.csv", "-t", "price", "--where", where)
        assert "WHERE clause cannot contain" in said


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one's own process")
def test_an_interrupt_of_a_query_is_one():
    """DuckDB makes an error of its own of it."""
    endless = "SELECT sum(a.range * b.range) AS s FROM range(10000000) a, range(10000000) b"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            rows_of(endless)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
