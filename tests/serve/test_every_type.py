"""Every type of JSON in every place of a row, to every path, as the first row and as a later one.

Each is answered with 2xx, or refused with 4xx and the name of the field; none is a mistake of ours.
"""

import json
from urllib.parse import quote

import pytest

import greville
from greville.tables import TableModel

from .test_learning_service import greville_table

pytestmark = pytest.mark.full

VALUES = [
    *(None, True, False, 0, 1.5, 1e99, 2**63, 10**400, "", " ", "Oslo", "1.5", "1,5", "nan", "inf"),
    *(
        "2024-01-02",
        "2024-13-45",
        "x" * 5000,
        "\u0000",
        [],
        [1],
        [1, 2.5, 3],
        [True],
        ["a"],
        [None],
    ),
    *([[1]], [1, "a"], {}, {"number": 1}),
]
# One of each type
FIRST = [None, True, 0, 1.5, "Oslo", "2024-01-02", [1, 2.5, 3], [], {}]
ROW = {"number": 0.5, "text": "Oslo", "flag": True, "date": "2024-01-02", "vector": [1.0, 2.0]}
PLACES = (*ROW, "y", "id")
TARGETS = {"numbers": 1.5, "regression": 1.5, "classification": "high"}
ACTIONS = ("/predict", "/learn", "/unlearn")


def usual(k, task):
    """A good row."""
    row = {**ROW, "number": 0.1 * k, "flag": k % 2 == 0, "date": f"2024-01-{1 + k % 28:02}"}
    row |= {"text": "Oslo" if k % 3 else "Bonn", "vector": [float(k), 1.0]}
    return {**row, "y": f"{k % 2}" if task == "classification" else k % 7 + 0.5}


def checked(server, path, content, place=None):
    """The status; anything but an answer or a refusal that names the place is an error."""
    status, answer = server.post(path, content)
    told = path, json.dumps(content)[:200], status, answer
    assert status < 500, told
    if status >= 400:
        assert answer["error"].endswith("."), told
        if place is not None and status != 413 and "cannot be unlearned" not in answer["error"]:
            assert answer["field"] == place, told
    return status


def send_everything(server, place, task, k, pairs):
    """Every value in a place, alone or as the first or the last of two, to all paths."""
    for n, value in enumerate(VALUES):
        good = usual(k + n, task)
        odd = {**usual(k + n + 1, task), place: value}
        for path in ACTIONS:
            for content in ([good, odd], [odd, good]) if pairs else (odd,):
                checked(server, path, content, place)


@pytest.mark.parametrize("place", PLACES)
def test_as_the_first_row_and_as_a_later_one(start_application, place):
    """The first row says what columns are, as far as one row can."""
    for k, first in enumerate(FIRST):
        task = list(TARGETS)[k % 3]
        row = {**ROW, "y": TARGETS[task]}
        server = start_application(settings={"task": task, "hidden": 5}, sync=False)
        for path in ACTIONS[:2]:
            checked(server, path, {**row, place: first}, place)
        for value in VALUES:
            for path in ACTIONS:
                checked(server, path, {**row, place: value}, place)
        server.close()


@pytest.mark.parametrize("place", PLACES)
def test_after_some_rows(start_application, place):
    task = list(TARGETS)[PLACES.index(place) % 3]
    server = start_application(settings={"task": task, "hidden": 5}, sync=False)
    assert checked(server, "/learn", [usual(k, task) for k in range(40)]) == 200
    send_everything(server, place, task, 40, pairs=False)
    send_everything(server, place, task, 70, pairs=True)
    assert checked(server, "/learn", [usual(k, task) for k in range(5)]) == 200


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_after_columns_are_settled(start_application, tmp_path, task):
    model = TableModel("y", task=task, hidden=5)
    table = greville_table([usual(k, task) for k in range(300)])
    greville.save(model.learn(table), tmp_path / "m.greville")
    server = start_application(folder=tmp_path, settings={}, sync=False)
    for place in PLACES:
        send_everything(server, place, task, 300, pairs=False)


def test_every_value_in_queries_and_headers_of_all_paths(start_application):
    server = start_application(sync=False)
    assert checked(server, "/learn", [{"a": 1.0, "y": 2.0}] * 3) == 200
    queries = (
        "/predict?std",
        "/predict?proba",
        "/log?after",
        "/log?after=0&log",
        "/model/file?log",
    )
    others = ("/model?x", "/importance?x", "/models?x", "/health?x", "/ready?x", "/metrics?x")
    for value in VALUES:
        text = value if isinstance(value, str) else json.dumps(value)
        for path in (*queries, *others, *(f"/models/m{each}" for each in queries)):
            post = "predict" in path
            content = {"a": 1.0} if post else None
            address = f"{path}={quote(text, safe='')}"
            status, answer = server.ask("POST" if post else "GET", address, content)
            assert status < 500, (address, answer)
            if status == 422:
                assert answer["field"] == path.rpartition("?")[2].rpartition("&")[2], address
        headers = {"Idempotency-Key": quote(text)}
        status, answer = server.post("/learn", {"a": 1.0, "y": 2.0}, headers=headers)
        assert status in (200, 422), answer
        assert status == 200 or answer["field"] == "Idempotency-Key"
        if text.isprintable() and "/" not in text:
            assert server.get(f"/models/{quote(text)}/model")[0] in (404, 405)


def test_rows_and_lists_of_rows_that_are_none(start_application):
    server = start_application(sync=False)
    good = {"a": 1.0, "y": 2.0}
    for rows in (0, 1, 50):
        if rows:
            assert checked(server, "/learn", [good] * rows) == 200
        for value in VALUES:
            for path in (*ACTIONS, "/models/m/predict", "/models/m/learn", "/models/m/unlearn"):
                for content in ([value], [good, value], [value, good], [[value]], [{"a": [value]}]):
                    checked(server, path, content)
                if not isinstance(value, (str, dict)):
                    assert 400 <= checked(server, path, json.dumps(value)) < 500
