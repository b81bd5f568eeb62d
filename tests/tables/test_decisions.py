"""What columns are: every rule by its examples, and other people's tables from outside."""

import json
import re
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import greville
from greville import TableClassifier, TableRegressor
from greville.tables import RowErrors, Stream, TableError, TableModel, dates, look_at
from greville.tables._values import Values
from greville.tables.decisions import RULES, Evidence, decide
from greville.tables.numerals import FORMS, LIMIT, MARKS, Numerals

from ..runner import run

N = 300
RNG = np.random.default_rng(0)
X = RNG.uniform(20, 90, N)
DAYS = [date(2018, 1, 1) + timedelta(days=int(i)) for i in RNG.permutation(3 * N)[:N]]


def decided(texts, name="x"):
    return decide(Evidence(name, Values(pa.array(texts))))


def learned(column, y=X, **settings):
    """A regression on one column, and how much of the target it explains."""
    table = pa.table({"x": column, "y": y})
    model = TableModel("y", task="regression", hidden=60, **settings).learn(table).settle()
    return model, 1 - np.mean((model.predict(table) - y) ** 2) / np.var(y)


def said(model, kind):
    return [finding for finding in model.findings if finding.kind == kind]


# The rules


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.what)
def test_every_rule_decides_its_examples(rule):
    assert decided(rule.examples * 3).kind == rule.kind


@pytest.mark.parametrize("mark", [*MARKS, LIMIT], ids=lambda mark: mark.name)
def test_every_mark_is_read_as_its_example_says(mark):
    assert Numerals(form="marked").number(mark.example) == pytest.approx(mark.number)
    reading = [each for each in (*MARKS, LIMIT) if re.search(each.pattern, mark.example)]
    assert reading == [mark]


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.name)
def test_every_form_is_read_as_its_example_says(form):
    assert form.number(form.example) == pytest.approx(form.value)
    assert form.number("nothing") is None


@pytest.mark.parametrize(
    ("format", "example"), [*dates.DATES.items(), *dates.MONTHLY.items(), *dates.CLOCKS.items()]
)
def test_every_format_of_dates_reads_its_example(format, example):
    days = dates.reader(format)(example)
    if dates.has_date(format):
        day = np.datetime64(int(days), "D").astype(date)
        assert (day.year, day.month) == (2020, 12)
        assert day.day in (1, 31)
    else:
        assert days == pytest.approx(18.5 / 24, abs=1e-4)


# Numbers that are written in other ways

NUMBERS = {
    "durations": (lambda x: f"{int(x) // 60}h {int(x) % 60}m" if x >= 60 else f"{int(x)}m"),
    "minutes and seconds": (lambda x: f"{int(2 * x)}:{int(x) % 60:02}"),
    "minus behind": (lambda x: f"{x - 50:.1f}" if x >= 50 else f"{50 - x:.1f}-"),
    "square feet": (lambda x: f"{int(x * 20):,} sq ft"),
    "feet and inches": (lambda x: f"{int(x) // 12}'{int(x) % 12}\""),
    "powers of ten": (lambda x: f"{x / 10:.2f}×10^3"),
    "D": (lambda x: f"{x:.4E}".replace("E", "D")),
    "formula": (lambda x: f'="{x:.2f}"'),
    "about": (lambda x: f"~{x:.1f}"),
    "uncertain": (lambda x: f"{x:.1f}±0.5"),
    "k": (lambda x: f"{x / 10:.1f}k" if x > 30 else f"{x * 100:.0f}"),
    "lakh": (lambda x: f"{x / 10:.1f} lakh"),
    "several units of money": (lambda x: f"${x / 10:.2f}M"),
    "pairs": (lambda x: f"{int(2 * x)}/{int(x)}"),
    "places": (lambda x: f"{x:.3f},13.4"),
}


@pytest.mark.parametrize("how", NUMBERS)
def test_numbers_are_read_in_every_way_that_admits_one_reading(how):
    model, r2 = learned([NUMBERS[how](x) for x in X])
    assert model.schema.columns[0].kind in ("number", "vector")
    assert r2 > 0.99
    assert not any(finding.warning for finding in model.findings)
    assert [finding.column for finding in model.findings] == ["x"]


DATES = {
    "short": lambda d: f"{d:%y-%m-%d}",
    "day of the year": lambda d: f"{d:%Y-%j}",
    "words": lambda d: f"{d.day}. {['Januar', 'Mai', 'März'][d.month % 3]} {d.year}",
    "RFC": lambda d: f"Tue, {d:%d} Mar {d.year} 10:00:00 +0200",
    "two formats": lambda d: f"{d:%d.%m.%Y}" if d.day % 2 else f"{d}",
}


@pytest.mark.parametrize("how", DATES)
def test_dates_are_read_in_every_way_that_admits_one_reading(how):
    model, _ = learned([DATES[how](day) for day in DAYS])
    column = model.schema.columns[0]
    assert column.kind == "time"
    assert date(2018, 1, 1) <= date(1970, 1, 1) + timedelta(column.origin) < date(2021, 1, 1)
    assert [finding.kind for finding in model.findings] == ["dates"]


def test_short_dates_without_evidence_are_said():
    table = [f"{a:02}-{b:02}-{c:02}" for a, b, c in RNG.integers(1, 12, (N, 3))]
    (finding,) = (f for f in look_at(pa.table({"x": table}).to_batches()).findings if f.warning)
    assert finding.kind == "ambiguous dates"
    assert "date_format='%y-%m-%d' or date_format='%d-%m-%y'" in finding.message


def test_the_order_of_rows_shows_the_order_of_day_and_month():
    days = [date(2020, month, day) for month in (2, 3, 4) for day in range(3, 13)]
    column = [f"{d.day:02}/{d.month:02}/2020" for d in sorted(days * 5)]
    (finding,) = look_at(pa.table({"d": column}).to_batches()).findings
    assert (finding.kind, "%d/%m/%Y" in finding.message) == ("dates", True)


def test_a_limit_is_not_missing():
    column = ["<30" if x < 30 else f"{x:.1f}" for x in X]
    model, r2 = learned(column)
    (finding,) = model.findings
    assert (finding.kind, finding.warning) == ("limits", True)
    n = int((X < 30).sum())
    assert f"{n} of 300 values are limits, not measured, such as '<30'" in finding.message
    assert "na=" not in finding.message
    assert r2 > 0.95


@pytest.mark.parametrize("shape", ["{}~{}", "10.0.{}.{}", "{} | {} | x"])
def test_digits_in_one_pattern_are_said(shape):
    column = [shape.format(int(x), int(x) % 7) for x in X]
    model, _ = learned(column)
    (finding,) = said(model, "digits")
    assert finding.warning
    assert repr(column[0]) in finding.message
    assert "text=['x']" in finding.message
    assert not said(learned(column, text=["x"])[0], "digits")


def test_labels_that_begin_with_a_number_are_labels():
    labels = ["1. White"] * 290 + ["2. Black"] * 6 + ["3. Asian"] * 4
    model = TableModel("race", hidden=20).learn(pa.table({"x": X, "race": labels})).settle()
    assert model.classes == ["1. White", "2. Black", "3. Asian"]
    assert model.findings == ()
    column, _ = learned(labels)
    assert column.schema.columns[0].values == ["1. White", "2. Black", "3. Asian"]


def test_a_label_that_is_no_number_is_a_class():
    labels = ["1", "2", "3"] * 98 + ["other"] * 6
    model = TableModel("y", hidden=20).learn(pa.table({"x": X, "y": labels})).settle()
    assert model.classes == ["1", "2", "3", "other"]


# What the whole table shows


@pytest.mark.parametrize(
    "more",
    [
        {"price": lambda x: f"{int(x) * 1000:,} €".replace(",", ".")},
        {"rent": lambda x: f"{x:.2f}".replace(".", ",")},
        {"garden": lambda x: "ja" if x > 50 else "nein"},
    ],
)
def test_the_whole_table_shows_that_points_are_between_thousands(more):
    area = [f"{int(x) * 50:,} m²".replace(",", ".") for x in X]
    columns = {"area": area, **{k: [f(x) for x in X] for k, f in more.items()}}
    found = look_at(pa.table(columns).to_batches())
    assert float(found.columns[0].most) > 4000
    assert not any(finding.warning for finding in found.findings)
    alone = look_at(pa.table({"area": area}).to_batches())
    assert [finding.kind for finding in alone.findings if finding.warning] == ["ambiguous numbers"]


def test_words_for_true_and_false_are_one_input():
    model, _ = learned(["ja" if x > 50 else "nein" for x in X])
    assert model.schema.inputs == ["x"]
    for new in ("ja", "Ja", " yes "):
        assert model.predict(pa.table({"x": [new]}))[0] > 60
    with pytest.raises(TableError, match="should be true or false, or yes or no, got 'vielleicht'"):
        model.predict(pa.table({"x": ["vielleicht"]}))


@pytest.mark.parametrize("gap", ["N/A", "NULL", "?", "nan", "None", "<NA>"])
def test_gaps_are_the_same_in_text_and_in_numbers(gap):
    columns = {
        "number": [gap if i % 7 == 0 else f"{x}" for i, x in enumerate(X)],
        "text": [gap if i % 7 == 0 else "ab"[i % 2] for i in range(N)],
    }
    model = TableModel("y", hidden=20).learn(pa.table({**columns, "y": X})).settle()
    number, text = model.schema.columns
    assert number.missing
    assert (text.values, text.gaps) == (["a", "b"], True)
    (finding,) = (f for f in model.findings if f.column == "text")
    assert f"{gap!r} is taken for a missing value, 43 times" in finding.message


# Labels and categories


def test_labels_that_differ_in_case_and_blanks_are_said_and_folded():
    spellings = ["Adelie", "ADELIE", " adelie", "Gentoo", "gentoo "]
    y = [spellings[int(x) % 5] for x in X]
    with pytest.warns(UserWarning, match="of 5 values 2 differ otherwise; .* write them alike"):
        TableClassifier(hidden=20).fit({"x": X}, y)
    rows = pa.table({"x": X, "y": y, "z": y})
    for finding in said(TableModel("y", hidden=20).learn(rows).settle(), "spellings"):
        assert f"fold=[{finding.column!r}]" in finding.message
    model = TableModel("y", hidden=20, fold=["y", "z"]).learn(rows).settle()
    assert model.classes == ["adelie", "gentoo"]
    assert model.schema.columns[1].values == ["adelie", "gentoo"]
    assert not said(model, "spellings")
    assert (model.predict(pa.table({"x": X[:2], "z": ["GENTOO", "Adelie"]}))).tolist() == [
        "gentoo",
        "adelie",
    ]


def test_as_many_categories_as_the_rows_support():
    effect = RNG.normal(size=140) * 5
    place = np.repeat(np.arange(140), 12)
    y = effect[place] + RNG.normal(size=len(place)) * 0.3
    names = [f"place {k}" for k in place]
    model = TableRegressor().fit({"place": names}, y)
    assert model.score({"place": names}, y) > 0.98
    (column,) = model.model_.schema.columns
    assert len(column.values) + len(column.late) == 140
    few = TableModel("y", categories=60).learn(pa.table({"x": names, "y": y})).settle()
    (finding,) = said(few, "many values")
    assert "140 different values, and 60 of them are told apart" in finding.message
    assert "categories=140" in finding.message


def test_each_word_of_a_list_is_an_input(here):
    lists = [[word for k, word in enumerate("abc") if i >> k & 1] for i in range(80)]
    rows = [{"tags": words, "y": len(words)} for words in lists]
    (here / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "lists of words: a, b, c" in run("check", "x.jsonl", "--target", "y")[0]
    run("train", "x.jsonl", "--target", "y", "--task", "regression")
    model = greville.load("model.greville")
    assert model.schema.inputs == ["tags has a", "tags has b", "tags has c"]
    for words, y in ((["a", "b", "c"], 3), ([], 0), (None, 0), (["b", "never seen"], 1)):
        assert model.predict_one({"tags": words}) == pytest.approx(y, abs=0.5)


# Rows, ids and options


def test_row_numbers_leak_neither_from_many_rows(here):
    n = 20_000
    noise = np.random.default_rng(1).normal(size=n)
    lines = [f"{i + 1},{i + 7},{noise[i]:.4f},{noise[i] + i / n:.4f}" for i in range(n)]
    (here / "x.csv").write_text("rownames,t,x,y\n" + "\n".join(lines) + "\n")
    text = "".join(run("check", "x.csv", "--target", "y"))
    assert "'rownames' is left out: it is an id" in text
    assert "'t' counts the rows" in text
    assert "--ignore t" in text


def test_options_that_match_nothing_are_said():
    model, _ = learned(X, na=["xyz"], decimal=",", date_format="%d/%m/%Y")
    assert {f.message.rsplit(" ", 1)[1] for f in said(model, "unused option")} == {
        "na=['xyz'].",
        "decimal=','.",
        "date_format='%d/%m/%Y'.",
    }
    with pytest.raises(TableError, match="there is no column 'nowhere'"):
        learned(X, number=["nowhere"])


def test_a_column_is_what_the_user_says():
    codes = [f"{int(x) % 40:03}" for x in X]
    assert learned(codes)[0].schema.columns[0].kind == "text"
    assert learned(codes, number=["x"])[0].schema.columns[0].kind == "number"
    mixed = [f"{x:.1f}" if i % 3 else "see note" for i, x in enumerate(X)]
    with pytest.raises(TableError, match="should be a number, got 'see note'"):
        learned(mixed, number=["x"])
    numbers = [f"{int(x)}" for x in X]
    assert learned(numbers, text=["x"])[0].schema.columns[0].kind == "text"


def test_findings_name_options_on_the_command_line(here):
    rows = "\n".join(f"{int(x)}~{int(x) % 7},{x}" for x in X)
    (here / "x.csv").write_text(f"a,y\n{rows}\n")
    _, err = run("train", "x.csv", "--target", "y")
    assert "pass --text a." in err


def test_many_findings_alike_are_one_line(here):
    names = [f"f{i}" for i in range(350)]
    lines = [",".join([*["0"] * 350, f"{x}", f"{2 * x}"]) for x in X]
    (here / "x.csv").write_text(",".join([*names, "x", "y"]) + "\n" + "\n".join(lines) + "\n")
    _, err = run("train", "x.csv", "--target", "y")
    assert err.count("left out") == 1
    assert "'f0' is left out: it is 0 in every row. The same goes for 'f1', " in err
    assert "'f5' and 344 more." in err


# A last row of totals


def _sheet(label, sums):
    area, rent = np.round(RNG.uniform(20, 90, 40), 1), RNG.integers(200, 900, 40)
    last = (area.sum(), rent.sum()) if sums else (55.5, 500)
    names = [f"flat {i % 9}" for i in range(40)]
    columns = {"name": [*names, label], "area": [*area, last[0]], "rent": [*rent, last[1]]}
    parquet.write_table(pa.table(columns), "x.parquet")


@pytest.mark.parametrize("label", ["Summe", "GRAND TOTAL", "gesamt"])
def test_a_last_row_of_totals_is_named_and_left_out(here, label):
    _sheet(label, sums=True)
    for command in ("train", "check"):
        said = "".join(run(command, "x.parquet", "--target", "rent"))
        assert f"x.parquet, row 41, is left out: it is a row of totals ({label!r}" in said
    assert greville.load("model.greville").n_rows == 40


@pytest.mark.parametrize(("label", "sums"), [("flat 3", True), ("Summe", False)])
def test_a_last_row_that_has_no_sums_or_no_label_is_learned(here, label, sums):
    _sheet(label, sums)
    run("train", "x.parquet", "--target", "rent", "-q")
    assert greville.load("model.greville").n_rows == 41


def test_totals_in_a_data_frame_are_left_out():
    names = [f"flat {i % 9}" for i in range(N)]
    columns = {"name": [*names, "Total"], "area": [*X, X.sum()]}
    y = np.r_[2 * X, 2 * X.sum()]
    for weight in (None, np.ones(N + 1)):
        with pytest.warns(UserWarning, match="row 301, is left out: it is a row of totals"):
            model = TableRegressor(hidden=20).fit(columns, y, sample_weight=weight)
        assert model.model_.n_rows == N
        assert model.findings_[0].kind == "total"


# A stream


@pytest.mark.parametrize("line", [3, 5, 11, 50])
def test_one_odd_value_among_the_first_rows_of_a_stream_does_not_decide(line):
    x = np.random.default_rng(3).normal(size=600)
    rows = [{"x": float(v), "y": float(3 * v + 1)} for v in x]
    rows[line]["x"] = "high"
    answers = Stream(TableModel("y", task="numbers")).answer(rows, 1, RowErrors(skip=True))
    answered = [(a, r) for a, r in zip(answers, rows, strict=True) if "error" not in a][-400:]
    assert np.mean([abs(a["prediction"] - r["y"]) for a, r in answered]) < 0.1
