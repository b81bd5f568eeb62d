"""Streams: rows are answered at once, and learned exactly once."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import greville
from greville.monitor import DriftMonitor
from greville.tables import RowErrors, Stream, TableError, TableModel

from ..houses import as_rows, houses


def bursts(stream, rows, cuts):
    answers, start = [], 0
    for stop in [*cuts, len(rows)]:
        answers += stream.answer(rows[start:stop], start + 1, RowErrors())
        start = stop
    return answers


@settings(max_examples=3, deadline=None)
@given(cuts=st.lists(st.integers(0, 400), max_size=8).map(sorted), data=st.data())
def test_bursts_change_no_bit_of_the_model(cuts, data):
    rows = as_rows(houses(400))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greville.tables.model.FIRST_ROWS", data.draw(st.sampled_from([64, 4096])))
        want, stream = (Stream(TableModel("price", hidden=60)) for _ in range(2))
        wanted, got = bursts(want, rows, []), bursts(stream, rows, cuts)
    assert [a["line"] for a in got] == list(range(1, 401))
    np.testing.assert_allclose(
        [a["prediction"] for a in got[2:]], [a["prediction"] for a in wanted[2:]], rtol=1e-5
    )
    table = houses(50, seed=9)
    assert np.array_equal(stream.model.predict(table), want.model.predict(table))
    assert np.array_equal(stream.settled().predict(table), want.settled().predict(table))
    assert stream.settled().n_rows == 400


def test_late_targets():
    rows = as_rows(houses(100))
    stream = Stream(TableModel("price", hidden=60), "id")
    plain = Stream(TableModel("price", hidden=60))
    bursts(plain, rows, [])
    answers = []
    for i, row in enumerate(rows):
        asked = {**row, "id": i, "price": None}
        answers += stream.answer([asked], stream.lines + 1, RowErrors())
        if i >= 3:  # three rows later
            late = {"id": i - 3, "price": rows[i - 3]["price"]}
            answers += stream.answer([late], stream.lines + 1, RowErrors())
    assert len(stream.waiting) == 3
    assert answers[-1]["id"] == 96
    assert answers[-1]["learned"]
    first = next(a for a in answers if a["id"] == 96)
    assert first["prediction"] == answers[-1]["prediction"]
    assert stream.settled().n_rows == 97
    table = houses(50, seed=9)
    rest = [{"id": i, "price": rows[i]["price"]} for i in (97, 98, 99)]
    stream.answer(rest, stream.lines + 1, RowErrors())
    np.testing.assert_allclose(
        stream.settled().predict(table), plain.settled().predict(table), rtol=1e-7
    )


def test_a_stream_in_a_file_goes_on_to_the_bit(tmp_path):
    rows = as_rows(houses(600))
    monitor = DriftMonitor()
    stream = Stream(TableModel("price", hidden=60), "id", monitor)
    for k, row in enumerate(rows):
        row["id"] = k
        if k % 5 == 0:
            row["price"] = None
    stream.answer(rows[:431], 1, RowErrors())
    greville.save(stream, tmp_path / "s")
    again = greville.load(tmp_path / "s")
    late = [{"id": 0, "price": 1e5}, {"id": 425, "price": 2e5}]
    for each in (stream, again):
        assert each.lines == 431
        each.answer(rows[431:], 432, RowErrors())
        each.answer(late, each.lines + 1, RowErrors())
    greville.save(stream.model, tmp_path / "one")
    greville.save(again.model, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert len(stream.rows) == len(again.rows)
    assert stream.waiting.keys() == again.waiting.keys()
    assert np.array_equal(stream.settled().predict(houses(20)), again.settled().predict(houses(20)))


def test_many_rows_that_wait(tmp_path):
    rng = np.random.default_rng(0)
    stream = Stream(TableModel("y"), "id")
    stream.answer([{"id": -1, "x": 0.5, "t": "a", "y": 1.0}], 1, RowErrors())
    big = 2**64 - 1
    for i, x in enumerate(rng.normal(size=3000).tolist()):
        stream.waiting[big - i] = {"id": big - i, "x": x, "t": f"w{i % 7}"}, 0.5
    greville.save(stream, tmp_path / "s")
    again = greville.load(tmp_path / "s")
    assert list(again.waiting) == list(stream.waiting)
    for each in (stream, again):
        answers = each.answer([{"id": big - 1234, "y": 7.0}], 2, RowErrors())
        assert answers == [{"line": 2, "id": big - 1234, "prediction": 0.5, "learned": True}]
    assert np.array_equal(
        stream.settled().predict(pa.table({"x": [1.0], "t": ["a"]})),
        again.settled().predict(pa.table({"x": [1.0], "t": ["a"]})),
    )


def test_fields_may_be_left_out_in_a_stream():
    rows = [{"x": 1.0, "z": 2.0, "y": 3.0}, {"x": 2.0, "z": 1.0, "y": 3.0}, {"x": 2.0, "y": 3.0}]
    together, alone = Stream(TableModel("y")), Stream(TableModel("y"))
    together.answer(rows, 1, RowErrors())
    for i, row in enumerate(rows):
        alone.answer([row], i + 1, RowErrors())
    asked = alone.answer([{"x": 1.0}], 4, RowErrors())
    assert asked[0]["prediction"] is not None
    assert together.settled().schema.columns == alone.settled().schema.columns


def test_a_column_that_turns_out_to_be_text_in_a_stream():
    values = ["5", "abc", "q", "abc", "5", "7", "q", "8"]
    rows = [{"x": v, "y": float(i)} for i, v in enumerate(values)]
    stream, row_errors = Stream(TableModel("y")), RowErrors()
    for i, row in enumerate(rows):
        assert "error" not in stream.answer([row], i + 1, row_errors)[0]
    model = stream.settled()
    assert model.n_rows == 8
    assert model.schema.columns[0].kind == "text"


def test_lines_without_a_row_are_counted():
    stream = Stream(TableModel("y"))
    rows = [None, {"x": 1.0, "y": 1.0}, None, {"x": 2.0, "y": 1.0}]
    assert [a["line"] for a in stream.answer(rows, 1, RowErrors())] == [2, 4]
    assert stream.lines == 4
    skip = RowErrors(skip=True)
    (answer,) = stream.answer([{"foo": 1}], 5, skip)
    assert answer == {"line": 5, "error": "it has none of the columns 'x'"}


# Rows that are wrong


def test_wrong_rows_of_a_stream():
    rows = as_rows(houses(100))
    rows[50]["rooms"] = "many"
    rows[60] = "it is not JSON"
    stream, row_errors = Stream(TableModel("price")), RowErrors(skip=True)
    answers = stream.answer(rows, 1, row_errors)
    assert len(answers) == 100
    assert [a["line"] for a in answers if "error" in a] == [51, 61]
    assert row_errors.count == 2
    assert stream.settled().n_rows == 98
    with pytest.raises(TableError, match=r"standard input, row 101: column 'rooms'"):
        stream.answer([{**rows[0], "rooms": "several"}], 101, RowErrors())
    assert stream.lines == 100


def test_targets_too_large_for_an_estimator_are_wrong_rows():
    rows = as_rows(houses(600))
    rows[400]["price"] = 1e200
    rows[500]["area"] = 1e200
    stream, row_errors = Stream(TableModel("price", hidden=60)), RowErrors(skip=True)
    answers = stream.answer(rows, 1, row_errors)
    assert [a["line"] for a in answers if "error" in a] == [401, 501]
    assert stream.settled().n_rows == 598


def test_a_target_without_a_row():
    stream = Stream(TableModel("y"), "id")
    stream.answer([{"id": 1, "x": 1.0}, {"id": 1, "y": 2.0}], 1, RowErrors())
    with pytest.raises(TableError, match="line 3: no row with the id 1 waits for its target"):
        stream.answer([{"id": 1, "y": 2.0}], 3, RowErrors())
    assert stream.settled().n_rows == 1
    skip = RowErrors(skip=True)
    (answer,) = stream.answer([{"id": [1], "x": 2.0}], 3, skip)
    assert "should be text or a number" in answer["error"]


def test_answers_before_an_error_are_given():
    stream, said = Stream(TableModel("y")), []
    rows = [{"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 3.0}, "it is not JSON"]
    parts = stream.answers(rows, 1, RowErrors())
    with pytest.raises(TableError, match="line 3: it is not JSON"):
        said.extend(answer for part in parts for answer in part)
    assert [a["line"] for a in said] == [1, 2]
    assert stream.lines == 2


# Following the last targets


def wandering(n, seed=0):
    rng = np.random.default_rng(seed)
    x, level = rng.normal(size=n), np.cumsum(0.3 * rng.normal(size=n))
    return [{"x": a, "y": b} for a, b in zip(x.tolist(), (np.sin(x) + level).tolist(), strict=True)]


def errors(answers, rows):
    pairs = zip(answers[1:], rows[1:], strict=True)
    return np.array([answer["prediction"] - row["y"] for answer, row in pairs])


@pytest.mark.full
@pytest.mark.parametrize(
    "solver",
    [
        "opium",
        *(
            pytest.param(solver, marks=pytest.mark.full)
            for solver in ("dynamic", "light", "sliding", "greville")
        ),
    ],
)
def test_no_default_is_worse_than_the_last_target(solver):
    rows = wandering(900)
    settings = {"task": "regression", "solver": solver, "hidden": "stream"}
    plain = Stream(TableModel("y", **settings), follow=False)
    stream = Stream(TableModel("y", **settings))
    found, alone = (
        np.sqrt(np.mean(errors(s.answer(rows, 1, RowErrors()), rows) ** 2)) for s in (stream, plain)
    )
    y = np.array([row["y"] for row in rows])
    assert found < 1.05 * np.sqrt(np.mean(np.diff(y) ** 2))
    assert found < 1.05 * alone  # light follows the last rows by itself
    table = pa.table({"x": [0.0, 1.0]})
    assert np.array_equal(stream.settled().predict(table), plain.settled().predict(table))
    assert stream.follows
    assert not plain.follows


@pytest.mark.full
def test_bursts_change_no_bit_of_what_follows(tmp_path):
    rows = wandering(600)
    one, other = (Stream(TableModel("y", task="regression", hidden=30)) for _ in range(2))
    bursts(one, rows, [])
    bursts(other, rows, [1, 100, 101, 130, *range(200, 600, 57)])
    for stream, name in ((one, "one"), (other, "other")):
        greville.save(stream, tmp_path / name)
    again = [greville.load(tmp_path / name) for name in ("one", "other")]
    followers = [stream.follower for stream in (one, other, *again)]
    assert all(follower == followers[0] for follower in followers)
    assert followers[0].n == 512  # of whole blocks
    asked = [s.answer([{"x": 0.5}], 601, RowErrors())[0]["prediction"] for s in (one, *again)]
    np.testing.assert_allclose(asked, asked[0], rtol=1e-9)


def test_rows_with_standard_deviations_and_without_a_target():
    rows = wandering(400)
    stream = Stream(TableModel("y", task="regression", hidden=60))
    answers = stream.answer(rows, 1, RowErrors(), std=True)
    z = errors(answers[100:], rows[100:]) / [a["std"] for a in answers[101:]]
    assert 0.5 < np.sqrt(np.mean(z**2)) < 2
    asked = stream.answer([{"x": 0.3}], 401, RowErrors(), std=True)[0]
    assert abs(asked["prediction"] - rows[-1]["y"]) < 3
    assert asked["std"] > 0


def test_classes_are_answered_by_the_model():
    rows = [{"x": float(i % 7), "y": "ab"[i % 7 > 3]} for i in range(120)]
    stream, plain = Stream(TableModel("y")), Stream(TableModel("y"), follow=False)
    assert stream.answer(rows, 1, RowErrors()) == plain.answer(rows, 1, RowErrors())


MIXED = [
    {"b": "Oslo", "y": -0.808},
    {"b": 1.2, "y": 1.87},
    {"b": -0.73, "y": 1.36},
    {"b": "Oslo", "y": True},
    {"b": "Oslo", "y": 2**64},
    {"b": 3, "y": 2},
]


@pytest.mark.full
def test_rows_of_different_kinds_are_read_as_if_alone(tmp_path):
    """A block of them is learned as single rows were answered; a file keeps their types."""
    rows = MIXED * 50
    alone, together = (Stream(TableModel("y", task="numbers", hidden=5)) for _ in range(2))
    for number, row in enumerate(rows, 1):
        (answer,) = alone.answer([row], number, RowErrors())
        assert "error" not in answer
    together.answer(rows, 1, RowErrors())
    assert alone.model.n_rows == together.model.n_rows == 256
    greville.save(alone, tmp_path / "alone")
    assert greville.load(tmp_path / "alone").rows == rows[256:]
    greville.save(together, tmp_path / "together")
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "together").read_bytes()


def sorted_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 100 + 10 * x + 5 * rng.normal(size=n)
    return [{"x": float(x[i]), "y": float(y[i])} for i in np.argsort(y)]


@pytest.mark.parametrize("size", [100, 800])
def test_history_that_is_sorted_by_its_target(size):
    """Rows whose targets come together are not predicted from each other's targets."""
    stream, rows = Stream(TableModel("y", hidden=60)), sorted_rows(800)
    for start in range(0, len(rows), size):
        stream.answer(rows[start : start + size], start + 1, RowErrors(), together=True)
    low, high = (stream.answer([{"x": x}], 801, RowErrors())[0]["prediction"] for x in (-2, 2))
    assert abs(low - 80) < 15
    assert abs(high - 120) < 15


@pytest.mark.full
def test_intervals_where_targets_come_in_groups():
    rng, size, n = np.random.default_rng(1), 20, 1200
    x = rng.normal(size=n)
    y = x + np.cumsum(rng.normal(size=n))  # the level wanders
    rows = [{"x": a, "y": b} for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    stream, inside = Stream(TableModel("y", hidden=30)), []
    for start in range(0, len(rows), size):
        group = rows[start : start + size]
        asked = stream.answering().answers([{"x": row["x"]} for row in group], std=True)
        if start >= 400:
            for answer, row in zip(asked, group, strict=True):
                inside.append(abs(answer["prediction"] - row["y"]) < 1.645 * answer["std"])
        stream.answer(group, start + 1, RowErrors(), together=True)
    assert 0.85 < np.mean(inside) < 0.97


@pytest.mark.full
def test_groups_are_kept_in_files(tmp_path):
    """A stream that is saved within a block goes on with the same trust in the last target."""
    rows = sorted_rows(600)
    one, two = (Stream(TableModel("y", hidden=30)) for _ in range(2))
    for start in range(0, 600, 50):
        group = rows[start : start + 50]
        one.answer(group, start + 1, RowErrors(), together=True)
        two.answer(group, start + 1, RowErrors(), together=True)
        greville.save(two, tmp_path / "stream")
        two = greville.load(tmp_path / "stream")
    squares = [s.follower.squares for s in (one, two)]
    np.testing.assert_allclose(squares[0], squares[1], rtol=1e-9)
    asked = [s.answer([{"x": 0.5}], 601, RowErrors())[0]["prediction"] for s in (one, two)]
    np.testing.assert_allclose(asked[0], asked[1], rtol=1e-6)


def test_the_monitor_sees_errors_of_the_first_rows():
    stream = Stream(TableModel("y"), monitor=DriftMonitor())
    for number, row in enumerate(wandering(50), 1):
        stream.answer([row], number, RowErrors())
    assert stream.monitor.n_seen_ > 40
    assert stream.monitor.copy()._errors[-1] not in (0.0, 1.0)


def test_probabilities_of_classes_that_came_before():
    rows = [{"x": 1.0, "k": "a"}, {"x": 2.0, "k": "b"}, {"x": 1.5, "k": "a"}]
    answers = Stream(TableModel("k")).answer(rows, 1, RowErrors(), proba=True)
    assert set(answers[1]["proba"]) == {"a"}
    assert set(answers[2]["proba"]) == {"a", "b"}


def test_nothing_of_an_unlearned_target_is_mixed_in():
    rows = wandering(300)
    far = {"x": 0.0, "y": 1e6}
    plain, stream = (Stream(TableModel("y", hidden=30)) for _ in range(2))
    for each, some in ((plain, rows), (stream, [*rows, far])):
        each.answer(some, 1, RowErrors())
        each.unlearn([some[-1]])
    plain.answer([rows[-1]], 301, RowErrors())  # it is there again
    asked = [s.answer([{"x": 0.5}], 302, RowErrors())[0]["prediction"] for s in (plain, stream)]
    assert abs(asked[0] - asked[1]) < 1 + 0.1 * abs(asked[0])
    assert stream.follower.n == 0


# Which column matters, and which has changed


def with_a_change(kind, rng):
    """Rows of which a column is other from row 1,500 on: its values, or what they say."""
    X = rng.normal(size=(1900, 4))
    y = 3 * X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] + 0.1 * rng.normal(size=len(X))
    y[1500:] += {"rule": -3 * X[1500:, 0], "new": 3 * X[1500:, 3]}.get(kind, 0)
    if kind == "offset":
        X[1500:, 2] += 3
    if kind == "broken":
        X[1500:, 0] = 0
    flags = np.arange(len(X)) % 2 == 0
    if kind == "flag":
        y += 5 * flags
        flags[1500:] = True
    names = [*"abcd", "flag", "y"]
    rows = zip(*X.T.tolist(), flags.tolist(), y.tolist(), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("kind", "column", "burst"),
    [("rule", "a", 800), ("new", "d", 800), ("offset", "c", 1), ("broken", "a", 800)],
)
def test_the_column_that_has_changed(kind, column, burst, rng):
    rows, stream = with_a_change(kind, rng), Stream("y", monitor=DriftMonitor())
    bursts(stream, rows[:1400], range(0, 1400, burst))
    assert stream.importance().order()[:3] == ["a", "b", "c"]
    assert stream.most_changed() is None
    with pytest.raises(TableError, match="no drift alarm"):
        stream.importance(before_alarm=True)
    for start in range(1400, 1900, burst):
        stream.answer(rows[start : start + burst], start + 1, RowErrors())
    name, before, now = stream.most_changed()
    assert name == column
    then = stream.importance(before_alarm=True)
    assert before == then.as_dict()[column]["change"]
    assert abs(now - before) > 0.5
    assert then.as_dict()["a"]["change"] == pytest.approx(3, rel=0.1)
    stream.unlearn(rows[-20:])
    assert stream.most_changed() is None  # it has the rows of then, which may be removed


def test_what_the_monitor_knows_changes_no_bit(rng):
    rows = with_a_change("flag", rng)
    watched, other = Stream("y", monitor=DriftMonitor()), Stream("y")
    answers = bursts(watched, rows, range(0, 1900, 130))
    assert watched.most_changed()[0] == "flag"
    assert answers == bursts(other, rows, range(0, 1900, 130))
