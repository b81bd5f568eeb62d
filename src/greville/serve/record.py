"""The error of a served model: now, since the start, and over time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Self

# Errors that count as now, points of the curve, and alarms that are remembered.
_RECENT, _MOST_POINTS, _MOST_ALARMS = 1000, 240, 100


class ErrorRecord:
    """Errors of predictions that were made before their targets were learned.

    An error is the distance from the target, or 1 for a wrong class and 0 for the right one.
    """

    def __init__(self) -> None:
        self.n, self.total = 0, 0.0
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._stride = 1  # rows between two points of the curve
        self.points: list[tuple[int, float, float]] = []
        self.alarms: list[tuple[int, float]] = []  # the last of them
        self.n_alarms = 0

    @property
    def now(self) -> float | None:
        return sum(self._recent) / len(self._recent) if self._recent else None

    @property
    def since_start(self) -> float | None:
        return self.total / self.n if self.n else None

    def add(self, errors: Iterable[float]) -> None:
        for error in errors:
            self.n += 1
            self.total += error
            self._recent.append(error)
            if self.n % self._stride == 0:
                self._add_point()

    def _add_point(self) -> None:
        assert self.now is not None
        self.points.append((self.n, self.now, self.total / self.n))
        if len(self.points) >= _MOST_POINTS:  # every other one, and half as many from now on
            self.points = self.points[1::2]
            self._stride *= 2

    def add_alarm(self, row: int, at: float) -> None:
        self.alarms = [*self.alarms, (row, at)][-_MOST_ALARMS:]
        self.n_alarms += 1

    def point(self) -> dict[str, Any] | None:
        """The curve's end."""
        return _point(self.n, self.now, self.since_start) if self.n else None

    def history(self) -> list[dict[str, Any]]:
        return [_point(*point) for point in self.points]

    def as_dict(self) -> dict[str, Any]:
        """For a file."""
        return {
            "n": self.n,
            "total": self.total,
            "recent": list(self._recent),
            "stride": self._stride,
            "points": [list(point) for point in self.points],
            "alarms": [list(alarm) for alarm in self.alarms],
            "n_alarms": self.n_alarms,
        }

    @classmethod
    def from_dict(cls, found: Any) -> Self:
        """What `as_dict` gave; an empty one if it is anything else."""
        record = cls()
        try:
            record.n, record.total = int(found["n"]), float(found["total"])
            record._recent.extend(map(float, found["recent"]))
            record._stride = max(1, int(found["stride"]))
            points = [(int(n), float(now), float(all)) for n, now, all in found["points"]]
            record.points = points[-_MOST_POINTS:]
            record.alarms = [(int(n), float(at)) for n, at in found["alarms"]]
            record.n_alarms = int(found["n_alarms"])
        except (TypeError, KeyError, ValueError):
            return cls()
        return record


def _point(row: int, now: float | None, since_start: float | None) -> dict[str, Any]:
    return {"row": row, "now": now, "since_start": since_start}
