"""Series as they stand in files: steps, times, gaps, several in one table, seasons."""

import json
import os
import signal
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from greville.cli._app import app

from .. import children
from ..houses import table_of
from ..kernels import as_installed  # noqa: F401
from ..runner import refused, run
from ._outside import outside

pytestmark = pytest.mark.usefixtures("here", "as_installed")
full = pytest.mark.full


def wave(n, seed=0):
    return 10 + np.sin(np.arange(n) / 6) + 0.1 * np.random.default_rng(seed).normal(size=n)


def write_csv(name, **columns):
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    Path(name).write_text("\n".join(lines) + "\n")


def written(values):
    return [f"{value:.4f}" for value in values]


def forecast(name, *options, column="v"):
    small = ["--hidden", "20", "--alpha", "1", "--json"]
    out, said = run("forecast", name, "-c", column, *small, *options)
    return json.loads(out), said


@full
def test_the_newest_samples_count_for_every_step(here):
    v = wave(200)
    write_csv("v.csv", v=written(v))
    v[-7:] *= 3
    write_csv("w.csv", v=written(v))
    one, two = (forecast(name, "--horizon", "8")[0]["future"] for name in ("v.csv", "w.csv"))
    assert [row["step"] for row in one] == list(range(1, 9))
    for a, b in zip(one, two, strict=True):
        assert abs(a["prediction"] - b["prediction"]) > 1
        assert a["lower"] < a["prediction"] < a["upper"]
    rows = table_of("v-forecast.csv")
    assert rows["step"].to_pylist()[-9:] == [8, *range(1, 9)]
    assert rows["sample"].to_pylist()[-8:] == list(range(201, 209))
    assert rows["prediction"].to_pylist()[-8:] == [row["prediction"] for row in one]


def test_where_nothing_can_be_said_that_is_said(here):
    write_csv("v.csv", v=["NA"] * 50)
    assert "v.csv: there is no number in column 'v'" in refused("forecast", "v.csv", "-c", "v")
    write_csv("v.csv", v=["NA"] * 45 + ["1", "2", "1", "3", "2"])
    assert "v.csv: nothing can be predicted" in refused("forecast", "v.csv", "-c", "v")
    write_csv("v.csv", v=range(14))
    shown = run("forecast", "v.csv", "-c", "v")[0]
    assert "too short to measure the error" in shown
    assert "too few errors yet" in shown
    assert "nan" not in shown


@pytest.mark.full
@pytest.mark.parametrize(
    ("first", "step", "ahead"),
    [
        ("1949-01", 1, ["1974-01", "1974-02"]),
        pytest.param("2024-01-01", 1, ["2024-10-27", "2024-10-28"], marks=full),
        pytest.param(
            *("2024-01-01T00:00", np.timedelta64(30, "m")),
            ["2024-01-07T06:00", "2024-01-07T06:30"],
            marks=full,
        ),
        pytest.param(1700, 1, ["2000", "2001"], marks=full),
    ],
    ids=["months", "days", "half hours", "years as numbers"],
)
def test_times_to_come(here, first, step, ahead):
    start = np.datetime64(first) if isinstance(first, str) else first
    write_csv("v.csv", t=start + np.arange(300) * step, v=written(wave(300)))
    summary, said = forecast("v.csv", "--time", "t", "--horizon", "2")
    assert [str(row["time"]) for row in summary["future"]] == ahead
    rows = Path("v-forecast.csv").read_text().splitlines()
    assert [row.split(",")[2].replace(" ", "T")[: len(ahead[0])] for row in rows[-2:]] == ahead
    assert summary["notes"] == []
    assert said.count("\n") == 1


@full
def test_working_days_and_ends_of_months(here):
    days = np.datetime64("2024-01-01") + np.arange(100)
    days = days[np.is_busday(days)]
    write_csv("days.csv", t=days, v=written(wave(len(days))))
    ends = (np.datetime64("2020-01") + np.arange(1, 61)).astype("M8[D]") - 1
    write_csv("ends.csv", t=ends, v=written(wave(60)))
    options = ["--time", "t", "--horizon", "2"]
    future = forecast("days.csv", *options)[0]["future"]
    assert days[-1] == np.datetime64("2024-04-09")  # a Tuesday
    assert [row["time"] for row in future] == ["2024-04-10", "2024-04-11"]
    future = forecast("ends.csv", *options)[0]["future"]
    assert [row["time"] for row in future] == ["2025-01-31", "2025-02-28"]


@pytest.mark.parametrize(
    ("style", "ahead"), [("%d.%m.%Y", "01.01.2024"), ("%m/%Y", "01/2024"), ("%Y-%m-%d", None)]
)
def test_times_to_come_are_written_like_the_others(here, style, ahead):
    months = [date(2014 + k // 12, 1 + k % 12, 1).strftime(style) for k in range(120)]
    write_csv("v.csv", t=months, v=written(wave(120)))
    summary, _ = forecast("v.csv", "--time", "t")
    assert summary["future"][0]["time"] == (ahead or "2024-01-01")


def test_a_time_that_is_missing_is_named(here):
    days = (np.datetime64("2024-01-01") + np.arange(120)).astype(str)
    days[[6, 9]] = ""
    write_csv("v.csv", t=days, v=written(wave(120)))
    said = refused("forecast", "v.csv", "-c", "v", "--time", "t")
    assert "row 7 of the table has nothing in 't', which is no time like the others (2 such" in said


@pytest.mark.full
def test_rows_that_are_missing_in_time_are_gaps(here):
    days = np.datetime64("2024-01-01") + np.arange(200)
    kept = np.delete(np.arange(200), [50, 51, 120, 190])
    write_csv("v.csv", t=days[kept], v=written(wave(200)[kept]))
    summary, said = forecast("v.csv", "--time", "t")
    assert "4 rows are missing between the times in 't'" in said
    assert summary["future"][0]["time"] == str(days[-1] + 1)
    rows = table_of("v-forecast.csv")
    assert rows["sample"].to_pylist()[-1] == 201
    assert rows["target"].to_pylist()[190 - 10] is None
    assert str(rows["t"].to_pylist()[190 - 10]) == str(days[190])


@full
@pytest.mark.parametrize("named", [True, False])
def test_the_newest_row_first(here, named):
    days = np.datetime64("2024-01-01") + np.arange(150)
    write_csv("up.csv", t=days, v=written(wave(150)))
    write_csv("down.csv", t=days[::-1], v=written(wave(150)[::-1]))
    options = ["--time", "t"] if named else []
    (up, quiet), (down, said) = (forecast(f"{name}.csv", *options) for name in ("up", "down"))
    assert up["future"] == down["future"]
    assert "not in the order of 't': they were put in order" in said
    assert "order" not in quiet


def stocks(n=60, order="date"):
    days = np.datetime64("2024-01-01") + np.arange(n)
    names, level = ["AB", "CD", "EF"], [10, 300, 5000]
    rows = [(days[i], names[j], level[j] + wave(n, j)[i], i) for i in range(n) for j in range(3)]
    if order == "symbol":
        rows.sort(key=lambda row: row[1])
    return dict(zip(("date", "symbol", "v", "volume"), zip(*rows, strict=True), strict=True))


@full
@pytest.mark.parametrize("order", ["symbol", "date"])
@pytest.mark.parametrize("timed", [True, False])
def test_several_series_are_noticed_and_forecast(here, order, timed):
    columns = stocks(order=order)
    write_csv("stocks.csv", **columns)
    asked = refused("forecast", "stocks.csv", "-c", "v")
    assert "there seem to be 3 series, one for each 'symbol'" in asked
    assert "pass --by symbol" in asked
    options = ["--time", "date"] if timed else []
    summary, _ = forecast("stocks.csv", "--by", "symbol", "--horizon", "2", *options)
    assert [each["name"] for each in summary["series"]] == [["AB"], ["CD"], ["EF"]]
    for each, level in zip(summary["series"], [10, 300, 5000], strict=True):
        assert all(abs(row["prediction"] - level - 10) < 2.5 for row in each["future"])
        if timed:
            assert [row["time"] for row in each["future"]] == ["2024-03-01", "2024-03-02"]
    # Each is forecast from its own past only.
    pairs = zip(columns["v"], columns["symbol"], strict=True)
    write_csv("ab.csv", v=[value for value, name in pairs if name == "AB"])
    alone, _ = forecast("ab.csv", "--horizon", "2")
    numbers = [[row[k] for k in ("prediction", "lower", "upper")] for row in alone["future"]]
    found = summary["series"][0]["future"]
    assert [[row[k] for k in ("prediction", "lower", "upper")] for row in found] == numbers
    rows = table_of("stocks-forecast.csv")
    assert rows["symbol"].to_pylist().count("CD") == rows.num_rows / 3


def test_several_series_in_a_pipe(here):
    write_csv("stocks.csv", **stocks(20))
    done = outside("forecast", "-", "-c", "v", stdin=Path("stocks.csv").read_bytes())
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"pass --by symbol" in done.stderr


@full
def test_one_series_that_looks_like_several(here):
    columns = stocks()
    write_csv("stocks.csv", **columns)
    summary, _ = forecast("stocks.csv", "--by", "none")
    assert summary["n"] > 100
    days = np.datetime64("2024-01-01") + np.arange(140)
    names = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])[np.arange(140) % 7]
    write_csv("days.csv", day=names, v=written(wave(140)))
    forecast("days.csv")  # weekdays are not series
    write_csv("days.csv", date=days, shop=np.array(["a", "b"])[np.arange(140) % 2], v=wave(140))
    forecast("days.csv")  # every time is there once


@pytest.mark.full
def test_two_columns_tell_series_apart(here):
    days = np.datetime64("2024-01-01") + np.arange(40)
    rows = [(d, s, i, k) for k, d in enumerate(days) for s in "xy" for i in "pq"]
    day, shop, item, value = zip(*rows, strict=True)
    write_csv("sales.csv", day=day, shop=shop, item=item, v=value)
    assert "pass --by shop,item" in refused("forecast", "sales.csv", "-c", "v")
    summary, _ = forecast("sales.csv", "--by", "shop,item")
    assert [each["name"] for each in summary["series"]] == [[s, i] for s in "xy" for i in "pq"]


@full
def test_short_series_are_left_out_and_named(here):
    columns = stocks()
    keep = [s != "CD" or i < 15 for i, s in enumerate(columns["symbol"])]
    columns = {k: [v for v, kept in zip(c, keep, strict=True) if kept] for k, c in columns.items()}
    write_csv("stocks.csv", **columns)
    summary, said = forecast("stocks.csv", "--by", "symbol")
    assert [each["name"] for each in summary["series"]] == [["AB"], ["EF"]]
    assert "CD: 5 samples are too few" in said
    assert "It is left out." in said
    shown = run("forecast", "stocks.csv", "-c", "v", "--by", "symbol", "--hidden", "20")[0]
    assert "of 2 series" in shown


def test_the_same_times_without_names(here):
    days = np.datetime64("2024-01-01") + np.arange(60)
    write_csv("v.csv", t=np.repeat(days, 2), v=written(wave(120)))
    said = refused("forecast", "v.csv", "-c", "v", "--time", "t")
    assert "60 rows repeat a time in 't'" in said
    assert "--by none" in said


def test_the_verdict_is_said_in_plain_words(here):
    v = np.cumsum(np.random.default_rng(0).normal(size=400))
    write_csv("v.csv", v=v)
    shown = " ".join(run("forecast", "v.csv", "-c", "v")[0].split())
    assert "The mean absolute error is as large as that of persistence and" in shown
    assert "Repeating the last value is as good." in shown


@pytest.mark.full
@pytest.mark.posix("SIGTERM to itself")
def test_no_file_is_left_by_a_signal(here):
    write_csv("v.csv", v=written(wave(60)))
    before = set(os.listdir())

    def work():
        def synced(fd):
            assert len(os.listdir()) == len(before) + 1  # the new file, not yet in its place
            os.kill(os.getpid(), signal.SIGTERM)

        os.fsync = synced
        app(["forecast", "v.csv", "-c", "v", "-q"])

    assert children.exit_code(children.fork(work)) == 143
    assert set(os.listdir()) == before


def test_numbers_and_dates_as_people_write_them(here):
    values = [10 + 3 * np.sin(i / 3) for i in range(60)]
    days = [date(2020, 1, 1) + timedelta(days=i) for i in range(60)]
    order = np.random.default_rng(0).permutation(60)
    written = "".join(
        f"{days[i]:%d.%m.%Y};" + f"{values[i]:.2f}".replace(".", ",") + "\n" for i in order
    )
    (here / "eu.csv").write_text("day;load\n" + written)
    plain = "".join(f"{day},{value:.2f}\n" for day, value in zip(days, values, strict=True))
    (here / "iso.csv").write_text("day,load\n" + plain)
    more = ("--column", "load", "--time", "day", "--horizon", "3", "--json")
    out, _ = run("forecast", "eu.csv", *more)
    found, want = json.loads(out), json.loads(run("forecast", "iso.csv", *more)[0])
    for a, b in zip(found["future"], want["future"], strict=True):
        assert a["prediction"] == pytest.approx(b["prediction"], rel=1e-9)
    assert any("decimal comma" in note for note in found["notes"])
    assert any("put in order" in note for note in found["notes"])


def test_counts_beside_a_series_are_no_times(here):
    write_csv("v.csv", v=written(wave(60)), visitors=np.random.default_rng(0).integers(1, 50, 60))
    write_csv("w.csv", v=written(wave(60)))
    (both, said), (alone, _) = forecast("v.csv"), forecast("w.csv")
    assert both["future"] == alone["future"]
    assert "order" not in said


def test_an_empty_name_of_a_series_names_the_file():
    write_csv("n.csv", id=["a", "", *"a" * 58], v=written(wave(60)))
    said = refused("forecast", "n.csv", "-c", "v", "--by", "id")
    assert "n.csv, row 2: column 'id' is empty, so that no series is known" in said
