"""Dates and times in other formats than ISO 8601."""

import locale
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import greville
from greville.tables import TableError, TableModel
from greville.tables.dates import reader

from ..runner import run

N = 200
RNG = np.random.default_rng(0)
TIMES = [
    datetime(2019, 6, 1, tzinfo=UTC) + timedelta(minutes=int(m))
    for m in RNG.integers(0, 1_000_000, N)
]
DAYS = [t.replace(hour=0, minute=0) for t in TIMES]
EARLY = [t.replace(day=t.day % 12 + 1) for t in DAYS]


def fitted(column, name="when", **settings):
    rows = pa.table({name: column, "z": np.sin(np.arange(N)), "y": np.arange(N) % 7 + 0.5})
    return TableModel("y", hidden=50, **settings).learn(rows).settle()


@pytest.mark.parametrize(
    ("format", "times"),
    [
        ("%d/%m/%Y", DAYS),
        ("%m/%d/%Y", DAYS),
        ("%Y/%m/%d", DAYS),
        ("%d.%m.%Y", DAYS),
        ("%d-%m-%Y", DAYS),
        ("%d/%m/%y", DAYS),
        ("%b %d %Y", DAYS),
        ("%B %d, %Y", DAYS),
        ("%d-%b-%Y", DAYS),
        ("%Y%m%d", DAYS),
        ("%a, %d %b %Y", DAYS),
        ("%d.%m.%Y %H:%M", TIMES),
        ("%m/%d/%Y %I:%M:%S %p", TIMES),
        ("%Y/%m/%d %H:%M:%S.%f", TIMES),
    ],
)
def test_dates_are_read_as_they_are_written(format, times, tmp_path):
    model = fitted([t.strftime(format) for t in times])
    want = fitted([t.strftime("%Y-%m-%d %H:%M:%S") for t in times])
    (finding,) = model.findings
    assert finding.kind == "dates"
    assert times[0].strftime("%Y-%m-%d") in finding.message
    greville.save(model, tmp_path / "m")
    again = greville.load(tmp_path / "m")
    new = datetime(2021, 2, 5, tzinfo=UTC)
    got = again.predict(pa.table({"when": [new.strftime(format)], "z": [0.0]}))
    plain = pa.table({"when": [new.strftime("%Y-%m-%d %H:%M:%S")], "z": [0.0]})
    np.testing.assert_allclose(got, want.predict(plain))
    with pytest.raises(TableError, match="column 'when' should be a date or time written as"):
        again.predict(pa.table({"when": ["tomorrow"], "z": [0.0]}))


def test_whole_numbers_that_are_dates():
    model = fitted([int(t.strftime("%Y%m%d")) for t in DAYS])
    want = fitted([t.strftime("%Y-%m-%d") for t in DAYS])
    new = pa.table({"when": [20210205], "z": [0.0]})
    plain = pa.table({"when": ["2021-02-05"], "z": [0.0]})
    np.testing.assert_allclose(model.predict(new), want.predict(plain))
    other = fitted(RNG.integers(19_000_101, 21_001_231, N))
    assert other.schema.columns[0].kind == "number"


@pytest.mark.parametrize("format", ["%H:%M", "%H:%M:%S", "%I:%M %p"])
def test_times_of_day(format):
    model = fitted([t.strftime(format) for t in TIMES])
    names = ["when: days", "when: time of day, sin", "when: time of day, cos"]
    assert model.schema.inputs[:3] == names
    assert "times of day" in model.findings[0].message


@pytest.mark.parametrize(("unit", "factor"), [("seconds", 1), ("milliseconds", 1000)])
def test_seconds_since_1970(unit, factor):
    column = [int(t.timestamp() * factor) for t in TIMES]
    want = fitted([t.strftime("%Y-%m-%d %H:%M:%S") for t in TIMES])
    named = fitted(column, name="created_at")
    asked = fitted(column, name="k", date_format=unit)
    for model in (named, asked):
        assert model.schema.columns[0].format == unit
        assert model.schema.columns[0].origin == want.schema.columns[0].origin
    unsure = fitted(column, name="k")
    assert unsure.schema.columns[0].kind == "number"
    assert fitted(RNG.normal(size=N), name="time").schema.columns[0].kind == "number"


@pytest.mark.parametrize("mark", ["/", "-"])
def test_dates_that_can_be_read_in_two_ways_are_said(mark):
    formats = [f"%d{mark}%m{mark}%Y", f"%m{mark}%d{mark}%Y"]
    column = [t.strftime(formats[0]) for t in EARLY]
    (finding,) = fitted(column).findings
    assert (finding.kind, finding.warning) == ("ambiguous dates", True)
    assert all(format in finding.message for format in formats)
    origins = {fitted(column, date_format=format).schema.columns[0].origin for format in formats}
    assert len(origins) == 2


@pytest.mark.parametrize("format", ["%Y-%m", "%b %Y", "%m/%Y"])
def test_months_begin_with_their_first_day(format):
    model = fitted([t.strftime(format) for t in DAYS])
    want = fitted([t.strftime("%Y-%m-01") for t in DAYS])
    assert model.schema.columns[0].origin == want.schema.columns[0].origin


@pytest.mark.parametrize("format", ["%Y-%m-%d", "%d.%m.%Y", "%b %d %Y"])
@pytest.mark.parametrize("odd", ["0000-00-00", "n.d."])
def test_values_that_are_no_dates_are_said(format, odd):
    column = [odd if i % 5 == 0 else t.strftime(format) for i, t in enumerate(DAYS)]
    model = fitted(column)
    finding = next(f for f in model.findings if f.kind == "odd values")
    assert finding.warning
    assert f"40 of 200 values are no dates, such as {odd!r}; pass na" in finding.message
    assert fitted(column, na=[odd]).schema.columns[0].kind == "time"


@pytest.mark.parametrize("format", ["%Y-%m-%d", "%d/%m/%Y"])
def test_a_date_far_from_the_others_is_said(format):
    far = [datetime(9999, 12, 31, tzinfo=UTC), datetime(1900, 1, 1, tzinfo=UTC)]
    times = [far[i % 2] if i % 20 < 2 else t for i, t in enumerate(DAYS)]
    found = [f for f in fitted([t.strftime(format) for t in times]).findings if f.warning]
    assert [f.kind for f in found] == ["far dates", "far dates"]
    for finding, day in zip(found, reversed(far), strict=True):
        text = day.strftime(format)
        assert f"{text!r} is far from all other dates and comes 10 times" in finding.message
        assert f"pass na=[{text!r}] " in finding.message
    told = fitted([t.strftime(format) for t in times], na=[t.strftime(format) for t in far])
    assert not any(f.warning for f in told.findings)


def test_a_timestamp_far_from_the_others_is_said():
    times = [
        datetime(1900, 1, 1) if i % 20 == 0 else t.replace(tzinfo=None) for i, t in enumerate(DAYS)
    ]
    (finding,) = fitted(pa.array(times)).findings
    assert (finding.kind, finding.warning) == ("far dates", True)
    assert "pass na" not in finding.message


@pytest.mark.parametrize("format", ["%Y-%m-%d", "%d/%m/%Y %H:%M", "%H:%M:%S"])
def test_a_target_of_dates_is_said(format):
    times = TIMES if "%H" in format else [TIMES[0] + timedelta(days=i) for i in range(N)]
    rows = pa.table({"x": np.sin(np.arange(N)), "y": [t.strftime(format) for t in times]})
    for task in ("auto", "regression"):
        with pytest.raises(TableError, match="is a date or time, .* days since .*classification"):
            TableModel("y", task=task).learn(rows).settle()


def test_there_is_no_31_june():
    day, clock = reader("%d/%m/%Y"), reader("%I:%M %p")
    texts = ["30/06/2020", "31/06/2020", "29/02/2020", "29/02/2021", "1/1/2020"]
    assert [day(text) is None for text in texts] == [False, True, False, True, False]
    assert day("30/06/2020") == (date(2020, 6, 30) - date(1970, 1, 1)).days
    assert [clock(text) for text in ("12:00 AM", "12:30 pm", "13:00 PM")] == [0, 12.5 / 24, None]


def test_names_of_months_do_not_depend_on_the_locale():
    before = locale.setlocale(locale.LC_TIME)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
            try:
                locale.setlocale(locale.LC_TIME, name)
            except locale.Error:
                continue
            assert reader("%b %d %Y")("Dec 31 2020") == reader("%b %d %Y")("december 31 2020")
            assert reader("%b %d %Y")("Dec 31 2020") == 18627
    finally:
        locale.setlocale(locale.LC_TIME, before)


def test_the_command_takes_a_format(here):
    lines = [f"{t.strftime('%d/%m/%Y')},{i % 7}.5" for i, t in enumerate(EARLY)]
    (here / "x.csv").write_text("when,y\n" + "\n".join(lines) + "\n")
    run("train", "x.csv", "--target", "y", "-q", "--date-format", "%d/%m/%Y")
    column = greville.load("model.greville").schema.columns[0]
    assert (column.kind, column.format) == ("time", "%d/%m/%Y")
