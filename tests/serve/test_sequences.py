"""Random requests, also odd ones, then a restart from the first snapshot: the same model file."""

import json
import random
import shutil

import pytest

import greville
from greville.serve import Limits, Log, log_path
from greville.serve.bodies import RequestError, read_body
from greville.serve.learning_service import id_text

from ..lengths import at_length
from .test_learning_service import Served

PROBE = [{"a": 0.5, "b": -1.0, "c": "Oslo"}, {"b": -1.5, "c": "Bonn"}]
ODD = [1, True, "1,5", "2020-01-01", "nan", "", None, "x", 2**64, -1e99, 5e-324, "\u2028", [1.0]]
SETTINGS = [
    {"hidden": 5, "task": "numbers"},
    {"hidden": 20, "task": "regression"},
    {"hidden": 5, "task": "classification"},
    {"hidden": 5, "solver": "dynamic", "task": "numbers"},
    {"hidden": "stream", "task": "numbers"},
]


def drawn_row(draw, odd, target):
    row = {"a": draw.gauss(0, 1), "b": draw.gauss(0, 1), "c": draw.choice(("Oslo", "Bonn", "Rome"))}
    row = {name: value for name, value in row.items() if draw.random() < 0.8}
    if target:
        row["y"] = draw.gauss(0, 1)
    row = {name: draw.choice(ODD) if draw.random() < odd else v for name, v in row.items()}
    if draw.random() < 0.3:
        row["id"] = draw.choice((draw.randrange(40), str(draw.randrange(40))))
    return row


def asked(served, draw, odd):
    """One request; its status."""
    action = draw.choice(("learn",) * 6 + ("unlearn", "keep"))
    n = draw.choice((1, 1, 1, 3, 40))
    rows = [drawn_row(draw, odd, action != "keep") for _ in range(n)]
    if action == "unlearn":
        rows = [{"id": row["id"]} if "id" in row else row for row in rows]
    key = draw.choice((None, None, "k1", "k2"))
    try:
        body = json.dumps(rows)
        rows = read_body(body.encode(), "application/json", Limits()).rows
        if action == "keep":
            rows = [row for row in rows if row.get("id") is not None]
            for row in rows:
                id_text(row, "id")
            answers = served.service.answering().answers(rows) if rows else []
            given = [answer.get("prediction") for answer in answers]
            served.ask("keep", rows, predictions=given)
        else:
            served.ask(action, rows, key=key, digest=action + body)
    except RequestError as error:
        return error.status
    return 200


# One for each of the settings
OTHERS = at_length((0, 3, 4, 12), (0, *range(2, 40)))
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in OTHERS)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restart_gives_the_same_file(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(Log, "erase_unlearned", lambda self, until: None)  # all is learned again
    draw = random.Random(seed)
    settings, odd = SETTINGS[seed % len(SETTINGS)], draw.choice((0, 0.05, 0.3))
    path, first = tmp_path / "m.greville", tmp_path / "first.greville"
    with Served(path, settings=settings) as served:
        shutil.copy(path, first)
        statuses = [asked(served, draw, odd) for _ in range(draw.choice((10, 40)))]
        position, n_rows = served.service.position, served.service.answering().model.n_rows
    assert max(statuses) < 500
    shutil.copy(log_path(path), log_path(first))
    with Served(first, settings=settings) as served:
        assert served.service.failure is None
        assert (served.service.position, served.service.answering().model.n_rows) == (
            position,
            n_rows,
        )
    ours, theirs = greville.load(path), greville.load(first)
    assert repr(ours.rows) == repr(theirs.rows)
    if ours.settled().estimator is not None:
        found, wanted = (each.answering().answers(PROBE) for each in (ours, theirs))
        assert found == wanted
