"""What the page shows of a served model: counts, rates, the last rows, and events."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from .engine import Engine
from .errors import RequestError
from .learning import News, Outcome, Row
from .reading import Reader

# Rows that are shown, fields of each, characters of a field, and events of a kind in a second.
_LAST, _MOST_FIELDS, _LONGEST, _A_SECOND = 20, 30, 100, 20

# Characters of a refusal in the server's log.
_LONGEST_LINE = 300

# Seconds over which rates are measured, and events that wait for someone who reads slowly.
_RATE_SECONDS, _MOST_EVENTS = 10, 500

# The interval around a prediction in which nine of ten targets lie: so many standard deviations.
NINE_OF_TEN = 1.6448536269514722


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
        self._engine, self._most_watchers = engine, watchers
        self.predictions = self.refused = self.learned = 0
        self._last: deque[tuple[float, int | None, Row, Any, Any]] = deque(maxlen=_LAST)
        self._watchers: set[asyncio.Queue[bytes | None]] = set()
        self._rates: deque[tuple[float, int, int]] = deque(maxlen=_RATE_SECONDS + 1)
        self._sent: dict[str, tuple[int, int]] = {}  # events of a kind in the last second

    # What happens

    def predicted(self, rows: list[Row], answers: list[dict[str, Any]]) -> None:
        self.predictions += len(rows)
        if self._may_send("prediction"):
            entry = time.time(), None, _kept(rows[-1]), answers[-1], None
            self._last.append(entry)
            if self._watchers:
                self._send("prediction", self._entry(*entry))

    def refuse(self, error: RequestError) -> None:
        self.refused += 1
        if self._may_send("log"):
            text = error.message.encode("unicode_escape").decode()  # without ends of lines
            logger.warning("refused with %d: %s", error.status, text[:_LONGEST_LINE])
        if self._watchers and self._may_send("refused"):
            self._send("refused", error.as_dict())

    def learn(self, news: News) -> None:
        """Rows were learned."""
        self.learned += news.learned
        now, n = time.time(), self._engine.record.n
        self._drop_predictions(news.ids)
        for k, outcome in enumerate(news.outcomes, n - len(news.outcomes) + 1):
            entry = now, max(k, 1), _kept(outcome.row), _as_answer(outcome), outcome.target
            self._last.append(entry)
            if self._watchers and self._may_send("outcome"):
                self._send("outcome", self._entry(*entry))
        for row, at in news.alarms:
            self._send("alarm", {"row": row, "at": at})

    def _drop_predictions(self, ids: set[Any]) -> None:
        """No longer show rows as waiting whose targets have come, seen or not."""
        if ids:
            name, shown = self._engine.id, {_short(id) for id in ids}
            entries = [
                entry
                for entry in self._last
                if entry[4] is not None or _short(entry[2].get(name)) not in shown
            ]
            self._last = deque(entries, maxlen=_LAST)

    def tick(self) -> None:
        """Once a second."""
        self._rates.append((time.monotonic(), self.learned, self.predictions))
        if self._watchers:
            self._send("tick", {**self.numbers(), "point": self._engine.record.point()})

    # What is to be seen

    def numbers(self) -> dict[str, Any]:
        """Counts, rates and errors."""
        engine, record = self._engine, self._engine.record
        model = None if engine.published is None else engine.published.model
        is_classes = model is not None and model.task == "classification"
        learned, predicted = self._measured_rates()
        return {
            "rows": 0 if model is None else int(model.n_rows),
            "learned": self.learned,
            "predictions": self.predictions,
            "refused": self.refused,
            "rate": learned,
            "prediction_rate": predicted,
            "waiting": engine.n_waiting,
            "forgotten": engine.forgotten,
            "error": {
                "name": "share wrong" if is_classes else "mean absolute error",
                "now": record.now,
                "since_start": record.since_start,
                "n": record.n,
            },
            "alarms": [{"row": row, "at": at} for row, at in record.alarms],
        }

    def state(self) -> dict[str, Any]:
        """All that is to be seen."""
        return {
            **self.numbers(),
            "history": self._engine.record.history(),
            "last": [self._entry(*entry) for entry in reversed(self._last)],
        }

    def _measured_rates(self) -> tuple[float, float]:
        if len(self._rates) < 2:
            return 0.0, 0.0
        (t0, l0, p0), (t1, l1, p1) = self._rates[0], self._rates[-1]
        seconds = max(t1 - t0, 1e-9)
        return (l1 - l0) / seconds, (p1 - p0) / seconds

    def _entry(
        self, at: float, number: int | None, row: Row, answer: Any, target: Any
    ) -> dict[str, Any]:
        """A row as it is shown."""
        hidden = (self._engine.id, self._engine.target)
        shown = [(k, v) for k, v in row.items() if k not in hidden][:_MOST_FIELDS]
        prediction, std = answer.get("prediction"), answer.get("std")
        return {
            "row": number,
            "at": at,
            "id": row.get(self._engine.id),
            "prediction": _short(prediction),
            "std": std,
            "interval": interval(prediction, std),
            "target": _short(target),
            "values": {_short(name): _short(value) for name, value in shown},
        }

    # Those who watch

    async def watch(self) -> AsyncIterator[bytes]:
        """Events, from now on, as lines of a stream of events."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_MOST_EVENTS)
        self._watchers.add(queue)
        try:
            yield _event("state", self.state())
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), timeout=15)
                except TimeoutError:
                    yield b": still here\n\n"  # so that nothing between takes it for dead
                    continue
                if event is None:
                    return
                yield event
        finally:
            self._watchers.discard(queue)

    def check_room(self) -> None:
        """A RequestError if too many watch already."""
        if len(self._watchers) >= self._most_watchers:
            raise RequestError(
                429, f"{len(self._watchers)} clients watch events already; try again later."
            )

    def close(self) -> None:
        """End all streams of events."""
        for queue in self._watchers:
            while queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        event = _event(kind, content)
        for queue in self._watchers:
            if not queue.full():  # who reads too slowly misses some
                queue.put_nowait(event)

    def _may_send(self, kind: str) -> bool:
        """Whether there were not too many of a kind in this second."""
        second = int(time.monotonic())
        when, n = self._sent.get(kind, (second, 0))
        n = n if when == second else 0
        self._sent[kind] = second, n + 1
        return n < _A_SECOND


def interval(prediction: Any, std: Any) -> list[float] | None:
    """Where nine of ten targets are to be expected."""
    if not isinstance(prediction, float) or not isinstance(std, float):
        return None
    return [prediction - NINE_OF_TEN * std, prediction + NINE_OF_TEN * std]


def _kept(row: Row) -> Row:
    """A row that is kept to be shown: with short values, and not too many fields."""
    if len(row) <= _MOST_FIELDS and not any(map(_is_long, row.values())):
        return row
    return {_short(name): _short(value) for name, value in list(row.items())[: 2 * _MOST_FIELDS]}


def _as_answer(outcome: Outcome) -> dict[str, Any]:
    return {"prediction": outcome.prediction, "std": outcome.std}


def _is_long(value: Any) -> bool:
    return isinstance(value, (str, list)) and len(value) > _MOST_FIELDS


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        return value[: _LONGEST - 1] + "…"
    if isinstance(value, list) and len(value) > _MOST_FIELDS:
        return f"{len(value):,} numbers"
    return value


def _event(kind: str, content: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(content)}\n\n".encode()
