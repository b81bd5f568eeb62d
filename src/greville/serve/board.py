"""What the page shows of a served model: errors, counts, the last rows, and what was refused."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field

from .bodies import RequestError
from .log import Row

# Errors that count as now, points of the curve, and alarms that are remembered.
_RECENT, _MOST_POINTS, _MOST_ALARMS = 1000, 240, 100

# Rows that are remembered, those that are shown, their fields, and the characters of a field.
_REMEMBERED, _SHOWN, _MOST_FIELDS, _LONGEST = 256, 20, 30, 100

# Refusals that are shown, and seconds between two lines about them in the server's log.
_LAST_REFUSED, _BETWEEN = 5, 1.0

# What a point of the curve is.
_POINT = ("row", "now", "since_start")

logger = logging.getLogger("greville.serve")


class ErrorRecord(BaseModel):
    """Errors of predictions that were made before their targets were learned.

    An error is the distance from the target, or 1 for a wrong class and 0 for the right one.
    """

    n: int = 0
    total: float = 0.0
    recent: list[float] = []
    stride: Annotated[int, Field(ge=1)] = 1  # rows between two points of the curve
    points: list[tuple[int, float, float]] = []  # a row, the error then, and since the start
    alarms: list[tuple[int, float]] = []  # the last of them: a row, and a time
    n_alarms: int = 0

    @property
    def now(self) -> float | None:
        return sum(self.recent) / len(self.recent) if self.recent else None

    @property
    def since_start(self) -> float | None:
        return self.total / self.n if self.n else None

    def add(self, error: float) -> None:
        self.n += 1
        self.total += error
        self.recent.append(error)
        del self.recent[:-_RECENT]
        if self.n % self.stride == 0:
            now = sum(self.recent) / len(self.recent)
            self.points = [*self.points, (self.n, now, self.total / self.n)]
        if len(self.points) >= _MOST_POINTS:  # every other one, and half as many from now on
            self.points, self.stride = self.points[1::2], 2 * self.stride

    def add_alarm(self, row: int, at: float) -> None:
        self.alarms = [*self.alarms, (row, at)][-_MOST_ALARMS:]
        self.n_alarms += 1


class Outcome(NamedTuple):
    """A row, what was predicted, and its target, unless that has not come."""

    row: Row
    prediction: Any
    target: Any = None
    number: int | None = None  # among the rows with errors
    at: float = 0.0

    def error(self, is_number: bool) -> float | None:
        """Return the error of the prediction: a distance, or 1 for a wrong class."""
        if self.prediction is None:
            return None
        if not is_number:
            return float(str(self.prediction) != str(self.target))
        try:
            return abs(float(self.prediction) - float(self.target))
        except (TypeError, ValueError, OverflowError):
            return None


class Board:
    """Errors, counts since the start, and the last rows. Any thread may use it.

    Parameters
    ----------
    record : ErrorRecord
    """

    def __init__(self, record: ErrorRecord) -> None:
        self.record = record
        self.predictions = self.learned = self.refused = 0
        self._lock = Lock()
        self._outcomes: deque[Outcome] = deque(maxlen=_REMEMBERED)
        self._refusals: deque[str] = deque(maxlen=_LAST_REFUSED)
        self._logged_at = 0.0

    def add_predictions(self, rows: Sequence[Row], answers: Sequence[dict[str, Any]]) -> None:
        """Count predicted rows, and show the last of them."""
        self.predictions += len(rows)
        last, now = zip(rows[-_SHOWN:], answers[-_SHOWN:], strict=True), time.time()
        with self._lock:
            self._outcomes.extend(
                Outcome(row, answer["prediction"], at=now) for row, answer in last
            )

    def add_outcomes(self, outcomes: Sequence[Outcome], is_number: bool) -> None:
        """Count learned targets and their errors, and show the last rows."""
        now = time.time()
        with self._lock:
            self.learned += len(outcomes)
            for outcome in outcomes:
                error = outcome.error(is_number)
                if error is not None:
                    self.record.add(error)
                self._outcomes.append(outcome._replace(number=max(self.record.n, 1), at=now))

    def refuse(self, error: RequestError) -> None:
        """Count a refused request."""
        self.refused += 1
        self._refusals.appendleft(error.message)
        if time.monotonic() - self._logged_at > _BETWEEN:  # so that the log is not filled
            self._logged_at = time.monotonic()
            text = error.message.encode("unicode_escape").decode()  # without ends of lines
            logger.warning("refused with %d: %s", error.status, text[:300])

    def learned_rows(self) -> list[Row]:
        """The last rows that were learned."""
        with self._lock:
            return [each.row for each in self._outcomes if each.target is not None]

    def state(self, id: str, target: str) -> dict[str, Any]:
        """Return what the page shows; fields of ids and targets are not among the others."""
        with self._lock:
            outcomes, record = list(self._outcomes), self.record.model_copy()
        return {
            "learned": self.learned,
            "predictions": self.predictions,
            "refused": self.refused,
            "history": [dict(zip(_POINT, point, strict=True)) for point in record.points],
            "alarms": [{"row": row, "at": at} for row, at in record.alarms],
            "last": _shown(outcomes, id, target),
            "refusals": list(self._refusals),
        }


def _shown(outcomes: Sequence[Outcome], id: str, target: str) -> list[dict[str, Any]]:
    """Return the last rows to show; a waiting row disappears once its target has come."""
    entries: list[dict[str, Any]] = []
    ids = set()  # whose targets have come
    for outcome in reversed(outcomes):
        name = outcome.row.get(id)
        if outcome.target is None and name is not None and name in ids:
            continue
        if outcome.target is not None:
            ids.add(name)
        values = [(k, v) for k, v in outcome.row.items() if k not in (id, target)][:_MOST_FIELDS]
        entries.append(
            {
                "row": outcome.number,
                "at": outcome.at,
                "id": _short(name),
                "prediction": _short(outcome.prediction),
                "target": _short(outcome.target),
                "values": {_short(field): _short(value) for field, value in values},
            }
        )
        if len(entries) == _SHOWN:
            break
    return entries


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST:
        return value[: _LONGEST - 1] + "…"
    if isinstance(value, list) and len(value) > _MOST_FIELDS:
        return f"{len(value):,} numbers"
    return value
