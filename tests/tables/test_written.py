"""Numbers and gaps as people write them: understood by the whole column, or said."""

import json
import shlex

import numpy as np
import pyarrow as pa
import pytest

import greville
from greville.tables import RowErrors, Stream, TableError, TableModel, look_at

from ..runner import refused, run

N = 300
NUMBERS = np.round(np.random.default_rng(0).uniform(-3000, 6000, N), 2)


def german(x):
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


# How a number is written, and how the number 1234.5 is, in the same way.
WRITINGS = {
    "decimal comma": lambda x: f"{x:.2f}".replace(".", ","),
    "1,234.50": lambda x: f"{x:,.2f}",
    "1.234,50": german,
    "1 234,50": lambda x: f"{x:,.2f}".replace(",", " ").replace(".", ","),
    "narrow space": lambda x: f"{x:,.2f}".replace(",", "\u202f"),
    "1'234.50": lambda x: f"{x:,.2f}".replace(",", "'"),
    "$1,234.50": lambda x: f"-${-x:,.2f}" if x < 0 else f"${x:,.2f}",
    "1.234,50 €": lambda x: f"{german(x)} €",
    "45 %": lambda x: f"{x:.2f} %",
    "(1.5)": lambda x: f"({-x:.2f})" if x < 0 else f"{x:.2f}",
    "12 kg": lambda x: f"{x:.2f} kg",
    "minus sign": lambda x: f"{x:.2f}".replace("-", "−"),
}


def table(column, **more):
    return pa.table({"x": column, "z": np.sin(np.arange(N)), "y": NUMBERS, **more})


def fitted(column, **settings):
    return TableModel("y", task="regression", hidden=50, **settings).learn(table(column)).settle()


def said(model, column="x"):
    return [f for f in model.findings if f.column == column]


@pytest.mark.parametrize("how", WRITINGS)
def test_numbers_are_read_as_they_are_written(how, tmp_path):
    write = WRITINGS[how]
    model = fitted([write(x) for x in NUMBERS])
    want = fitted(NUMBERS)
    greville.save(model, tmp_path / "m")
    new = pa.table({"x": [write(1234.5), write(-17.0)], "z": [0.0, 0.5]})
    plain = pa.table({"x": [1234.5, -17.0], "z": [0.0, 0.5]})
    for each in (model, greville.load(tmp_path / "m")):
        np.testing.assert_allclose(each.predict(new), want.predict(plain), rtol=1e-9)
        assert each.findings == model.findings
    if how != "minus sign":
        (finding,) = said(model)
        assert finding.kind == "written numbers"
        assert not finding.warning
        example = float(finding.message.removesuffix(".").rsplit(" ", 1)[1])
        assert example in NUMBERS
        assert repr(write(example).replace("\u202f", " ")) in finding.message


@pytest.mark.parametrize("how", WRITINGS)
def test_a_target_of_written_numbers_is_a_number(how):
    write = WRITINGS[how]
    rows = pa.table({"a": NUMBERS, "y": [write(x) for x in NUMBERS]})
    model = TableModel("y", hidden=50).learn(rows).settle()
    assert (model.task, model.target_kind) == ("regression", "number")
    np.testing.assert_allclose(model.predict(rows), NUMBERS, atol=30)


def test_later_rows_are_read_in_the_same_way_and_only_so():
    model = fitted([f"{x:,.2f}" for x in NUMBERS])
    for wrong in ("1,23", "1.234,50", "1,2345", "5 kg"):
        with pytest.raises(TableError, match="should be a number with a comma between thousands"):
            model.predict(pa.table({"x": [wrong], "z": [0.0]}))
    model = fitted([f"{abs(x):.2f} kg" for x in NUMBERS])
    with pytest.raises(TableError, match="with 'kg', got '5 g'"):
        model.predict(pa.table({"x": ["5 g"], "z": [0.0]}))


def test_what_can_be_read_in_two_ways_is_said():
    column = [f"{abs(x) + 1000:,.0f}" for x in NUMBERS]
    model = fitted(column)
    (finding,) = said(model)
    assert (finding.kind, finding.warning) == ("ambiguous numbers", True)
    assert "decimal=','" in finding.message
    assert model.schema.columns[0].median > 1000
    told = fitted(column, decimal=",")
    assert told.schema.columns[0].median < 10
    assert not any(f.warning for f in said(told))


@pytest.mark.parametrize(
    ("evidence", "median"),
    [("1,234,567", 2500), ("1,234.5", 2500), ("0,5", 2.5), ("1234567,5", 2.5), ("3,14", 2.5)],
)
def test_one_value_shows_how_the_others_are_meant(evidence, median):
    column = [f"{v:,}" for v in range(2500 - N // 2, 2500 + N // 2)]
    model = fitted([evidence, *column[1:]])
    assert model.schema.columns[0].median == pytest.approx(median, rel=0.01)
    assert not any(f.kind == "ambiguous numbers" for f in model.findings)


def test_other_columns_show_how_a_column_is_meant():
    points = [f"{x:.3f}" for x in np.linspace(1, 999, N)]
    assert fitted(points).schema.columns[0].median == 500
    rows = table(points, w=[f"{x:.2f}".replace(".", ",") for x in NUMBERS])
    model = TableModel("y", hidden=50).learn(rows).settle()
    assert model.schema.columns[0].median > 100_000
    assert said(model)[0].warning
    rows = table([f"{abs(x) + 1000:,.0f}" for x in NUMBERS], w=rows.column("w"))
    assert TableModel("y", hidden=50).learn(rows).settle().schema.columns[0].median < 10
    target = TableModel("x", hidden=50).learn(rows).settle()
    assert target.predict(rows).max() < 100


@pytest.mark.parametrize("gap", ["-", "--", ".", "missing", "unknown", "Unknown", "n/a", "—"])
def test_gaps(gap):
    model = fitted([gap if i % 7 == 0 else f"{x}" for i, x in enumerate(NUMBERS)])
    column = model.schema.columns[0]
    assert (column.kind, column.missing) == ("number", True)
    assert gap == "n/a" or repr(gap) in said(model)[0].message
    written = fitted([gap if i % 7 == 0 else german(x) for i, x in enumerate(NUMBERS)])
    assert written.schema.columns[0].median == column.median


@pytest.mark.parametrize("gap", [-999, -9999, 99999999, -1e20])
@pytest.mark.parametrize("as_text", [True, False])
def test_numbers_that_stand_for_a_gap(gap, as_text):
    column = np.where(np.arange(N) % 20 == 0, gap, NUMBERS / 100)
    model = fitted([f"{x:.10g}" for x in column] if as_text else column)
    found = model.schema.columns[0]
    assert found.missing
    assert found.numerals.gaps == (gap,)
    (finding,) = said(model)
    assert (finding.kind, finding.warning) == ("gaps", True)
    want = fitted([None if x == gap else x for x in column])
    new = pa.table({"x": [float(gap), 5.0], "z": [0.0, 0.0]})
    plain = pa.table({"x": [None, 5.0], "z": [0.0, 0.0]})
    np.testing.assert_allclose(model.predict(new), want.predict(plain))


@pytest.mark.parametrize(
    "column",
    [
        np.where(np.arange(N) % 20 == 0, 999, np.linspace(5, 499, N).round()),  # prices
        np.where(np.arange(N) % 20 == 0, 99, np.arange(N) % 90),  # ages
        np.where(np.arange(N) % 20 == 0, -1, np.arange(N) % 90),
        np.where(np.arange(N) % 2 == 0, 0.0, NUMBERS),
        np.exp(NUMBERS / 1000),
    ],
)
def test_numbers_that_are_meant_as_they_are(column):
    model = fitted(column)
    assert model.schema.columns[0].numerals.gaps == ()
    assert model.findings == ()


def test_other_values_can_stand_for_a_gap():
    column = ["see note" if i % 8 == 0 else f"{x}" for i, x in enumerate(NUMBERS)]
    model = fitted(column)
    assert model.schema.columns[0].kind == "text"
    (finding,) = said(model)
    assert (finding.kind, finding.warning) == ("odd values", True)
    assert "38 of 300 values are no numbers, such as 'see note'" in finding.message
    told = fitted(column, na=["see note"])
    assert told.schema.columns[0].kind == "number"
    assert np.isfinite(told.predict(pa.table({"x": ["see note"], "z": [0.0]}))).all()
    told = fitted(np.where(np.arange(N) % 2 == 0, -5.0, NUMBERS), na=["-5"])
    assert told.schema.columns[0].missing


@pytest.mark.parametrize("odd", ["inf", "1e300", "n.n."])
def test_a_target_that_is_nearly_a_number_is_no_label(odd):
    column = [odd if i % 8 == 0 else f"{x}" for i, x in enumerate(NUMBERS)]
    rows = pa.table({"x": NUMBERS, "y": [*column[:150], *column[:150]]})
    with pytest.raises(TableError, match="of which 38 are no numbers, .* task='classification'"):
        TableModel("y").learn(rows).settle()
    told = TableModel("y", task="classification", hidden=20).learn(rows).settle()
    assert told.task == "classification"


def test_a_target_that_is_hardly_a_number_is_shown_by_what_is_none():
    rows = pa.table(
        {"x": NUMBERS, "y": [f"{x}" if i % 2 == 0 else f"{i}.04#!" for i, x in enumerate(NUMBERS)]}
    )
    with pytest.raises(TableError, match="of which 150 are no numbers, such as '1.04#!', '3.04#!'"):
        TableModel("y").learn(rows).settle()


def test_a_target_with_leading_zeros():
    rows = pa.table({"x": NUMBERS, "y": [f"{i % 100:05d}" for i in range(N)]})
    model = TableModel("y", hidden=20).learn(rows).settle()
    assert model.task == "regression"
    (finding,) = said(model, "y")
    assert (finding.kind, finding.warning) == ("leading zeros", True)
    assert "'00000', '00001'" in finding.message
    assert "task='classification'" in finding.message
    model = TableModel("y", hidden=20, task="classification").learn(rows).settle()
    assert model.target_kind == "text"
    assert said(model, "y") == []


def test_a_target_with_numbers_far_from_the_others():
    y = NUMBERS.copy()
    y[[3, 70]] = 1e9, 3e9
    (finding,) = said(
        TableModel("y", hidden=20).learn(pa.table({"x": NUMBERS, "y": y})).settle(), "y"
    )
    assert (finding.kind, finding.warning) == ("extremes", True)
    assert (
        "has 2 numbers very far from the others, such as 1000000000, 3000000000" in finding.message
    )


def test_numbers_that_are_too_large_are_said():
    (finding,) = said(fitted(["1e300" if i % 8 == 0 else f"{x}" for i, x in enumerate(NUMBERS)]))
    assert (finding.kind, finding.warning) == ("odd values", True)
    (finding,) = said(fitted(["inf" if i % 8 == 0 else f"{x}" for i, x in enumerate(NUMBERS)]))
    assert "'inf'" in finding.message


@pytest.mark.parametrize("units", [("{} g", "{} kg"), ("{}", "{}%"), ("${} each",)])
def test_several_units_are_said(units):
    model = fitted([units[i % len(units)].format(abs(int(x))) for i, x in enumerate(NUMBERS)])
    assert any(f.kind == "digits" and f.warning for f in model.findings)


def test_points_that_may_be_between_thousands_are_said():
    column = [f"{v:,}".replace(",", ".") for v in range(900, 900 + N)]
    model = fitted(column)
    (finding,) = said(model)
    assert (finding.kind, finding.warning) == ("ambiguous numbers", True)
    assert "thousands='.'" in finding.message
    told = fitted(column, thousands=".")
    assert told.schema.columns[0].median == 900 + (N - 1) / 2


POINTS = {
    "up to 9.999": [f"{v:.3f}" for v in np.linspace(1, 9.999, N)],
    "up to 99.999": ["56.800", "66.922", "926"] * 100,
    "several orders": [f"{int(10**k):,}".replace(",", ".") for k in np.linspace(0, 5.9, N)],
    "one point": ["1.250"] + [str(v % 1000) for v in range(N - 1)],
    "unit": [f"{v:.3f} kg" for v in np.linspace(1, 9.999, N)],
}


@pytest.mark.parametrize("how", POINTS)
def test_three_digits_after_every_point_are_said(how):
    found = [f for f in said(fitted(POINTS[how])) if f.kind != "extremes"]
    assert (found[0].kind, found[0].warning) == ("ambiguous numbers", True)
    assert "thousands='.'" in found[0].message
    assert "decimal='.'" in found[0].message
    for told in (fitted(POINTS[how], decimal="."), fitted(POINTS[how], thousands=".")):
        assert not any(f.kind == "ambiguous numbers" for f in told.findings)


@pytest.mark.parametrize("evidence", ["0.123", "12.5", "1234.567", "1.2345"])
def test_one_value_shows_a_decimal_point(evidence):
    model = fitted([evidence, *POINTS["up to 9.999"][1:]])
    assert {f.kind for f in said(model)} <= {"extremes"}


def test_two_points_in_a_number_are_between_thousands():
    model = fitted([f"{v:,}".replace(",", ".") for v in range(999_900, 999_900 + N)])
    assert model.schema.columns[0].median == 999_900 + (N - 1) / 2
    assert said(model)[0].kind == "written numbers"


def test_lakhs():
    model = fitted(
        [
            f"{v // 100_000},{v // 1000 % 100:02d},{v % 1000:03d}"
            for v in range(500_000, 500_000 + N)
        ]
    )
    assert model.schema.columns[0].median == 500_000 + (N - 1) / 2


def test_a_few_slips_are_wrong_rows_still():
    column = [f"{x:.2f}".replace(".", ",") for x in NUMBERS]
    column[40] = "forty"
    model, row_errors = TableModel("y").learn(table(column)), RowErrors(skip=True)
    model.settle(row_errors)
    assert (model.n_rows, row_errors.count) == (N - 1, 1)


def test_texts_that_only_look_like_numbers_stay_text():
    rng = np.random.default_rng(0)
    for column in (
        [f"{v}A" if v % 2 else f"{v}B" for v in rng.integers(1, 9, N)],
        [f"Q{v}" for v in rng.integers(1, 5, N)],
        [f"1.{a}.{b}" for a, b in rng.integers(0, 4, (N, 2))],
        [f"{v}:{v}" for v in rng.integers(60, 70, N)],
    ):
        model = fitted(column)
        assert model.schema.columns[0].kind == "text"
        assert model.findings == ()


# The commands


def test_train_and_predict_with_semicolons_and_commas(here):
    lines = [f"{german(x)};{german(2 * x)};{'a' if x > 0 else 'b'}" for x in NUMBERS]
    (here / "de.csv").write_text("x;y;kind\n" + "\n".join(lines) + "\n")
    out = json.loads(run("train", "de.csv", "--target", "y", "--json", "-q")[0])
    assert (out["task"], out["columns"][0]["kind"]) == ("regression", "number")
    run("predict", "model.greville", "de.csv", "-o", "out.csv", "-q")
    header, *written = (here / "out.csv").read_text().splitlines()  # as they were read
    assert header == "x;y;kind;prediction"
    assert [line.rpartition(";")[0] for line in written] == lines
    found = [float(line.rpartition(";")[2].replace(",", ".")) for line in written]
    np.testing.assert_allclose(found, 2 * NUMBERS, atol=20)
    run("train", "de.csv", "--like", "model.greville", "-o", "two.greville", "-q")
    run("merge", "model.greville", "two.greville", "-o", "both.greville", "-q")
    assert greville.load("both.greville").n_rows == 2 * N
    said = refused("train", "de.csv", "--like", "model.greville", "--decimal", ",", "-q")
    assert said == "--decimal: model.greville has its own setting; leave this option out."


def test_options(here):
    lines = [f"{abs(x) + 1000:,.0f};{'?!' if i % 5 == 0 else x};{x}" for i, x in enumerate(NUMBERS)]
    (here / "x.csv").write_text("a;b;y\n" + "\n".join(lines) + "\n")
    options = ("--decimal", ",", "--na", "?!", "--na", "none at all")
    run("train", "x.csv", "--target", "y", "-q", *options)
    a, b = greville.load("model.greville").schema.columns
    assert (a.numerals.decimal, b.kind, b.missing) == (",", "number", True)
    for option, value in (("--decimal", ";"), ("--thousands", "x"), ("--date-format", "%Q")):
        said = refused("train", "x.csv", "--target", "y", "-q", option, value)
        assert said.startswith(f"{option} {shlex.quote(value)}: ")


def test_a_stream_reads_them_too():
    rows = [{"x": german(x), "y": german(2 * x)} for x in NUMBERS]
    stream = Stream(TableModel("y", task="numbers", hidden="inputs"))
    answers = stream.answer(rows, 1, RowErrors())
    last = np.array([answer["prediction"] for answer in answers[-50:]])
    np.testing.assert_allclose(last, 2 * NUMBERS[-50:], atol=100)
    assert [f.kind for f in stream.settled().findings] == ["written numbers"] * 2


@pytest.mark.full
def test_cuts_files_and_merges_change_nothing(few_first, tmp_path):
    rng = np.random.default_rng(1)
    far = rng.normal(size=N)
    far[5] = 1e12
    days = zip(rng.integers(1, 29, N), rng.integers(1, 13, N), strict=True)
    rows = pa.table(
        {
            "": np.arange(N),
            "number": [german(x) for x in NUMBERS],
            "date": [f"{day:02d}/{month:02d}/2020" for day, month in days],
            "gaps": ["unknown" if i % 9 == 0 else f"{x}" for i, x in enumerate(NUMBERS)],
            "sentinel": np.where(np.arange(N) % 15 == 0, -999, rng.normal(size=N)),
            "far": far,
            "code": [f"{k:05d}" for k in rng.integers(0, 30, N)],
            "text": [" ".join(rng.choice(list("abcdefgh"), 6)) + f" {i}" for i in range(N)],
            "y": [german(x) for x in 2 * NUMBERS],
        }
    )
    new = TableModel("y", hidden=40, epsilon=1.0, na=["none such"])
    want = new.twin().learn(rows).settle()
    assert {f.kind for f in want.findings} == {
        *("written numbers", "pandas index", "dates", "gaps", "extremes", "code", "free text"),
        "unused option",
    }
    model, recorded, start = new.twin(), new.twin(), 0
    for stop in (1, 2, 40, 63, 64, 100, 250, N):
        model.learn(rows.slice(start, stop - start))
        recorded.record(rows.slice(start, stop - start))
        greville.save(model, tmp_path / "m")
        model, start = greville.load(tmp_path / "m"), stop
    parts = [want.forgotten().learn(rows.slice(*part)) for part in ((0, 111), (111,))]
    for other in (model, recorded, parts[0].merge(parts[1])):
        assert other.settle().schema.columns == want.schema.columns
        assert other.findings == want.findings
        np.testing.assert_allclose(other.predict(rows), want.predict(rows), rtol=1e-7)


def test_points_of_other_columns_settle_what_three_decimals_mean():
    values = np.random.default_rng(0).uniform(1, 900, size=50)
    three = pa.array([f"{x:.3f}" for x in values])
    alone = look_at(pa.table({"a": three}).to_batches())
    assert [finding.kind for finding in alone.findings if finding.warning] == ["ambiguous numbers"]
    other = pa.array([f"{x / 7:.2f}" for x in values])
    both = look_at(pa.table({"a": three, "b": other}).to_batches())
    assert not [finding for finding in both.findings if finding.warning]
    assert float(both.columns[0].most) < 1000
