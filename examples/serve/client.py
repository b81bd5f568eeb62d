"""A client of `greville serve`, with the standard library alone.

As a program it predicts the rows of a file, one JSON object a line, and brings their targets later,
as they become known in real life:

    python client.py sensor.jsonl --target flow

Each row has an id, so that a second run with the same file learns nothing twice.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request
import uuid
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

# The server, or what is in front of it, says with these that the request may come again.
TRY_AGAIN = {408, 429, 502, 503, 504}


class Refused(Exception):
    """The server's answer: what was wrong, in one sentence, and the field where that is known."""

    def __init__(self, status: int, sentence: str, field: str | None = None) -> None:
        super().__init__(f"{status}: {sentence}")
        self.status, self.sentence, self.field = status, sentence, field


class Client:
    """Predicts, learns and unlearns; sends a request again when there is no answer.

    Parameters
    ----------
    address : str
        Of the server; for one of several models, with ``/models/NAME`` at its end.
    token : str, optional
        If the server wants one.
    attempts : int
        How often a request is sent at most.
    timeout : float
        Seconds to wait for an answer.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        token: str | None = None,
        *,
        attempts: int = 6,
        timeout: float = 30.0,
    ) -> None:
        self.address, self.attempts, self.timeout = address.rstrip("/"), attempts, timeout
        self.headers = {"Content-Type": "application/json"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"

    def predict(self, rows: Row | list[Row], *, std: bool = False, proba: bool = False) -> Any:
        """An answer for a row, a list of answers for a list."""
        wanted = [name for name, asked in (("std", std), ("proba", proba)) if asked]
        return self._ask("/predict" + ("?" + "&".join(wanted) if wanted else ""), rows)

    def learn(self, rows: Row | list[Row]) -> Any:
        """Rows with targets, or ids of predicted rows with targets; on disk when this returns."""
        return self._ask("/learn", rows)

    def unlearn(self, rows: Row | list[Row]) -> Any:
        """Rows with targets, or ids of learned rows, as if they had never been learned."""
        return self._ask("/unlearn", rows)

    def model(self) -> Any:
        """What the model is."""
        return self._ask("/model")

    def _ask(self, path: str, rows: Row | list[Row] | None = None) -> Any:
        request = urllib.request.Request(self.address + path, headers=self.headers)
        if rows is not None:
            request.data = json.dumps(rows, allow_nan=False).encode()
            # One key for all attempts: the server may have learned the first one, and only its
            # answer was lost.
            request.add_header("Idempotency-Key", uuid.uuid4().hex)
        for attempt in range(1, self.attempts + 1):
            last = attempt == self.attempts
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    if last or error.code not in TRY_AGAIN:
                        raise _refused(error) from None
                    wait = _seconds(error.headers.get("Retry-After"))
            except (OSError, http.client.HTTPException):  # no connection, or it broke
                if last:
                    raise
                wait = 0.0
            # Twice as long each time, and never all clients at the same moment.
            time.sleep(wait + random.uniform(0.5, 1) * min(10.0, 0.1 * 2**attempt))
        raise AssertionError("the last attempt returns or raises")


def _refused(error: urllib.error.HTTPError) -> Refused:
    try:
        said = json.loads(error.read())
        return Refused(error.code, said["error"], said.get("field"))
    except (ValueError, KeyError, TypeError):  # not from greville: a proxy's
        return Refused(error.code, error.reason)


def _seconds(text: str | None) -> float:
    """Of a header Retry-After; dates in it are not read."""
    return min(60.0, float(text)) if text and text.isdigit() else 0.0


def late_targets(
    client: Client, rows: list[Row], target: str, delay: int, name: str = "row"
) -> Iterator[float]:
    """Predict each row; bring its target when `delay` more have been predicted. The errors.

    Ids begin with `name`. The error of a class is 1 if it is wrong, and 0 if it is right.
    """
    waiting: deque[tuple[Row, Any]] = deque()
    for number, row in enumerate([*rows, *[None] * delay], 1):
        if row is not None:
            given = {name: value for name, value in row.items() if name != target}
            answer = client.predict({"id": f"{name}-{number}", **given})
            waiting.append((answer, row[target]))
        if waiting and (row is None or len(waiting) > delay):
            answer, truth = waiting.popleft()
            client.learn({"id": answer["id"], target: truth})
            predicted = answer["prediction"]
            if isinstance(predicted, float):
                yield abs(predicted - float(truth))
            elif predicted is not None:
                yield float(predicted != truth)


def main() -> None:
    parser = argparse.ArgumentParser(description="Predict rows, and bring their targets later.")
    parser.add_argument("file", type=Path, help="one JSON object a line")
    parser.add_argument("--target", required=True)
    parser.add_argument("--address", default="http://127.0.0.1:8000")
    parser.add_argument("--delay", type=int, default=10, help="rows until a target is known")
    options = parser.parse_args()
    text = options.file.read_text()
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    name = hashlib.sha256(text.encode()).hexdigest()[:12]  # other files have other ids
    client = Client(options.address, os.environ.get("GREVILLE_TOKEN"))
    errors = list(late_targets(client, rows, options.target, options.delay, name))
    last = errors[-1000:]
    print(f"{len(rows):,} rows; the server's model has learned {client.model()['rows']:,}")
    if last:
        print(f"mean error of the last {len(last):,} predictions: {sum(last) / len(last):.4f}")


if __name__ == "__main__":
    main()
