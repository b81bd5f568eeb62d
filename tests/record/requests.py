"""The server: requests that are refused, what watches it, and how it starts and ends."""

import re
from functools import cache

from .cases import case
from .doors import Server, command
from .outcome import about
from .server import Model, several, shown, without
from .streams import sensor

TOKEN = "a-token-of-enough-letters"


@cache
def _single():
    """A server with one model and small limits."""
    limits = ("--max-rows", "5", "--max-body", "2KB", "--max-columns", "8", "--max-waiting", "2")
    return Server("flow.greville", "--target", "flow", "--hidden", "10", "--no-sync", *limits)


BODIES = {
    "not-json": "hello",
    "empty": "",
    "a-number": "5",
    "a-text": '"row"',
    "list-of-numbers": "[1, 2]",
    "nan": '{"inlet": NaN, "flow": 1}',
    "infinite": '{"inlet": 1e999, "flow": 1}',
    "text-for-target": '{"inlet": 1, "flow": "high"}',
    "no-target": '{"inlet": 1}',
    "null-target": '{"inlet": 1, "flow": null}',
    "second-of-two": '[{"inlet": 1, "flow": 1}, {"inlet": 1, "flow": "x"}]',
    "duplicate-name": '{"inlet": 1, "inlet": 2, "flow": 1}',
    "nested": '{"inlet": {"a": 1}, "flow": 1}',
    "not-utf8": b'{"inlet": "\xff", "flow": 1}',
    "deep": "[" * 200 + "]" * 200,
}


@case("server/wrong")
def refuses():
    """Bodies that cannot be used; the model learns nothing from them."""
    model = Model("wrong")
    model.post("/learn", [without(row, "valve") for row in sensor(50)])
    found = {name: model.post("/learn", body) for name, body in BODIES.items()}
    return {**found, "position": model.get("/model")[1].get("position")}


@case("server/forms")
def other_requests():
    """Methods, types of content, and addresses that do not exist."""
    server, model = several(), Model("forms")
    return {
        "get": model.get("/predict"),
        "put": shown(server.ask("PUT", "/models/forms/learn", {})),
        "text": model.post("/learn", "a,b\n1,2\n", Content_Type="text/csv"),
        "no type": model.post("/learn", '{"inlet": 1, "flow": 1}', Content_Type=""),
        "unknown model": shown(server.ask("POST", "/models/none/predict", {})),
        "unknown path": shown(server.ask("GET", "/nothing")),
        "short address": shown(server.ask("POST", "/predict", {})),
        "foreign host": shown(server.ask("GET", "/models", None, {"Host": "example.org"})),
        "foreign origin": model.post("/learn", "{}", Origin="https://example.org"),
    }


@case("server/classes")
def classes():
    """Labels, and the probabilities of those known so far."""
    model = Model("classes")
    rows = [{**row, "flow": "high" if row["flow"] > 0 else "low"} for row in sensor(80)]
    ask = without(rows[70], "flow")
    return {
        "learn": model.post("/learn", rows[:60]),
        "predict": model.post("/predict", ask),
        "proba": model.post("/predict?proba", ask),
        "std": model.post("/predict?std", ask),
        "new class": model.post("/learn", {**ask, "flow": "none"}),
        "proba of three": model.post("/predict?proba", ask),
        "number as label": model.post("/learn", {**ask, "flow": 5}),
    }


@case("server/monitor")
def is_watched():
    """What is for people and for what watches servers."""
    server, model = several(), Model("monitor")
    model.post("/learn", sensor(30))
    status, metrics = server.ask("GET", "/metrics")
    ours = [
        line
        for line in metrics.splitlines()
        if 'model="monitor"' in line and "age_seconds" not in line
    ]
    openapi = server.ask("GET", "/openapi.json")[1]
    page = server.ask("GET", "/")
    return {
        "health": shown(server.ask("GET", "/health")),
        "ready": shown(server.ask("GET", "/ready")),
        "models": [each if isinstance(each, str) else sorted(each) for each in _listed(server)][:3],
        "metrics": [
            status,
            sorted(
                {line.split("{")[0].split(" ")[-1] for line in metrics.splitlines() if "{" in line}
            ),
        ],
        "counts": [line for line in ours if "error" not in line],
        "error": [about(line.rsplit(" ", 1)[1]) for line in ours if "error" in line],
        "paths": {path: sorted(methods) for path, methods in openapi["paths"].items()},
        "page": [page[0], re.search("<title>(.*?)</title>", page[1])[1]],
        "docs": server.ask("GET", "/docs")[0],
        "file": server.ask("GET", "/models/monitor/model/file")[0],
    }


def _listed(server):
    found = server.ask("GET", "/models")[1]
    return found if isinstance(found, list) else next(iter(found.values()))


@case("server/limits")
def has_limits():
    """Too many rows, bytes, fields, and rows that wait."""
    server, rows = _single(), [without(row, "flow") for row in sensor(9)]

    def post(path, content):
        return shown(server.ask("POST", path, content))

    return {
        "rows": post("/predict", rows),
        "bytes": post("/predict", {"inlet": "x" * 3000}),
        "fields": post("/predict", {f"f{i}": i for i in range(20)}),
        "waiting": [post("/predict", {"id": i, **rows[i]})[0] for i in range(4)],
        "short address": post("/learn", sensor(3)),
        "other address": post("/models/flow/predict", rows[0])[0],
    }


@case("server/token")
def wants_a_token():
    """With a token, nothing is said without it; and the server ends as printed."""
    server = Server(
        "flow.greville", "--target", "flow", "--hidden", "5", environment={"GREVILLE_TOKEN": TOKEN}
    )
    right, wrong = ({"Authorization": f"Bearer {each}"} for each in (TOKEN, "other"))
    found = {
        "without": shown(server.ask("GET", "/model")),
        "wrong": shown(server.ask("GET", "/model", None, wrong)),
        "right": server.ask("GET", "/model", None, right)[0],
        "ready": shown(server.ask("GET", "/ready")),
        "learn": shown(server.ask("POST", "/learn", sensor(5), right)),
    }
    return {**found, "exit": server.end()}


@case(
    "server/refused/{arguments}",
    arguments={
        "no-target": ("flow.greville",),
        "address-without-token": ("flow.greville", "--target", "y", "--host", "0.0.0.0"),
        "read-only-nothing": ("--read-only", "nothing.greville"),
        "follow-nothing": ("--follow", "nothing.greville"),
        "follow-nobody": ("--follow", "http://127.0.0.1:1"),
        "wrong-size": ("flow.greville", "--target", "y", "--max-body", "large"),
        "two-of-one-name": ("flow.greville", "flow.greville", "--target", "y"),
    },
)
def does_not_start(arguments):
    """Options with which no server starts."""
    code, _, err = command("serve", *arguments, "--port", "0")
    return {"exit": code, "stderr": err.strip().splitlines()[-3:]}
