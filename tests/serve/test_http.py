"""The paths of the server, as a client sees them."""

import json
import os
import signal
import stat

import numpy as np
import pytest

import greville
from greville.serve import Limits
from greville.serve.bodies import read_body
from greville.serve.errors import RequestError
from greville.tables import Stream, TableModel, Troubles

from .test_engine import rows

NEW = ("--target", "y", "--hidden", "20")


def lines(some):
    return "".join(json.dumps(row) + "\n" for row in some)


@pytest.fixture
def server(serve, tmp_path):
    """A server whose model has learned 300 rows."""
    server = serve(tmp_path / "m.greville", *NEW)
    assert server.post("/learn", rows(300)) == (
        200,
        {"learned": 300, "repeated": 0, "position": 300},
    )
    return server


def inputs(row):
    return {name: value for name, value in row.items() if name != "y"}


def test_predictions_are_those_of_a_stream(server):
    stream = Stream(TableModel("y", task="numbers", hidden=20), "id")
    stream.answer(rows(300), 1, Troubles(), together=True)
    asked = [inputs(row) for row in rows(20, seed=3)]
    wanted = [a["prediction"] for a in stream.answer(asked, 301, Troubles())]
    status, found = server.post("/predict", asked)
    assert status == 200
    assert np.allclose([answer["prediction"] for answer in found], wanted, rtol=1e-9, atol=1e-9)
    assert server.post("/predict", asked[0])[1] == pytest.approx(found[0])
    status, text = server.post(
        "/predict", lines(asked), headers={"Content-Type": "application/x-ndjson"}
    )
    answers = [json.loads(line) for line in text.decode().splitlines()]
    assert answers == [pytest.approx(answer) for answer in found]
    assert server.headers["Content-Type"] == "application/x-ndjson"


def test_lines_are_counted_as_they_stand():
    with pytest.raises(RequestError, match="^Line 4 is not JSON"):
        read_body(b'\n{"a": 1}\r\n\n{"a":\n', "application/x-ndjson", Limits())


def test_std_and_interval(server):
    status, answer = server.post("/predict?std", inputs(rows(1)[0]))
    low, high = answer["interval"]
    assert status == 200
    assert (low + high) / 2 == pytest.approx(answer["prediction"])
    assert (high - low) / 2 == pytest.approx(1.6448536 * answer["std"])
    assert "std" not in server.post("/predict?std=false", {"a": 1.0})[1]
    status, answer = server.post("/predict?proba", {"a": 1.0})
    assert (status, answer["field"]) == (422, "proba")
    status, answer = server.post("/predict?stdd", {"a": 1.0})
    assert (status, answer["field"]) == (422, "stdd")
    assert server.post("/predict?std=maybe", {"a": 1.0})[0] == 422


def test_classes_have_probabilities(serve, tmp_path):
    server = serve(tmp_path / "c.greville", "--target", "kind", "--hidden", "20")
    assert server.post("/predict", {"a": 1.0})[1] == {"prediction": None}
    some = [{"a": float(k % 7), "kind": "low" if k % 7 < 3 else "high"} for k in range(200)]
    server.post("/learn", some)
    status, answer = server.post("/predict?proba", {"a": 1.0})
    assert status == 200
    assert answer["prediction"] == "low"
    assert sum(answer["proba"].values()) == pytest.approx(1)
    assert server.post("/predict?std", {"a": 1.0})[1]["field"] == "std"
    found = server.get("/model")[1]
    assert found["classes"] == ["high", "low"]
    assert (found["says_std"], found["says_proba"]) == (False, True)


@pytest.mark.posix("SIGKILL")
def test_targets_that_come_later(server):
    asked = [{**inputs(row), "id": k} for k, row in enumerate(rows(5, seed=4))]
    status, answers = server.post("/predict", asked)
    assert [answer["id"] for answer in answers] == list(range(5))
    assert server.get("/model")[1]["waiting"] == 5
    server.end(signal.SIGKILL)  # they are on the disk
    server.start()
    server.wait_until_ready()
    status, answer = server.post("/learn", [{"id": 3, "y": 1.5}, {"id": 0, "y": -0.5}])
    assert (status, answer) == (200, {"learned": 2, "repeated": 0, "position": 302})
    assert server.post("/learn", {"id": 3, "y": 1.5})[1]["repeated"] == 1
    status, answer = server.post("/learn", {"id": 3, "y": 2.5})
    assert (status, answer["field"]) == (409, "id")
    assert server.get("/model")[1]["waiting"] == 3


def test_repeated_requests(server):
    key = {"Idempotency-Key": "one"}
    first = server.post("/learn", rows(10, 1), headers=key)
    assert server.post("/learn", rows(10, 1), headers=key) == first
    assert server.get("/model")[1]["rows"] == 310
    status, answer = server.post("/learn", rows(10, 2), headers=key)
    assert (status, answer["field"]) == (422, "Idempotency-Key")
    assert server.post("/unlearn", rows(10, 1), headers=key)[0] == 422
    assert server.post("/learn", rows(1), headers={"Idempotency-Key": "k" * 201})[0] == 422


def test_unlearning(server):
    server.post("/learn", [{**row, "id": k} for k, row in enumerate(rows(10, 1))])
    assert server.post("/unlearn", [{"id": 3}, rows(300)[7]]) == (
        200,
        {"unlearned": 2, "position": 312},
    )
    assert server.get("/model")[1]["rows"] == 308
    assert server.post("/unlearn", {"id": 3})[1]["field"] == "id"
    assert server.post("/unlearn", {"a": 1.0})[1]["field"] == "y"


@pytest.mark.parametrize(
    ("path", "content", "status", "field"),
    [
        ("/learn", b"{", 400, None),
        ("/learn", b"\xff", 400, None),
        ("/learn", [], 400, None),
        ("/learn", {}, 422, None),
        ("/learn", [1, 2], 400, None),
        ("/learn", b'{"a": NaN, "y": 1}', 400, None),
        ("/learn", b'{"a": 1e999, "y": 1}', 422, "a"),
        ("/learn", {"a": 1.0}, 422, "y"),
        ("/learn", {"a": [1], "y": 1}, 422, "a"),
        ("/learn", {"a": ["x"], "y": 1}, 422, "a"),
        ("/learn", b'{"a": [1e999], "y": 1}', 422, "a"),
        ("/predict", {"a": [True]}, 422, "a"),
        ("/learn", {"a": 1.0, "y": "abc"}, 422, "y"),
        ("/learn", {"other": 1.0, "y": 1.0}, 422, None),
        ("/learn", {"a": 1.0, "y": " "}, 422, "y"),
        ("/learn", [{"a": 1.0, "y": 1.0}, {"a": 1.0, "y": "nan"}], 422, "y"),
        ("/learn", b'{"a": 1, "a": 2, "y": 1}', 400, None),
        ("/learn", b'{"a": 1' + b"0" * 5000 + b', "y": 1}', 400, None),
        ("/learn/", {"a": 1.0, "y": 1.0}, 404, None),
        ("/unlearn", b'{"a": 1e999, "b": 1.0, "kind": "x", "y": 1}', 422, "a"),
        ("/learn", {"id": "", "a": 1.0, "y": 1.0}, 422, "id"),
        ("/learn", {"id": 1.5, "a": 1.0, "y": 1.0}, 422, "id"),
        ("/learn", {"id": True, "a": 1.0, "y": 1.0}, 422, "id"),
        ("/learn", {"id": "x" * 300, "a": 1.0, "y": 1.0}, 422, "id"),
        ("/learn", {"id": 99, "y": 1.0}, 422, "id"),
        ("/predict", {"other": 1.0}, 422, None),
        ("/predict", b'{"a": 1e999}', 422, "a"),
        ("/predict", {"id": None, "b": {"c": 1}}, 422, "b"),
        ("/predict", b'{"a": "\\ud800"}', 422, "a"),
        ("/nothing", {"a": 1.0}, 404, None),
        ("/models/other/predict", {"a": 1.0}, 404, "name"),
        ("/model", {"a": 1.0}, 405, None),
    ],
)
def test_mistakes_of_clients(server, path, content, status, field):
    before = server.get("/model")[1]
    found, answer = server.post(path, content)
    assert (found, answer["field"]) == (status, field)
    assert answer["error"].endswith(".")
    for word in ("Traceback", "standard input", "Standard input", "sys."):
        assert word not in answer["error"]
    after = server.get("/model")[1]
    assert (after["rows"], after["position"]) == (before["rows"], before["position"])


def test_limits(serve, tmp_path):
    options = ("--max-rows", "5", "--max-columns", "4", "--max-body", "1KB", "--max-waiting", "2")
    server = serve(tmp_path / "m.greville", *NEW, *options)
    server.post("/learn", rows(5))
    assert server.post("/learn", rows(6))[0] == 413
    assert server.post("/learn", {**rows(1)[0], "c": 1, "d": 2})[0] == 413
    assert server.post("/learn", {"a": "x" * 2000, "y": 1})[0] == 413
    asked = [{"id": k, "a": 1.0} for k in range(3)]
    status, answer = server.post("/predict", asked)
    assert (status, answer["field"]) == (429, "id")
    assert server.get("/model")[1]["waiting"] == 0
    assert server.post("/predict", asked[:2])[0] == 200
    assert server.post("/learn", "a,b", headers={"Content-Type": "text/csv"})[0] == 415


def test_the_file_of_a_model(server, tmp_path):
    status, content = server.get("/model/file")
    assert status == 200
    assert 'filename="m.greville"' in server.headers["Content-Disposition"]
    path = tmp_path / "copy.greville"
    path.write_bytes(content)
    stream = greville.load(path)
    assert stream.settled().n_rows == 300
    assert server.get("/model/file")[1] == content


def test_metrics_and_health(server):
    server.post("/predict", {"a": 1.0})
    text = server.get("/metrics")[1].decode()
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert found['greville_rows{model="m"}'] == "300"
    assert found['greville_predictions_total{model="m"}'] == "1"
    assert found['greville_learned_rows_total{model="m"}'] == "300"
    assert server.get("/health") == (200, {"status": "ok"})
    assert server.get("/ready") == (200, {"ready": True})
    paths = server.get("/openapi.json")[1]["paths"]
    for path in ("/predict", "/learn", "/unlearn", "/model", "/model/file", "/events", "/metrics"):
        assert path in paths
    assert "/models/{name}/predict" in paths


def test_several_models(serve, tmp_path):
    names = ("one", "two")
    server = serve(*(tmp_path / f"{name}.greville" for name in names), *NEW)
    assert server.get("/models")[1] == {"models": ["one", "two"]}
    assert server.post("/models/one/learn", rows(20))[0] == 200
    assert server.post("/models/two/learn", rows(30))[0] == 200
    assert [server.get(f"/models/{name}/model")[1]["rows"] for name in names] == [20, 30]
    status, answer = server.post("/predict", {"a": 1.0})
    assert status == 404
    assert "/models/one, /models/two" in answer["error"]
    assert server.post("/models/two/predict", {"a": 1.0})[0] == 200


def events(server, wanted):
    """Events until these kinds have come."""
    connection = server.connection()
    connection.request("GET", "/events")
    response = connection.getresponse()
    assert response.headers["Content-Type"].startswith("text/event-stream")
    found, kind = {}, None
    yield
    while not wanted <= found.keys():
        line = response.readline().decode().rstrip("\n")
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            found.setdefault(kind, []).append(json.loads(line.removeprefix("data: ")))
    connection.close()
    yield found


def test_events(server):
    server.post("/predict?std", {**inputs(rows(1)[0]), "id": "early"})
    watching = events(server, {"state", "tick", "prediction", "outcome", "refused"})
    next(watching)
    server.post("/predict", {"a": 1.0, "id": "x"})
    server.post("/learn", rows(3, 5))
    server.post("/learn", {"id": "x", "y": 2.0})
    server.post("/learn", {"a": 2.0})
    found = next(watching)
    (state,) = found["state"]
    assert state["rows"] == 300
    assert state["error"]["name"] == "mean absolute error"
    assert state["last"][0]["id"] == "early"
    assert len(state["history"]) > 10
    assert found["prediction"][0]["target"] is None
    assert found["outcome"][0]["target"] == rows(3, 5)[-3]["y"]
    assert found["refused"][0]["field"] == "y"
    assert found["tick"][-1]["point"]["row"] >= 300


def test_rows_whose_targets_came_do_not_wait(server):
    """Of many outcomes in a second some are not shown."""
    for k in range(16):
        assert server.post("/predict", {"id": k, "a": 0.1 * k})[0] == 200
        assert server.post("/learn", {"id": k, "y": 0.2})[0] == 200
    assert server.post("/predict", {"id": "waits", "a": 0.1})[0] == 200
    watching = events(server, {"state"})
    next(watching)
    (state,) = next(watching)["state"]
    waiting = [e["id"] for e in state["last"] if e["target"] is None and e["id"] is not None]
    assert waiting == ["waits"]


def test_drift_raises_an_alarm(serve, tmp_path):
    server = serve(tmp_path / "m.greville", *NEW)
    server.post("/learn", rows(1500))
    watching = events(server, {"alarm"})
    next(watching)
    server.post("/learn", [{**row, "y": 20 + 5 * row["y"]} for row in rows(100, 7)])
    (alarm,) = next(watching)["alarm"]
    assert 1500 < alarm["row"] <= 1600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_with_all_in_the_file(server, tmp_path, number):
    connection = server.connection()  # who watches does not hold it up
    connection.request("GET", "/events")
    connection.getresponse().readline()
    server.post("/learn", rows(50, 1))
    server.end(number)
    connection.close()
    assert "has all that was learned (position 350)" in server.said.read_text()
    assert greville.load(tmp_path / "m.greville").settled().n_rows == 350
    for name in ("m.greville", "m.greville.log"):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600
    server.start()
    assert server.wait_until_ready().get("/model")[1]["rows"] == 350


def test_a_reader_follows(serve, tmp_path):
    path = tmp_path / "m.greville"
    server = serve(path, *NEW, "--every", "10")
    server.post("/learn", rows(50))
    reader = serve("--read-only", "--follow", path)
    assert reader.get("/model")[1]["read_only"]
    status, answer = reader.post("/learn", rows(1))
    assert (status, "read-only" in answer["error"]) == (403, True)
    server.post("/learn", rows(500, 1))
    while reader.get("/model")[1]["rows"] < 550:
        assert server.is_running
        server.post("/learn", rows(10, 2))
    assert reader.post("/predict", {"a": 1.0})[1]["prediction"] is not None
    assert reader.get("/model/file")[0] == 200
    path.write_bytes(b"damaged")  # it keeps the last that was right
    assert reader.post("/predict", {"a": 1.0})[1]["prediction"] is not None


def test_names_that_nobody_knows_are_said(server):
    row = inputs(rows(1)[0])
    assert "unused" not in server.post("/predict", {**row, "id": 1})[1]
    assert server.post("/predict", {**row, "Kind": "x", "id": 1})[1]["unused"] == ["Kind"]
    answers = server.post("/predict", [row, {**row, "c": 1, "d": 2}])[1]
    assert [answer.get("unused") for answer in answers] == [None, ["c", "d"]]
    server.post("/learn", rows(5000, 1))  # the columns are settled
    assert server.post("/learn", {**rows(1)[0], "Kind": "x", "id": 1})[1]["unused"] == ["Kind"]
    assert "unused" not in server.post("/learn", {**rows(1)[0], "id": 2})[1]


def test_predictions_that_are_not_mixed(serve, tmp_path):
    path = tmp_path / "m.greville"
    server = serve(path, *NEW, "--no-mix")
    server.post("/learn", rows(300))
    found = server.post("/predict", {"a": 1.0, "b": 1.0, "kind": "x"})[1]["prediction"]
    server.end()
    model = greville.load(path).settled()
    assert found == pytest.approx(model.predict_one({"a": 1.0, "b": 1.0, "kind": "x"}))
    server.arguments.remove("--no-mix")
    server.start()
    server.wait_until_ready()
    again = server.post("/predict", {"a": 1.0, "b": 1.0, "kind": "x"})[1]["prediction"]
    assert again == pytest.approx(found)


def test_embeddings_and_late_values(serve, tmp_path):
    server = serve(tmp_path / "m.greville", *NEW)
    rng = np.random.default_rng(0)
    some = [
        {"e": e.round(3).tolist(), "word": f"w{k // 3}", "y": float(e[0])}
        for k, e in enumerate(rng.normal(size=(400, 3)))
    ]
    for start in range(0, 400, 100):
        assert server.post("/learn", some[start : start + 100])[0] == 200
        status, found = server.get("/model")
        assert (status, found["rows"]) == (200, start + 100)
    (column, words) = found["columns"]
    assert column == {"name": "e", "what": "3 numbers"}
    assert "w0" in words["values"]
    answer = server.post("/predict", {"e": [2.0, 0.0, 0.0], "word": "w1"})[1]
    assert answer["prediction"] > 0.5
    assert server.post("/predict", {"e": [2.0, 0.0], "word": "w1"})[1]["field"] == "e"


def test_a_text_does_not_make_classes_of_numbers(serve, tmp_path):
    server = serve(tmp_path / "m.greville", *NEW)
    server.post("/learn", rows(10))
    for some in ({**rows(1)[0], "y": "high"}, [*rows(5, 1), {**rows(1)[0], "y": "high"}]):
        status, answer = server.post("/learn", some)
        assert (status, answer["field"]) == (422, "y")
    assert server.post("/learn", {**rows(1)[0], "y": "1.5"})[0] == 200
    assert server.get("/model")[1]["task"] == "regression"
    assert "refused with 422" in server.said.read_text()


def test_those_who_watch_are_limited(server):
    watching = []
    for _ in range(32):
        connection = server.connection()
        connection.request("GET", "/events")
        connection.getresponse().readline()  # so that it is counted
        watching.append(connection)
    status, answer = server.get("/events")
    assert (status, "32 clients watch" in answer["error"]) == (429, True)
    for connection in watching:
        connection.close()
    assert server.post("/predict", {"a": 1.0})[0] == 200
