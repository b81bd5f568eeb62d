"""A series in the order of time, with gaps where rows are missing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._clock import Clock, find_clock, label_like

Array = NDArray[Any]

# Rows that may be missing between the times of others, for each that is there.
_MOST_MISSING = 1.0


@dataclass(frozen=True)
class Series:
    """Samples in the order of time, NaN where one is missing, the other inputs beside them.

    `name` has the values of the columns in `--by`. `labels` say the times of the samples, and
    `clock` how they go on; None if that is not known.
    """

    name: tuple[str, ...]
    values: Array
    labels: list[Any] = field(default_factory=list)
    times: Array | None = None
    are_dates: bool = False
    clock: Clock | None = None

    def future_labels(self, n: int) -> list[Any]:
        """The times of the next samples; None where they are not known."""
        if self.clock is None or self.times is None:
            return [None] * n
        return [self._label(self.clock.after(int(self.times[-1]), k + 1)) for k in range(n)]

    def _label(self, time: int) -> Any:
        return label_like(self.labels[-1], time, is_date=self.are_dates)

    def in_order(self) -> tuple[Series, bool]:
        """The same in the order of time, and whether that is another one."""
        if self.times is None or (np.diff(self.times) >= 0).all():
            return self, False
        order = np.argsort(self.times, kind="stable")
        labels = [self.labels[i] for i in order] if self.labels else []
        values, times = self.values[order], self.times[order]
        return replace(self, values=values, labels=labels, times=times), True

    def on_the_clock(self, time: str) -> tuple[Series, str | None]:
        """The same with gaps where rows are missing, and findings about its times."""
        if self.times is None:
            return self, f"{time!r} is not read as times: those to come are not known."
        found = find_clock(self.times, are_dates=self.are_dates)
        if found is None:
            return self, (
                f"The times in {time!r} are irregular: the rows are taken one after the other, and "
                "the times to come are not known."
            )
        clock, positions = found
        n, total = len(positions), int(positions[-1]) + 1
        series = replace(self, clock=clock)
        if clock.irregular or total > (1 + _MOST_MISSING) * n:
            return series, (
                f"The steps between the times in {time!r} differ: the rows are taken one after the "
                "other, and the times to come are those of the most frequent step."
            )
        if total == n:
            return series, None
        values = np.full((total, self.values.shape[1]), np.nan)
        values[positions] = self.values
        times = np.array([clock.after(int(self.times[0]), k) for k in range(total)])
        labels = [self._label(int(each)) for each in times]
        for position, label in zip(positions.tolist(), self.labels, strict=True):
            labels[position] = label
        missing = f"{total - n:,} rows are" if total - n > 1 else "1 row is"
        said = f"{missing} missing between the times in {time!r}: taken as missing values."
        return replace(series, values=values, labels=labels, times=times), said
