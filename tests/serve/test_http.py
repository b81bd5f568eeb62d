"""The server as a client sees it: predictions, learning, late targets, mistakes, numbers, the page.

One server is shared by tests that leave its model as it is: a start takes longer than they do.
"""

import json
import os
import re
import signal
import stat
import threading
import time
import urllib.request
from importlib.resources import files
from urllib.error import HTTPError

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

import greville
from greville.serve import (
    LearningService,
    Limits,
    ServeError,
    ServeOptions,
    ServerAddress,
    listen,
    open_learning,
    run,
)
from greville.tables import RowErrors, Stream

from .. import children
from .rows import NEW, SETTINGS, N, inputs, rows, taught


def lines(some):
    return "".join(json.dumps(row) + "\n" for row in some)


@pytest.fixture
def server(serve, tmp_path):
    """A server of one's own."""
    return taught(serve(tmp_path / "m.greville", *NEW))


def test_predictions_are_those_of_a_stream(shared):
    """Of one row, of many, and of lines; with the interval, if that is asked for."""
    stream = Stream("y", "id", **SETTINGS)
    stream.answer(rows(N), 1, RowErrors(), together=True)
    asked = [inputs(row) for row in rows(20, seed=3)]
    wanted = [answer["prediction"] for answer in stream.answer(asked, N + 1, RowErrors())]
    status, found = shared.post("/predict", asked)
    assert status == 200
    assert np.allclose([answer["prediction"] for answer in found], wanted, rtol=1e-9, atol=1e-9)
    assert shared.post("/predict", asked[0])[1] == pytest.approx(found[0])
    text = shared.post("/predict", lines(asked), headers={"Content-Type": "application/x-ndjson"})
    answers = [json.loads(line) for line in text[1].decode().splitlines()]
    assert answers == [pytest.approx(answer) for answer in found]
    assert shared.headers["Content-Type"] == "application/x-ndjson"
    answer = shared.post("/predict?std", asked[0])[1]
    low, high = answer["interval"]
    assert (low + high) / 2 == pytest.approx(answer["prediction"])
    assert (high - low) / 2 == pytest.approx(1.6448536 * answer["std"])
    assert "std" not in shared.post("/predict?std=false", {"a": 1.0})[1]


def test_the_file_of_a_model(shared, tmp_path):
    status, content = shared.get("/model/file")
    assert status == 200
    assert 'filename="m.greville"' in shared.headers["Content-Disposition"]
    path = tmp_path / "copy.greville"
    path.write_bytes(content)
    assert greville.load(path).settled().n_rows == N
    assert shared.get("/model/file")[1] == content


def test_how_much_columns_matter(shared):
    status, found = shared.get("/importance")
    assert (status, found.keys()) == (200, {"a", "b", "kind"})
    assert min(found["a"], found["b"]) > 2 * found["kind"]


MISTAKES = [
    ("/learn", b"{", 400, None),
    ("/learn", {}, 422, None),
    ("/learn", b'{"a": 1e999, "y": 1}', 422, "a"),
    ("/learn", {"a": 1.0}, 422, "y"),
    ("/predict", {"a": 1.0, "engine": {"cylinders": 8}}, 422, "engine"),
    ("/learn", {"a": 1.0, "y": "abc"}, 422, "y"),
    ("/learn", {"other": 1.0, "y": 1.0}, 422, None),
    ("/learn", {"a": 1.0, "y": " "}, 422, "y"),
    ("/learn", [{"a": 1.0, "y": 1.0}, {"a": 1.0, "y": "nan"}], 422, "y"),
    ("/learn/", {"a": 1.0, "y": 1.0}, 404, None),
    ("/unlearn", b'{"a": 1e999, "b": 1.0, "kind": "x", "y": 1}', 422, "a"),
    ("/learn", {"id": 1.5, "a": 1.0, "y": 1.0}, 422, "id"),
    ("/learn", {"id": 99, "y": 1.0}, 422, "id"),
    ("/predict", {"other": 1.0}, 422, None),
    ("/predict?proba", {"a": 1.0}, 422, "proba"),
    ("/predict?stdd", {"a": 1.0}, 422, "stdd"),
    ("/predict?std=maybe", {"a": 1.0}, 422, "std"),
    ("/nothing", {"a": 1.0}, 404, None),
    ("/models/other/predict", {"a": 1.0}, 404, "name"),
    ("/model", {"a": 1.0}, 405, None),
]


def test_mistakes_of_clients_are_told_with_their_field_and_change_nothing(shared, caplog):
    before = shared.get("/model")[1]
    for path, content, status, field in MISTAKES:
        found, answer = shared.post(path, content)
        assert (found, answer["field"]) == (status, field), (path, content, answer)
        assert answer["error"].endswith(".")
        for word in ("Traceback", "standard input", "Standard input", "sys."):
            assert word not in answer["error"]
    answer = shared.post("/predict", {"engine": {"cylinders": 8}})[1]
    assert answer["error"].endswith('send what is in it as fields such as "engine.cylinders".')
    counted = '\n{"a": 1}\r\n\n{"a":\n'
    answer = shared.post("/learn", counted, headers={"Content-Type": "application/x-ndjson"})[1]
    assert answer["error"].startswith("Line 4 cannot be read")
    for kind in ("text/csv", "application/json; charset=latin-1"):
        assert shared.post("/learn", "{}", headers={"Content-Type": kind})[0] == 415
    after = shared.get("/model")[1]
    assert (after["rows"], after["position"]) == (before["rows"], before["position"])
    assert "refused with 400" in caplog.text


def test_names_that_nobody_knows_are_said(shared):
    row = inputs(rows(1)[0])
    assert "unused" not in shared.post("/predict", row)[1]
    answers = shared.post("/predict", [row, {**row, "c": 1, "Kind": "x"}])[1]
    assert [answer.get("unused") for answer in answers] == [None, ["Kind", "c"]]


def metrics(server):
    """Samples by name and labels, as Prometheus reads them."""
    families = text_string_to_metric_families(server.get("/metrics")[1].decode())
    samples = [each for family in families for each in family.samples]
    return {(each.name, *sorted(each.labels.items())): each.value for each in samples}


def test_metrics(shared):
    before = metrics(shared)
    for _ in range(3):
        shared.post("/predict", {"a": 1.0})
    shared.post("/nothing/" + "x" * 100, {})
    after, model, route = metrics(shared), ("model", "m"), ("route", "/predict")
    assert after["greville_rows", model] == after["greville_learned_rows_total", model] == N
    for count in (
        ("greville_predictions_total", model),
        ("greville_requests_total", route, ("status", "200")),
        ("greville_request_seconds_count", route),
    ):
        assert after[count] == before.get(count, 0) + 3
    assert after["greville_requests_total", ("route", "other"), ("status", "404")] >= 1
    assert after["greville_request_seconds_sum", route] > 0
    for column, moved in shared.get("/importance")[1].items():
        assert after["greville_importance", ("column", column), model] == moved


def test_health_and_the_description_of_all_requests(shared):
    assert shared.get("/health") == (200, {"status": "ok"})
    assert shared.get("/ready") == (200, {"ready": True})
    paths = shared.get("/openapi.json")[1]["paths"]
    for path in ("/predict", "/learn", "/unlearn", "/model", "/model/file", "/events", "/metrics"):
        assert path in paths
    assert "/models/{name}/predict" in paths


def test_the_page_is_served_with_headers_that_keep_it_alone(shared):
    names = [file.name for file in (files("greville.serve") / "page").iterdir()]
    assert {"index.html", "page.css", "page.js", "docs.html", "docs.js"} <= set(names)
    for path in ("/", "/docs", *(f"/page/{name}" for name in names)):
        status, content = shared.get(path)
        assert (status, shared.headers["X-Content-Type-Options"]) == (200, "nosniff")
        assert shared.headers["Cache-Control"] == "no-store"
        assert shared.headers["Referrer-Policy"] == "no-referrer"
        policy = shared.headers.get("Content-Security-Policy", "")
        if shared.headers["Content-Type"].startswith("text/html"):
            assert b"<!doctype html>" in content.lower()
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
    assert shared.get("/page/%2e%2e/model")[0] == 404


def test_files_of_the_page_have_nothing_from_elsewhere_and_no_markup_from_data():
    for file in (files("greville.serve") / "page").iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|\burl\((?!#)", text.replace("url(#picture-area)", ""))
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)
        assert not re.search(r"\beval\(|new Function|\.style\b", text)
        if file.name.endswith(".html"):
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\bsrc=)", text)


# Learning


@pytest.mark.posix("SIGKILL")
def test_late_targets_repeated_requests_and_unlearning_survive_a_kill_and_a_stop(server, tmp_path):
    """Each is on the disk before it is answered, and is done once; a stop has all in the file."""
    asked = [{**inputs(row), "id": k} for k, row in enumerate(rows(5, seed=4))]
    answers = server.post("/predict", asked)[1]
    assert [answer["id"] for answer in answers] == list(range(5))
    assert server.get("/model")[1]["waiting"] == 5
    key = {"Idempotency-Key": "one"}
    first = server.post("/learn", rows(10, 1), headers=key)
    assert first == (200, {"learned": 10, "repeated": 0, "position": N + 10})
    server.end(signal.SIGKILL)
    server.start()
    server.wait_until_ready()
    assert server.post("/learn", rows(10, 1), headers=key) == first
    assert server.get("/model")[1]["rows"] == N + 10
    status, answer = server.post("/learn", [{"id": 3, "y": 1.5}, {"id": 0, "y": -0.5}])
    assert (status, answer) == (200, {"learned": 2, "repeated": 0, "position": N + 12})
    assert server.post("/learn", {"id": 3, "y": 1.5})[1]["repeated"] == 1
    assert server.get("/model")[1]["waiting"] == 3
    for path, content, headers, refused in (
        ("/learn", {"id": 3, "y": 2.5}, {}, (409, "id")),
        ("/learn", rows(10, 2), key, (422, "Idempotency-Key")),
        ("/unlearn", rows(10, 1), key, (422, "Idempotency-Key")),
        ("/learn", rows(1), {"Idempotency-Key": "k" * 201}, (422, "Idempotency-Key")),
        ("/unlearn", {"id": 4}, {}, (422, "id")),
        ("/unlearn", {"a": 1.0}, {}, (422, "y")),
    ):
        status, answer = server.post(path, content, headers=headers)
        assert (status, answer["field"]) == refused
    gone = server.post("/unlearn", [{"id": 3}, rows(N)[7]])
    assert gone == (200, {"unlearned": 2, "position": N + 14})
    assert server.get("/model")[1]["rows"] == N + 10
    assert server.post("/unlearn", {"id": 3})[1]["field"] == "id"
    connection = server.connection()  # who watches does not hold it up
    connection.request("GET", "/events")
    connection.getresponse().readline()
    server.end(signal.SIGTERM)
    connection.close()
    assert f"has all that was learned (position {N + 14})" in server.said.read_text()
    assert greville.load(tmp_path / "m.greville").settled().n_rows == N + 10
    for name in ("m.greville", "m.greville.log"):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600
    server.start()
    server.wait_until_ready()
    assert server.get("/model")[1]["rows"] == N + 10
    server.end(signal.SIGINT)
    assert "has all that was learned" in server.said.read_text()


def test_limits_of_bodies_rows_columns_and_rows_that_wait(start_application):
    server = start_application(limits=Limits(rows=5, columns=4, body=1024, waiting=2))
    server.post("/learn", rows(5))
    assert server.post("/learn", rows(6))[0] == 413
    assert server.post("/learn", {**rows(1)[0], "c": 1, "d": 2})[0] == 413
    assert server.post("/learn", {"a": "x" * 2000, "y": 1})[0] == 413
    asked = [{"id": k, "a": 1.0} for k in range(3)]
    status, answer = server.post("/predict", asked)
    assert (status, answer["field"]) == (429, "id")
    assert server.get("/model")[1]["waiting"] == 0
    assert server.post("/predict", asked[:2])[0] == 200


def test_several_models_of_numbers_and_of_classes(start_application):
    server = start_application(names=("numbers", "classes"), settings={"hidden": 20})
    assert server.get("/models")[1] == {"models": ["numbers", "classes"]}
    assert server.post("/models/classes/predict", {"a": 1.0})[1] == {"prediction": None}
    some = [{"a": float(k % 7), "y": "low" if k % 7 < 3 else "high"} for k in range(100)]
    assert server.post("/models/numbers/learn", rows(20))[0] == 200
    assert server.post("/models/classes/learn", some)[0] == 200
    status, answer = server.post("/predict", {"a": 1.0})
    assert status == 404
    assert "/models/numbers, /models/classes" in answer["error"]
    answer = server.post("/models/classes/predict?proba", {"a": 1.0})[1]
    assert answer["prediction"] == "low"
    assert sum(answer["proba"].values()) == pytest.approx(1)
    assert server.post("/models/classes/predict?std", {"a": 1.0})[1]["field"] == "std"
    one, other = server.post("/models/numbers/predict?why", [rows(1)[0], {"a": None, "b": 1.0}])[1]
    for answer in (one, other):
        assert answer["why"]["shares"].keys() == {"a", "b", "kind"}
        why = answer["why"]
        total = why["base"] + sum(why["shares"].values()) + why["last_targets"]
        assert total == pytest.approx(answer["prediction"])
    answer = server.post("/models/classes/predict?why", {"a": 1.0})[1]
    assert answer["why"]["shares"].keys() == {"a"}
    found = server.get("/models/classes/model")[1]
    assert (found["rows"], found["classes"]) == (100, ["high", "low"])
    assert (found["says_std"], found["says_proba"]) == (False, True)
    status, answer = server.post("/models/numbers/learn", [*rows(5), {**rows(1)[0], "y": "high"}])
    assert (status, answer["field"]) == (422, "y")  # a text does not make classes of numbers
    assert server.post("/models/numbers/learn", {**rows(1)[0], "y": "1.5"})[0] == 200
    found = server.get("/models/numbers/model")[1]
    assert (found["rows"], found["task"]) == (21, "regression")


def test_a_bug_is_answered_without_its_inside_and_a_model_that_cannot_go_on_ends_the_server(
    tmp_path, monkeypatch, caplog
):
    """By `run` in a thread, so that there can be a bug."""
    monkeypatch.setattr("sys.setswitchinterval", lambda seconds: None)
    learner, _ = open_learning(tmp_path / "m.greville", ServeOptions(target="y"))
    sock, urls, ended = listen("127.0.0.1", 0), [], []

    def serving():
        try:
            run({"m": learner}, ServerAddress(), sock, urls.append)
        except ServeError as error:
            ended.append(str(error))

    thread = threading.Thread(target=serving, daemon=True)
    thread.start()
    deadline = time.monotonic() + children.LIMIT
    while not urls:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    with monkeypatch.context() as patch:
        patch.setattr(LearningService, "answering", lambda self: {}["a secret"])
        with pytest.raises(HTTPError) as refused:
            urllib.request.urlopen(f"{urls[0]}/model", timeout=children.LIMIT)
    assert refused.value.code == 500
    answer = refused.value.read().decode()
    refused.value.close()
    assert "a bug in greville" in json.loads(answer)["error"]
    assert "secret" not in answer
    while "a secret" not in caplog.text:  # which is said after the answer
        assert time.monotonic() < deadline
        time.sleep(0.005)
    learner.failure = "The model is not served any more: the disk is gone."
    thread.join(children.LIMIT)
    assert ended == ["The model is not served any more: the disk is gone."]


# What is watched


def states(server, n=1):
    """The first states that those who watch are told."""
    connection = server.connection()
    try:
        connection.request("GET", "/events")
        response = connection.getresponse()
        assert response.headers["Content-Type"].startswith("text/event-stream")
        found = []
        while len(found) < n:
            line = response.readline().decode()
            assert line, "the stream has ended"
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
        return found
    finally:
        response.close()
        connection.close()


def test_events_tell_of_predictions_outcomes_and_refusals(server):
    server.post("/predict?std", {**inputs(rows(1)[0]), "id": "early"})
    server.post("/predict", {"a": 1.0, "id": "x"})
    server.post("/learn", rows(3, 5))
    server.post("/learn", {"id": "x", "y": 2.0})
    server.post("/learn", {"a": 2.0})
    first, second = states(server, 2)
    assert first["rows"] == second["rows"] == N + 4
    assert first["error"]["name"] == "mean absolute error"
    assert first["refusals"] == ['The target "y" is missing.']
    assert len(first["history"]) > 10
    assert first["history"][-1]["row"] <= first["error"]["n"]
    newest, *others = first["last"]
    assert (newest["id"], newest["target"], newest["row"]) == ("x", 2.0, first["error"]["n"])
    assert [entry["target"] for entry in others[:3]] == [row["y"] for row in rows(3, 5)][::-1]
    assert [entry["id"] for entry in others if entry["target"] is None] == ["early"]
    for k in range(16):  # outcomes replace the predictions that waited for them
        server.post("/predict", {"id": k, "a": 0.1 * k})
        server.post("/learn", {"id": k, "y": 0.2})
    server.post("/predict", {"id": "waits", "a": 0.1})
    (state,) = states(server)
    waiting = {e["id"] for e in state["last"] if e["target"] is None and e["id"] is not None}
    assert {"waits"} <= waiting <= {"waits", "early"}


@pytest.mark.full
def test_drift_raises_an_alarm(start_application):
    server = start_application()
    server.post("/learn", rows(1500))
    server.post("/learn", [{**row, "y": 20 + 5 * row["y"]} for row in rows(100, 7)])
    (alarm,) = server.services["m"].state()["alarms"]
    assert 1500 < alarm["row"] <= 1600
    changed = server.get("/model")[1]["most_changed"]
    assert changed["column"] in server.get("/importance")[1]
    assert changed["before"] != changed["now"]


def test_a_file_that_is_only_read(start_application, serve, tmp_path):
    path = tmp_path / "m.greville"
    server = start_application(folder=tmp_path)
    server.post("/learn", rows(50))
    server.close()
    reader = serve("--read-only", path)
    assert reader.get("/model")[1]["read_only"]
    status, answer = reader.post("/learn", rows(1))
    assert (status, "read-only" in answer["error"]) == (403, True)
    path.write_bytes(b"damaged")  # it has been read
    assert reader.post("/predict", {"a": 1.0})[1]["prediction"] is not None
    assert reader.get("/model/file")[0] == 200


@pytest.mark.full
def test_names_that_nobody_knows_are_said_once_the_columns_are_settled(start_application):
    server = start_application()
    server.post("/learn", rows(5000, 1))
    assert server.post("/learn", {**rows(1)[0], "Kind": "x", "id": 1})[1]["unused"] == ["Kind"]
    assert "unused" not in server.post("/learn", {**rows(1)[0], "id": 2})[1]


@pytest.mark.full
def test_predictions_that_are_not_mixed(serve, tmp_path):
    path = tmp_path / "m.greville"
    server = serve(path, *NEW, "--no-mix")
    server.post("/learn", rows(N))
    found = server.post("/predict", {"a": 1.0, "b": 1.0, "kind": "x"})[1]["prediction"]
    server.end()
    model = greville.load(path).settled()
    assert found == pytest.approx(model.predict_one({"a": 1.0, "b": 1.0, "kind": "x"}))
    server.arguments.remove("--no-mix")
    server.start()
    server.wait_until_ready()
    again = server.post("/predict", {"a": 1.0, "b": 1.0, "kind": "x"})[1]["prediction"]
    assert again == pytest.approx(found)
