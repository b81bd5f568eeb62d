"""What the page shows of a served model: counts, rates, errors, and the last rows."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

from .engine import Engine
from .learning import News, Row
from .log import LogReader, Run
from .reader import Reader
from .refusals import RequestError

# Rows that are shown and refusals, fields of a row, characters of a field, rows in a second.
_LAST, _LAST_REFUSED, _MOST_FIELDS, _LONGEST, _A_SECOND = 20, 5, 30, 100, 20

# Characters of a refusal in the server's log.
_LONGEST_LINE = 300

# Seconds over which rates are measured, and between two states that are sent.
_RATE_SECONDS, _BETWEEN = 10, 1.0

# Seconds between two looks at a log.
_POLL = 0.05

logger = logging.getLogger("greville.serve")


class Board:
    """What is to be seen of one model. It is used in the thread of the event loop alone.

    Parameters
    ----------
    engine : Engine or Reader
    watchers : int
        How many may watch at once.
    """

    def __init__(self, engine: Engine | Reader, watchers: int) -> None:
        self._engine, self._most_watchers, self._watchers = engine, watchers, 0
        self.predictions = self.refused = self.learned = 0
        self._last: deque[dict[str, Any]] = deque(maxlen=_LAST)
        self._refusals: deque[str] = deque(maxlen=_LAST_REFUSED)
        self._rates = deque([(time.monotonic(), 0, 0)], maxlen=_RATE_SECONDS + 1)
        self._noted: dict[str, tuple[int, int]] = {}  # of a kind in the last second
        self._closing = asyncio.Event()

    # What happens

    def predicted(self, rows: list[Row], answers: list[dict[str, Any]]) -> None:
        self.predictions += len(rows)
        if self._is_rare("prediction"):
            self._note(rows[-1], answers[-1]["prediction"])

    def refuse(self, error: RequestError) -> None:
        self.refused += 1
        if self._is_rare("refusal"):
            self._refusals.appendleft(error.message)
            text = error.message.encode("unicode_escape").decode()  # without ends of lines
            logger.warning("refused with %d: %s", error.status, text[:_LONGEST_LINE])

    def learn(self, news: News) -> None:
        """Rows were learned; they are no longer shown as waiting for their targets."""
        self.learned += news.learned
        ids = {_short(id) for id in news.ids}
        waiting = [each for each in self._last if each["target"] is None and each["id"] in ids]
        for entry in waiting:
            self._last.remove(entry)
        first = self._engine.record.n - len(news.outcomes) + 1
        if self._is_rare("outcomes"):
            for k, outcome in enumerate(news.outcomes, first):
                self._note(outcome.row, outcome.prediction, max(k, 1), outcome.target)

    def tick(self) -> None:
        """Once a second."""
        self._rates.append((time.monotonic(), self.learned, self.predictions))

    def _note(
        self, row: Row, prediction: Any, number: int | None = None, target: Any = None
    ) -> None:
        """Keep a row to be shown: with short values, and not too many fields."""
        hidden = (self._engine.id, self._engine.target)
        shown = [(k, v) for k, v in row.items() if k not in hidden][:_MOST_FIELDS]
        self._last.append(
            {
                "row": number,
                "at": time.time(),
                "id": _short(row.get(self._engine.id)),
                "prediction": _short(prediction),
                "target": _short(target),
                "values": {_short(name): _short(value) for name, value in shown},
            }
        )

    def _is_rare(self, kind: str) -> bool:
        """Whether there were not too many of a kind in this second."""
        second = int(time.monotonic())
        when, n = self._noted.get(kind, (second, 0))
        n = n if when == second else 0
        self._noted[kind] = second, n + 1
        return n < _A_SECOND

    # What is to be seen

    def numbers(self) -> dict[str, Any]:
        """Counts, rates and errors."""
        engine, record = self._engine, self._engine.record
        model = None if engine.published is None else engine.published.model
        is_classes = model is not None and model.task == "classification"
        (t0, l0, p0), (t1, l1, p1) = self._rates[0], self._rates[-1]
        seconds = max(t1 - t0, 1e-9)
        return {
            "rows": 0 if model is None else int(model.n_rows),
            "learned": self.learned,
            "predictions": self.predictions,
            "refused": self.refused,
            "rate": (l1 - l0) / seconds,
            "prediction_rate": (p1 - p0) / seconds,
            "waiting": engine.n_waiting,
            "forgotten": engine.forgotten,
            "error": {
                "name": "share wrong" if is_classes else "mean absolute error",
                "now": record.now,
                "since_start": record.since_start,
                "n": record.n,
            },
        }

    def state(self) -> dict[str, Any]:
        """All that is to be seen."""
        record = self._engine.record
        return {
            **self.numbers(),
            "history": record.history(),
            "alarms": [{"row": row, "at": at} for row, at in record.alarms],
            "last": list(reversed(self._last)),
            "refusals": list(self._refusals),
        }

    # Those who watch

    async def watch(self) -> AsyncIterator[str]:
        """The state, once a second, as events."""
        self._watchers += 1
        try:
            while not self._closing.is_set():
                yield f"event: state\ndata: {json.dumps(self.state())}\n\n"
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), _BETWEEN)
        finally:
            self._watchers -= 1

    async def entries(self, log: LogReader, after: int) -> AsyncIterator[str]:
        """What stands in a log behind a position, as it comes; and its end, once a second."""
        said_at = 0.0
        try:
            while not self._closing.is_set():
                if self._engine.position > after or time.monotonic() - said_at > _BETWEEN:
                    said_at = time.monotonic()
                    runs: Sequence[Run | None] = await asyncio.to_thread(log.next_runs, after)
                    for run in runs or [None]:
                        entry = None if run is None else run._asdict()
                        content = {"position": self._engine.position, "run": entry}
                        yield f"event: log\ndata: {json.dumps(content)}\n\n"
                        after = after if run is None else run.position
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), _POLL)
        finally:
            log.close()

    def check_room(self) -> None:
        """A RequestError if too many watch already."""
        if self._watchers >= self._most_watchers:
            raise RequestError(429, f"{self._watchers} clients watch already; try again later.")

    def close(self) -> None:
        """End all streams of events."""
        self._closing.set()


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        return value[: _LONGEST - 1] + "…"
    if isinstance(value, list) and len(value) > _MOST_FIELDS:
        return f"{len(value):,} numbers"
    return value
