"""Rows from the bodies of requests, and answers as bodies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from ..tables.readers.json import is_text
from .errors import RequestError
from .limits import Limits

JSON, NDJSON = "application/json", "application/x-ndjson"

# Squares of larger numbers, and sums of them, would be infinite.
_LARGEST = 1e100

Row = dict[str, Any]


@dataclass(frozen=True)
class Body:
    """Rows, and whether they came as one object, as a list, or as lines."""

    rows: list[Row]
    form: str

    def answer(self, answers: Sequence[Any]) -> tuple[bytes, str]:
        """Answers to the rows, in the same form, and their content type."""
        if self.form == "lines":
            return "".join(json.dumps(each) + "\n" for each in answers).encode(), NDJSON
        content = answers[0] if self.form == "one" else answers
        return json.dumps(content).encode(), JSON


def read_body(content: bytes, content_type: str, limits: Limits) -> Body:
    """The rows of a body; a RequestError if it has none."""
    if not content.strip():
        raise RequestError(400, "The body is empty; send a JSON object, or a list of them.")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == NDJSON:
        lines = [(k, line) for k, line in enumerate(content.split(b"\n"), 1) if line.strip()]
        _check_count(len(lines), limits)
        names = [f"line {k:,}" for k, _ in lines]
        parsed = [_parsed(line, name) for (_, line), name in zip(lines, names, strict=True)]
        form = "lines"
    else:
        found = _parsed(content, "the body")
        form = "many" if isinstance(found, list) else "one"
        parsed = found if isinstance(found, list) else [found]
        _check_count(len(parsed), limits)
        names = ["the body"] if form == "one" else [f"row {k:,}" for k in range(1, len(parsed) + 1)]
    for row, name in zip(parsed, names, strict=True):
        _check_row(row, name, limits)
    return Body(parsed, form)


def _check_count(n: int, limits: Limits) -> None:
    if n == 0:
        raise RequestError(400, "The body has no row; send a JSON object, or a list of them.")
    if n > limits.rows:
        raise RequestError(
            413, f"The body has {n:,} rows; send at most {limits.rows:,} in a request."
        )


def _parsed(text: bytes, name: str) -> Any:
    try:
        return _decode(text.decode())
    except UnicodeDecodeError as error:
        raise RequestError(
            400, f"{_capital(name)} is not text in UTF-8 ({error.reason})."
        ) from None
    except RecursionError:
        raise RequestError(
            400, f"{_capital(name)} has lists or objects that are nested too deep."
        ) from None
    except json.JSONDecodeError as error:
        raise RequestError(400, f"{_capital(name)} is not JSON: {error}.") from None
    except ValueError as error:
        what = "a number has too many digits" if "set_int_max_str_digits" in str(error) else error
        raise RequestError(400, f"{_capital(name)} cannot be used: {what}.") from None


def _not_a_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON; leave the field out, or send null")


def _object(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the field {shown(name)} is there twice")
            seen.add(name)
    return row


_decode = json.JSONDecoder(parse_constant=_not_a_number, object_pairs_hook=_object).decode


def _check_row(row: Any, name: str, limits: Limits) -> None:
    if not isinstance(row, dict):
        raise RequestError(
            400, f"{_capital(name)} is not a JSON object with a field for each column."
        )
    if not row:
        raise RequestError(422, f"{_capital(name)} has no field; send one for each column.")
    if len(row) > limits.columns:
        raise RequestError(
            413, f"{_capital(name)} has {len(row):,} fields; send at most {limits.columns:,}."
        )
    for field, value in row.items():
        if not field.isascii() and not is_text(field):
            raise RequestError(
                422,
                f"{_capital(name)}: a field's name has an unpaired surrogate; send valid Unicode.",
            )
        kind = type(value)
        if kind is float or kind is int:
            if not -_LARGEST <= value <= _LARGEST:
                raise RequestError(
                    422,
                    f"{_capital(name)}: the field {shown(field)} is infinite or too large; "
                    "numbers may be up to 1e100.",
                    field,
                )
            continue
        if kind is dict or (kind is list and not _are_numbers(value)):
            raise RequestError(
                422,
                f"{_capital(name)}: the field {shown(field)} cannot be used; send text, a number, "
                "true, false, null or a list of numbers.",
                field,
            )
        if kind is str and not value.isascii() and not is_text(value):
            raise RequestError(
                422, f"{_capital(name)}: the field {shown(field)} has half of a character.", field
            )


def _are_numbers(values: list[Any]) -> bool:
    """Whether it is a list of numbers, such as an embedding."""
    return all((type(v) is float or type(v) is int) and abs(v) <= _LARGEST for v in values)


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def shown(value: Any) -> str:
    """A name or a value in a message, not longer than a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
