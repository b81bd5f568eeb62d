"""What the server's own description says about rows and answers."""

from __future__ import annotations

from typing import Any

from .bodies import JSON, NDJSON

TEXT = (
    "A model that answers and learns. Rows are JSON objects with a field for each column. What is "
    "learned is on the disk before it is acknowledged."
)

_ROW = {"type": "object", "additionalProperties": True}
_ROWS = {"oneOf": [_ROW, {"type": "array", "items": _ROW}]}
_LINES = {"type": "string", "description": "One JSON object a line."}
_ERROR = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "One sentence."},
        "field": {"type": ["string", "null"], "description": "The field that is meant."},
    },
}
REFUSED: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "description": "What is wrong, in one sentence.",
        "content": {JSON: {"schema": _ERROR}},
    }
}


def _rows(example: Any, answer: Any, *parameters: dict[str, Any]) -> dict[str, Any]:
    content = {JSON: {"schema": _ROWS, "example": example}, NDJSON: {"schema": _LINES}}
    body = {"required": True, "content": content}
    return {
        "openapi_extra": {"requestBody": body, "parameters": list(parameters)},
        "responses": {200: {"content": {JSON: {"example": answer}}}},
    }


def _flag(name: str, description: str) -> dict[str, Any]:
    flag = {"name": name, "in": "query", "allowEmptyValue": True, "description": description}
    return {**flag, "schema": {"type": "boolean", "default": False}}


# Characters of an Idempotency-Key.
LONGEST_KEY = 200

_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
    "description": "A request that is repeated with the same key is done once.",
}
_LEARNED = {"learned": 1, "repeated": 0, "position": 1204}

PREDICT = {
    "summary": "Predict rows",
    **_rows(
        {"id": 17, "area": 80, "city": "Oslo"},
        {"prediction": 402.1, "id": 17},
        _flag("std", "Add a standard deviation and an interval for nine of ten targets."),
        _flag("proba", "Add the probability of each class."),
    ),
}
LEARN = {
    "summary": "Learn rows",
    **_rows({"area": 80, "city": "Oslo", "price": 410.5}, _LEARNED, _KEY),
}
UNLEARN = {
    "summary": "Unlearn rows",
    **_rows({"id": 17}, {"unlearned": 1, "position": 1205}, _KEY),
}
MODEL = {"summary": "What the model is"}
FILE = {
    "summary": "The model as a file",
    "responses": {200: {"content": {"application/octet-stream": {}}}},
    "openapi_extra": {"parameters": [_flag("log", "With its place in the log, for a replica.")]},
}
EVENTS = {
    "summary": "Events as they happen",
    "responses": {200: {"content": {"text/event-stream": {}}}},
}

_AFTER = {"name": "after", "in": "query", "required": True, "schema": {"type": "integer"}}
_UID = {"name": "log", "in": "query", "required": True, "schema": {"type": "string"}}
LOG = {
    "summary": "What is learned, for replicas",
    "responses": {200: {"content": {"text/event-stream": {}}}},
    "openapi_extra": {"parameters": [_AFTER, _UID]},
}

NAME = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}


def with_token(schema: dict[str, Any]) -> dict[str, Any]:
    """A description that says how a token is sent, if one is needed."""
    token = {"type": "http", "scheme": "bearer"}
    return {
        **schema,
        "components": {**schema.get("components", {}), "securitySchemes": {"token": token}},
        "security": [{}, {"token": []}],
    }
