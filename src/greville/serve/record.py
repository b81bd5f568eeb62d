"""The error of a served model: now, since the start, and over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, Field

# Errors that count as now, points of the curve, and alarms that are remembered.
_RECENT, _MOST_POINTS, _MOST_ALARMS = 1000, 240, 100


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

    def add(self, errors: Iterable[float]) -> None:
        for error in errors:
            self.n += 1
            self.total += error
            self.recent.append(error)
            del self.recent[:-_RECENT]
            if self.n % self.stride == 0:
                self._add_point()

    def _add_point(self) -> None:
        assert self.now is not None
        points = [*self.points, (self.n, self.now, self.total / self.n)]
        if len(points) >= _MOST_POINTS:  # every other one, and half as many from now on
            points, self.stride = points[1::2], 2 * self.stride
        self.points = points

    def add_alarm(self, row: int, at: float) -> None:
        self.alarms = [*self.alarms, (row, at)][-_MOST_ALARMS:]
        self.n_alarms += 1
