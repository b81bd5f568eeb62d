"""One model behind every door: the same rows in the same order get the same predictions."""

import json
from contextlib import ExitStack
from itertools import pairwise

import numpy as np
import pytest

from greville.tables import RowErrors, Stream

from .record.doors import command

N = 300


def rows(target, seed=0):
    """Numbers and text, whose rule changes after 200 rows; with targets that wander, or stay."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, N))
    kind = rng.integers(0, 3, N)
    if target == "number":
        y = np.where(np.arange(N) < 200, np.sin(2 * x), z) + kind + np.cumsum(0.2 * z)
    else:
        y = np.array(["idle", "busy"])[(np.cumsum(rng.random(N) < 0.1) + (x > 1)) % 2]
    columns = zip(x.tolist(), z.tolist(), kind.tolist(), y.tolist(), strict=True)
    return [{"kind": "abc"[k], "x": a, "z": b, "y": t} for a, b, k, t in columns]


def inputs(row):
    return {name: value for name, value in row.items() if name != "y"}


def of_a_stream(some):
    stream = Stream("y", task="numbers")
    return [stream.answer([row], k, RowErrors())[0]["prediction"] for k, row in enumerate(some, 1)]


def of_bursts(some):
    stream = Stream("y", task="numbers")
    cuts = [0, 1, 9, 100, 101, 280, N]
    parts = [stream.answer(some[a:b], a + 1, RowErrors()) for a, b in pairwise(cuts)]
    return [answer["prediction"] for part in parts for answer in part]


def of_the_command(some):
    text = "".join(json.dumps(row) + "\n" for row in some)
    code, out, _ = command("stream", "--target", "y", stdin=text)
    assert code == 0
    return [json.loads(line)["prediction"] for line in out.splitlines()]


def of_the_server(some, tmp_path):
    pytest.importorskip("fastapi", reason="install greville[serve] to test the server")
    from .serve.conftest import Application

    found = []
    with ExitStack() as stack:
        server = Application(stack, tmp_path, settings={"task": "numbers"})
        for row in some:
            found.append(server.post("/predict", inputs(row))[1]["prediction"])
            assert server.post("/learn", row)[0] == 200
    return found


def of_river(some):
    pytest.importorskip("river", reason="river is not installed")
    from greville.adapters.river import Classifier, Regressor

    model, found = (Regressor if isinstance(some[0]["y"], float) else Classifier)(), []
    for row in some:
        found.append(model.predict_one(inputs(row)))
        model.learn_one(inputs(row), row["y"])
    return [None, *found[1:]]


@pytest.mark.parametrize("door", [of_bursts, of_the_command, of_river, of_the_server])
@pytest.mark.parametrize("target", ["number", "label"])
def test_the_same_rows_get_the_same_predictions(target, door, tmp_path):
    some = rows(target)
    wanted = of_a_stream(some)
    found = door(some, tmp_path) if door is of_the_server else door(some)
    assert found[0] is wanted[0] is None
    if target == "label":
        assert np.mean(np.array(found) == np.array(wanted)) > 0.99  # rounding may turn a tie
    else:
        np.testing.assert_allclose(found[1:], wanted[1:], rtol=1e-4, atol=1e-4)


def test_the_stream_is_better_than_its_model_and_the_last_target():
    for target in ("number", "label"):
        some = rows(target)
        y, found = [row["y"] for row in some], of_a_stream(some)
        plain = [
            answer["prediction"]
            for answer in Stream("y", task="numbers", follow=False).answer(some, 1, RowErrors())
        ]
        if target == "label":
            wrong = [
                np.mean([a != b for a, b in zip(p[1:N], y[1:], strict=True)])
                for p in (found, plain, [None, *y])
            ]
        else:
            pairs = [np.subtract(p[1:N], y[1:N]) for p in (found, plain, [None, *y])]
            wrong = [np.sqrt(np.mean(each**2)) for each in pairs]
        assert wrong[0] <= 1.05 * min(wrong[1:])
