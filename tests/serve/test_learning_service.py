"""The engine without HTTP: what is acknowledged is learned once, in the order of the log.

After a crash the model is that of an uninterrupted run, to the bit; what goes wrong loses nothing.
"""

import json
import shutil
import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest

import greville
from greville.serve import (
    LearningService,
    Limits,
    Log,
    LogError,
    ServeError,
    ServeOptions,
    learning_service,
    log_path,
    open_learning,
)
from greville.serve.board import Board
from greville.serve.bodies import RequestError
from greville.serve.learning_service import Work
from greville.tables import RowErrors, Stream, TableModel

from .rows import SETTINGS, inputs, offline, rows, same_model


def opened(path, **wanted):
    wanted = {"target": "y", "settings": SETTINGS, **wanted}
    learner, _ = open_learning(path, ServeOptions(**wanted))
    return learner


class Served:
    """An engine that runs; requests wait for their answers."""

    def __init__(self, path, **wanted):
        self.service = opened(path, **wanted)
        self.service.start()
        while self.service.published is None and self.service.failure is None:
            time.sleep(0.001)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.service.close()

    def crash(self):
        """As if it were killed now: no snapshot at the end."""
        self.service.save = lambda *snapshot: None

    def ask(self, action, some, **more):
        return self.service.submit(Work(action, some, **more)).result(60)

    def learn(self, some, **more):
        return self.ask("learn", some, **more)

    def predict(self, row):
        (answer,) = self.service.answering().answers([row])
        return answer["prediction"]


def logged(path):
    with closing(sqlite3.connect(log_path(path))) as db:
        found = db.execute("SELECT row FROM entries WHERE action = 'learn' ORDER BY position")
        return [json.loads(row) for (row,) in found]


LONGER = [pytest.param(n, marks=pytest.mark.full) for n in (700, 5000)]


@pytest.mark.parametrize("n", [100, *LONGER])
def test_after_a_crash_the_model_is_that_of_the_log(tmp_path, n):
    path, some = tmp_path / "m.greville", rows(n)
    with Served(path, every=n // 3) as served:
        for start in range(0, n, 37):
            served.learn(some[start : start + 37])
        served.crash()
    with Served(path):
        pass
    assert same_model(path, offline(some, step=211))


def test_a_request_with_a_bad_row_changes_nothing(tmp_path):
    path, some = tmp_path / "m.greville", rows(160)
    infinite = {**some[0], "a": float("inf")}
    with Served(path) as served:
        served.learn(some[:60])
        works = [
            Work("learn", some[60:100]),
            Work("learn", [*some[100:110], infinite]),
            Work("learn", some[100:120]),
            Work("learn", [{**some[0], "y": "much"}]),
            Work("learn", some[120:]),
        ]
        with served.service._changed:  # so that they come together
            done = [work.done for work in works]
            served.service._queue.extend(works)
            served.service._changed.notify()
        assert done[0].result(60)["learned"] == 40
        with pytest.raises(RequestError, match="Row 11: Column 'a' is infinite") as error:
            done[1].result(60)
        assert (error.value.status, error.value.field) == (422, "a")
        assert done[2].result(60)["position"] == 120
        with pytest.raises(RequestError) as error:
            done[3].result(60)
        assert error.value.field == "y"
        assert done[4].result(60)["position"] == 160
    assert logged(path) == some
    assert same_model(path, offline(some))


def test_targets_come_late_out_of_order_twice_and_never(tmp_path):
    path, some = tmp_path / "m.greville", rows(60)
    with Served(path, limits=Limits(waiting=5)) as served:
        served.learn(some[:50])
        asked = [{**row, "id": f"r{k}"} for k, row in enumerate(some[50:55])]
        targets = [{"id": row["id"], "y": row.pop("y")} for row in asked]
        served.ask("keep", asked, predictions=[0.0] * 5)
        assert served.service.n_waiting == 5
        with pytest.raises(RequestError, match="5 rows wait for their targets") as error:
            served.ask("keep", [{"id": "more", "a": 1.0}], predictions=[0.0])
        assert error.value.status == 429
        served.ask("keep", asked[:1], predictions=[0.0])  # again: it is there already
        for target in (targets[3], targets[1], targets[0]):
            assert served.learn([target])["learned"] == 1
            assert served.learn([target]) == {"learned": 0, "repeated": 1, "position": 0} | {
                "position": served.service.position
            }
        with pytest.raises(RequestError, match="was learned with the target") as error:
            served.learn([{"id": "r3", "y": 99.0}])
        assert error.value.status == 409
        with pytest.raises(RequestError, match='The row with the id "r9" does not wait'):
            served.learn([{"id": "r9", "y": 1.0}])
        assert served.service.n_waiting == 2
        served.ask("keep", asked[3:4], predictions=[0.0])  # its target has come
        assert served.service.n_waiting == 2
    found = logged(path)
    assert found[50:] == [{**asked[k], **targets[k]} for k in (3, 1, 0)]
    assert same_model(path, offline(found))


def test_rows_that_wait_survive_and_are_forgotten_in_time(tmp_path):
    path, some = tmp_path / "m.greville", rows(20)
    with Served(path) as served:
        served.learn(some)
        served.ask("keep", [{"id": 1, "a": 1.0, "b": 2.0, "kind": "x"}], predictions=[1.5])
    with Served(path) as served:
        assert served.service.n_waiting == 1
        assert served.learn([{"id": 1, "y": 2.0}])["learned"] == 1
        served.ask("keep", [{"id": 2, "a": 1.0}], predictions=[1.5])
    with Served(path, keep=1e-9) as served:
        served.service.clean_up()  # the writer is idle
        assert (served.service.n_waiting, served.service.forgotten) == (0, 1)


def test_what_is_unlearned_was_never_there_also_after_a_crash(tmp_path):
    path, some = tmp_path / "m.greville", rows(300)
    named = [{**row, "id": k} for k, row in enumerate(some)]
    with Served(path) as served:
        served.learn(named[:200])
        assert served.ask("unlearn", [{"id": 5}, {"id": 7}]) == {"unlearned": 2, "position": 202}
        assert served.ask("unlearn", [some[20]])["unlearned"] == 1  # by its values
        with pytest.raises(RequestError, match="was not learned, or is unlearned already"):
            served.ask("unlearn", [{"id": 5}])
        served.learn(named[200:])
        assert served.learn([named[5]])["learned"] == 1  # again
        assert served.service.answering().model.n_rows == 298
        served.crash()
    with Served(path):
        pass
    left = [row for k, row in enumerate(named) if k not in (7, 20)]
    wanted = TableModel("y", **SETTINGS).learn(greville_table(left)).settle()
    probe = [inputs(row) for row in rows(50, seed=9)]
    found = greville.load(path).settled().answers_to_rows(probe).prediction
    # The units of the hidden layer come from all rows, also those that were unlearned.
    assert np.abs(found - wanted.answers_to_rows(probe).prediction).max() < 0.3


def greville_table(some):
    import pyarrow as pa

    return pa.Table.from_pylist([{k: v for k, v in row.items() if k != "id"} for row in some])


def test_what_was_unlearned_is_erased_from_the_log(tmp_path):
    path, some = tmp_path / "m.greville", rows(50)
    secret = {"a": 1.0, "b": 2.0, "kind": "verysecretkind", "y": 2.0, "id": "one"}
    with Served(path) as served:
        served.learn(some)
        served.learn([secret])
        served.ask("unlearn", [{"id": "one"}])
        nameless = {**secret, "id": None}
        served.learn([nameless])
        served.ask("unlearn", [nameless])
    # A snapshot has the names of all categories, in the model's file and in its copy in the log.
    with closing(sqlite3.connect(log_path(path), isolation_level=None)) as db:
        assert db.execute("SELECT position FROM bases").fetchall() == [(54,)]
        db.execute("PRAGMA secure_delete = ON")
        db.execute("DELETE FROM bases")
    assert b"verysecretkind" not in log_path(path).read_bytes()
    with Served(path) as served:  # and it goes on
        assert served.learn(rows(5, 1))["position"] == 59


@pytest.mark.full
def test_rows_to_erase_are_found_in_one_pass(tmp_path):
    rows = [{"x": k, "y": k % 7} for k in range(5000)]
    work = 0

    def count():
        nonlocal work
        work += 1000  # instructions of SQLite

    def append(action, some):
        for row in some:
            log.append(action, 1, None, row, 1.0)

    with closing(Log(tmp_path / "m.log", sync=False)) as log:
        with log.transaction():
            append("learn", rows)
            append("unlearn", [rows[7], rows[8], {"x": -1, "y": 0}])
            append("learn", [rows[8], rows[9]])
            append("unlearn", rows[8:508])
        log._db.set_progress_handler(count, 1000)
        with log.transaction():
            log.erase_unlearned(log.position)
        first, work = work, 0
        log.erase_unlearned(log.position)
        second = work
        erased = log._db.execute(
            "SELECT position FROM entries WHERE row IS NULL AND action = 'learn' ORDER BY position"
        ).fetchall()
    # The 9th and the 10th row were learned twice; those that are written alike are not told apart.
    assert [position for (position,) in erased] == [*range(8, 509), 5004, 5005]
    assert first < 500_000  # a pass for each row would be 20 million
    assert second < 10_000  # nothing is left, and no pass is needed to know that


def test_a_log_with_a_hole_is_refused(tmp_path):
    path = tmp_path / "m.greville"
    with Served(path) as served:
        served.learn(rows(60))
        served.crash()
    for k, (change, said) in enumerate(
        (
            (
                "DELETE FROM entries WHERE position BETWEEN 20 AND 39",
                "between positions 19 and 40",
            ),
            ("DELETE FROM entries WHERE position < 20", "between positions 0 and 20"),
            ("UPDATE entries SET row = '{' WHERE position = 7", "position 7 is damaged"),
        )
    ):
        other = tmp_path / f"copy{k}.greville"
        shutil.copy(path, other)
        shutil.copy(log_path(path), log_path(other))
        with closing(sqlite3.connect(log_path(other))) as db, db:
            db.execute(change)
        with Served(other) as served, pytest.raises(RequestError, match=said) as error:
            served.learn(rows(1))
        assert error.value.status == 503


@pytest.mark.full
def test_a_snapshot_that_fails_is_not_tried_at_once(tmp_path, monkeypatch, caplog):
    path, tried = tmp_path / "m.greville", []

    def full(*arguments, **more):
        tried.append(1)
        raise OSError(28, "No space left on device")

    with Served(path, every=10) as served:
        monkeypatch.setattr(learning_service, "save", full)
        for k in range(10):
            served.learn(rows(20, k))
        assert served.service.snapshot_failed
        assert len(tried) <= 2
        monkeypatch.undo()
    assert caplog.text.count("No space left") == len(tried)
    assert greville.load(path).settled().n_rows == 200


@pytest.mark.full
def test_old_entries_are_deleted_if_that_is_wanted(tmp_path):
    path = tmp_path / "m.greville"
    with Served(path, keep_log=1e-9) as served:
        served.learn(rows(50))
    assert logged(path) == rows(50)[-1:]
    with Served(path) as served:
        assert served.learn(rows(1))["position"] == 51
        assert served.service.answering().model.n_rows == 51


@pytest.mark.full
def test_a_disk_that_is_full_loses_nothing(tmp_path):
    path, some = tmp_path / "m.greville", rows(2030)
    with Served(path) as served:
        served.learn(some[:30])
        (pages,) = served.service.log._db.execute("PRAGMA page_count").fetchone()
        served.service.log._db.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(RequestError, match="The log cannot be written; nothing") as error:
            served.learn(some[30:])
        assert error.value.status == 503
        assert (served.service.log.position, served.service.position) == (30, 30)
        served.service.log._db.execute("PRAGMA max_page_count = 1000000")
        assert served.learn(some[30:90])["position"] == 90
    assert same_model(path, offline(some[:90]))


def test_logs_and_models_that_do_not_belong_together(tmp_path):
    path, other = tmp_path / "m.greville", tmp_path / "o.greville"
    for each in (path, other):
        with Served(each) as served:
            served.learn(rows(5))
    log_path(path).rename(tmp_path / "aside")
    log_path(other).rename(log_path(path))
    with pytest.raises(LogError, match="does not belong to"):
        opened(path)
    log_path(path).unlink()
    with pytest.raises(LogError, match="was served with is not there"):
        opened(path)
    assert not log_path(path).exists()
    learner, said = open_learning(path, ServeOptions(new_log=True))
    learner.close()
    assert "another log, which is not here" in said[0]
    log_path(other).write_bytes(b"not a database, but long enough to look like one" * 100)
    with pytest.raises(LogError, match="cannot be used as a log"):
        opened(other)
    with pytest.raises(ServeError, match="there is no such file"):
        open_learning(tmp_path / "none.greville", ServeOptions())
    with pytest.raises(ServeError, match="it learns 'y', not 'z'"):
        open_learning(path, ServeOptions(target="z"))


def test_a_trained_model_and_a_checkpoint_go_on(tmp_path):
    path, some = tmp_path / "m.greville", rows(150)
    greville.save(TableModel("y", **SETTINGS).learn(greville_table(some[:100])), path)
    with Served(path, settings={}) as served:
        assert served.service.answering().model.n_rows == 100
        served.learn(some[100:])
        assert served.service.answering().model.n_rows == 150
    stream = Stream("y", "id", **SETTINGS)
    stream.answer(some[:100], 1, RowErrors())
    stream.answer([{"a": 1.0, "b": 1.0, "kind": "x", "id": "late"}], 101, RowErrors())
    checkpoint = tmp_path / "s.greville"
    greville.save(stream, checkpoint)
    with Served(checkpoint, settings={}) as served:
        assert served.service.n_waiting == 1
        assert served.learn([{"id": "late", "y": 1.0}])["learned"] == 1


@pytest.mark.full
def test_what_is_only_looked_at_stops_nothing(tmp_path, monkeypatch):
    path = tmp_path / "m.greville"

    def broken(self, outcomes, shown=()):
        raise ZeroDivisionError

    monkeypatch.setattr(Board, "add_outcomes", broken)
    with Served(path) as served:
        assert served.learn(rows(10))["learned"] == 10
        assert served.learn(rows(10, 1))["position"] == 20
        served.crash()
    with Served(path) as served:
        assert served.service.answering().model.n_rows == 20


def test_a_mistake_in_greville_is_answered_and_nothing_goes_on(tmp_path, monkeypatch, caplog):
    path = tmp_path / "m.greville"
    with Served(path) as served:
        served.learn(rows(10))
        monkeypatch.setattr(LearningService, "publish", lambda self: 1 / 0)
        with pytest.raises(RequestError, match="a bug in greville") as error:
            served.learn(rows(10, 1))
        assert error.value.status == 500
        served.service._thread.join()
        with pytest.raises(RequestError, match="not served any more") as error:
            served.learn(rows(10, 1))
        assert error.value.status == 503
    monkeypatch.undo()
    with Served(path) as served:  # it was in the log
        assert served.service.answering().model.n_rows == 20


def test_a_mistake_in_the_middle_of_a_request_is_undone(tmp_path, monkeypatch):
    path, some, answer = tmp_path / "m.greville", rows(40), Stream.answer

    def broken(self, some, *arguments, **options):
        answer(self, some[:3], *arguments, **options)
        raise ZeroDivisionError

    with Served(path) as served:
        served.learn(some[:20])
        with monkeypatch.context() as patch:
            patch.setattr(Stream, "answer", broken)
            with pytest.raises(RequestError, match="a bug in greville"):
                served.learn(some[20:])
        assert served.learn(some[20:])["position"] == 40
    assert logged(path) == some
    assert same_model(path, offline(some))


@pytest.mark.full
@pytest.mark.posix("links without special rights")
def test_a_link_has_the_log_of_its_model(tmp_path):
    path, link = tmp_path / "m.greville", tmp_path / "l.greville"
    with Served(path) as served:
        served.learn(rows(10))
    link.symlink_to(path)
    with Served(link) as served:
        assert served.learn(rows(10, 1))["position"] == 20
    with Served(path) as served:
        assert served.service.answering().model.n_rows == 20


@pytest.mark.full
def test_errors_count_the_predictions_that_were_given_also_after_a_crash(tmp_path):
    path = tmp_path / "m.greville"
    with Served(path) as served:
        served.learn(rows(20))
        served.ask("keep", [{"id": 1, "a": 1.0, "b": 1.0, "kind": "x"}], predictions=[1001.0])
        served.learn([{"id": 1, "y": 1.0}])
        before = served.service.board.record.model_dump()
        served.crash()
    assert max(before["recent"]) == 1000.0
    with Served(path) as served:
        after = served.service.board.record.model_dump()
    assert after["recent"] == pytest.approx(before["recent"])
    assert after["n"] == before["n"]


def test_errors_name_the_row_of_the_request(tmp_path):
    path, some = tmp_path / "m.greville", [{**row, "id": k} for k, row in enumerate(rows(60))]
    bad = {"high": 1.0, "b": 1.0, "a": "high", "kind": "x", "y": 1.0}
    with Served(path) as served:
        served.learn(some)
        with pytest.raises(RequestError, match="Row 3: Column 'a'") as error:
            served.learn([some[0], {**some[1], "id": "new"}, bad])
        assert error.value.field == "a"
        with pytest.raises(RequestError, match="Row 2: Column 'a'"):
            served.learn([some[0], bad])


def test_sorted_targets_are_told_once_for_each_run_of_them(tmp_path):
    """Not what comes in any order, repeats or steps back."""
    ascending = [{"a": k % 7, "y": float(k)} for k in range(250)]
    with Served(tmp_path / "m.greville") as served:
        for some, told in (
            (ascending[:90], False),
            (ascending[90:120], True),
            (ascending[120:], False),
            ([{"a": 1, "y": 1.0}] * 120, False),
            (rows(120), False),
            ([*ascending[:90], ascending[5], *ascending[6:96]], False),
            (ascending[96:120], True),
            (ascending[:120][::-1], True),
        ):
            assert ("warning" in served.learn(some)) == told
