"""The server: requests to models that learn over HTTP."""

import json
import re
from functools import cache

from .cases import case
from .doors import Server
from .outcome import steady
from .streams import sensor

# Each case has a model of its own, so that any of them may run alone.
MODELS = (
    "learn",
    "predict",
    "late",
    "retry",
    "unlearn",
    "wrong",
    "classes",
    "forms",
    "monitor",
    "std",
)


@cache
def several():
    """One server with a new model for each case."""
    files = [f"{name}.greville" for name in MODELS]
    return Server(*files, "--target", "flow", "--hidden", "10", "--no-sync")


class Model:
    """Requests to one model of the server."""

    def __init__(self, name):
        self._at = f"/models/{name}"

    def post(self, path, content, **headers):
        """The status and the answer."""
        names = {key.replace("_", "-"): value for key, value in headers.items()}
        return shown(several().ask("POST", self._at + path, content, names))

    def get(self, path):
        """The status and the answer."""
        return shown(several().ask("GET", self._at + path))


def shown(answer):
    """An answer as it is recorded."""
    status, content = answer
    if isinstance(content, str) and content.startswith("{"):
        content = [json.loads(line) for line in content.splitlines()]
    elif isinstance(content, str):
        content = steady(content)[:200]
    return [status, content]


def without(row, *names):
    """The row without some of its fields."""
    return {key: value for key, value in row.items() if key not in names}


@case("server/learn")
def learns():
    """Rows one by one and together, and positions."""
    model, rows = Model("learn"), sensor(120)
    found = {"one": model.post("/learn", rows[0]), "many": model.post("/learn", rows[1:100])}
    lines = "".join(json.dumps(row) + "\n" for row in rows[100:])
    found["lines"] = model.post("/learn", lines, Content_Type="application/x-ndjson")
    described = model.get("/model")
    for changing in (
        "size",
        "bytes",
        "snapshot",
        "started",
        "age",
        "seconds",
        "created",
        "version",
    ):
        described[1].pop(changing, None)
    return {
        **found,
        "model": described[0],
        "fields": sorted(described[1]),
        "described": _steady(described[1]),
    }


def _steady(value):
    """What does not depend on the time or the machine."""
    if isinstance(value, dict):
        return {
            k: _steady(v)
            for k, v in value.items()
            if not re.search("second|time|size|bytes|memory|version", k)
        }
    return [_steady(each) for each in value] if isinstance(value, list) else value


@case("server/predict")
def predicts():
    """Before and after rows were learned, one and many, with gaps and unknown fields."""
    model, rows = Model("predict"), sensor(120)
    ask = [without(row, "flow") for row in rows]
    found = {"before": model.post("/predict", ask[0])}
    model.post("/learn", rows[:100])
    return {
        **found,
        "one": model.post("/predict", ask[100]),
        "many": model.post("/predict", ask[101:104]),
        "none": model.post("/predict", []),
        "gaps": model.post("/predict", {"inlet": 0.5}),
        "null": model.post("/predict", {"inlet": None, "level": 1.0}),
        "unknown field": model.post("/predict", {**ask[0], "colour": "red"}),
        "unknown value": model.post("/predict", {**ask[0], "valve": "stuck"}),
        "with target": model.post("/predict", rows[100]),
        "lines": model.post(
            "/predict", json.dumps(ask[100]) + "\n", Content_Type="application/x-ndjson"
        ),
    }


@case("server/std")
def says_how_sure_it_is():
    """Standard errors and intervals."""
    model, rows = Model("std"), sensor(100)
    model.post("/learn", rows[:90])
    ask = without(rows[95], "flow")
    return {
        "std": model.post("/predict?std", ask),
        "std=true": model.post("/predict?std=true", ask),
        "proba": model.post("/predict?proba", ask),
        "unknown": model.post("/predict?colour", ask),
    }


@case("server/late-targets")
def late_targets():
    """Rows wait for their targets under an id."""
    model, rows = Model("late"), sensor(60)
    model.post("/learn", rows[:50])
    ask = {"id": "a-1", **without(rows[50], "flow")}
    return {
        "predict": model.post("/predict", ask),
        "predict again": model.post("/predict", ask),
        "another row": model.post("/predict", {**ask, "inlet": 5.0}),
        "learn": model.post("/learn", {"id": "a-1", "flow": rows[50]["flow"]}),
        "learn again": model.post("/learn", {"id": "a-1", "flow": rows[50]["flow"]}),
        "another target": model.post("/learn", {"id": "a-1", "flow": 9.0}),
        "unknown id": model.post("/learn", {"id": "b-1", "flow": 1.0}),
        "whole row with id": model.post("/learn", {"id": 17, **rows[51]}),
        "id a list": model.post("/predict", {**ask, "id": [1]}),
        "id null": model.post("/predict", {**ask, "id": None}),
        "id a fraction": model.post("/predict", {**ask, "id": 1.5}),
    }


@case("server/retry")
def retries():
    """A key makes a request count once."""
    model, rows = Model("retry"), sensor(40)
    first = model.post("/learn", rows[:20], Idempotency_Key="k1")
    return {
        "first": first,
        "again": model.post("/learn", rows[:20], Idempotency_Key="k1"),
        "another body": model.post("/learn", rows[:10], Idempotency_Key="k1"),
        "another key": model.post("/learn", rows[20:], Idempotency_Key="k2"),
        "empty key": model.post("/learn", rows[:1], Idempotency_Key=""),
        "long key": model.post("/learn", rows[:1], Idempotency_Key="k" * 2000),
    }


@case("server/unlearn")
def unlearns():
    """Rows are removed by id, or whole."""
    model, rows = Model("unlearn"), sensor(80)
    model.post("/learn", [{"id": i, **row} for i, row in enumerate(rows[:60])])
    model.post("/learn", rows[60:])
    return {
        "by id": model.post("/unlearn", {"id": 3}),
        "again": model.post("/unlearn", {"id": 3}),
        "unknown id": model.post("/unlearn", {"id": 999}),
        "several": model.post("/unlearn", [{"id": 4}, {"id": 5}]),
        "whole row": model.post("/unlearn", rows[70]),
        "without target": model.post("/unlearn", without(rows[71], "flow")),
        "predict": model.post("/predict", without(rows[0], "flow")),
    }
