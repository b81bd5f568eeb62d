"""What the server's own description says about each path."""

from __future__ import annotations

from typing import Any

DESCRIPTION = (
    "A model that answers and learns. Rows are JSON objects with a field for each column. What is "
    "learned is on the disk before it is acknowledged."
)

_ROW = {"type": "object", "additionalProperties": True}
_ERROR = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "One sentence."},
        "field": {"type": ["string", "null"], "description": "The field that is meant."},
    },
}
_IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 200},
    "description": "A request that is repeated with the same key is done once.",
}

_EXAMPLES: dict[str, dict[str, Any]] = {
    "predict": {"id": 17, "area": 80, "city": "Oslo"},
    "learn": {"area": 80, "city": "Oslo", "price": 410.5},
    "unlearn": {"id": 17},
}
_ANSWERS: dict[str, dict[str, Any]] = {
    "predict": {"prediction": 402.1, "id": 17},
    "learn": {"learned": 1, "repeated": 0, "position": 1204},
    "unlearn": {"unlearned": 1, "position": 1205},
    "describe": {
        "name": "houses",
        "target": "price",
        "task": "regression",
        "rows": 1203,
        "solver": "opium",
        "units": 100,
        "epsilon": 0.01,
        "columns": [{"name": "area", "what": "number"}],
        "id": "id",
        "position": 1205,
        "waiting": 3,
    },
}

_TEXTS = {
    "predict": (
        "Predict rows",
        "A row with an id is kept, on the disk, until its target comes with /learn.",
    ),
    "learn": (
        "Learn rows",
        "Rows with their targets, or ids of kept rows with targets; all of a request or none. "
        "Answered when they are on the disk. An id that was learned before is counted as repeated. "
        "After 100 targets in ascending or descending order the answer has a warning.",
    ),
    "unlearn": (
        "Unlearn rows",
        "Rows with their targets, or ids of rows that were learned: as if they had never come.",
    ),
    "describe": ("What the model is", "What greville info says, and how far the model has come."),
    "file": ("The model as a file", "For greville predict, greville.load, or another server."),
    "events": (
        "Events as they happen",
        "Server-sent events: state (once), tick (each second), prediction, outcome, alarm, "
        "refused. Each has one JSON object.",
    ),
}


def operation(name: str, several: bool) -> dict[str, Any]:
    """What FastAPI is told about a path."""
    summary, description = _TEXTS[name]
    extra: dict[str, Any] = {"parameters": []}
    if several:
        extra["parameters"].append(
            {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
        )
    responses: dict[int | str, dict[str, Any]] = {
        "4XX": {
            "description": "What is wrong, in one sentence.",
            "content": {"application/json": {"schema": _ERROR}},
        }
    }
    if name in _EXAMPLES:
        extra["requestBody"] = _body(_EXAMPLES[name])
    if name in _ANSWERS:
        content = {"application/json": {"example": _ANSWERS[name]}}
        responses[200] = {"description": "Done.", "content": content}
    if name == "predict":
        extra["parameters"] += [
            _flag("std", "Add a standard deviation and an interval for nine of ten targets."),
            _flag("proba", "Add the probability of each class."),
        ]
    elif name in ("learn", "unlearn"):
        extra["parameters"].append(_IDEMPOTENCY)
    elif name == "file":
        responses[200] = {"description": "The file.", "content": {"application/octet-stream": {}}}
    elif name == "events":
        responses[200] = {"description": "Events.", "content": {"text/event-stream": {}}}
    return {
        "summary": summary,
        "description": description,
        "openapi_extra": extra,
        "responses": responses,
    }


def _flag(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "allowEmptyValue": True,
        "schema": {"type": "boolean", "default": False},
        "description": description,
    }


def _body(example: dict[str, Any]) -> dict[str, Any]:
    schema = {"oneOf": [_ROW, {"type": "array", "items": _ROW}]}
    lines = {"type": "string", "description": "One JSON object a line."}
    return {
        "required": True,
        "content": {
            "application/json": {"schema": schema, "example": example},
            "application/x-ndjson": {"schema": lines},
        },
    }
