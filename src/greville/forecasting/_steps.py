"""The errors of each step ahead, added up while the targets come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..backend import Array
from ._predictors import Predictions
from ._result import first_that_counts
from ._verdict import SIMPLE


@dataclass(frozen=True, eq=False)
class StepErrors:
    """Sums of absolute errors, of shape (n_steps, 4), and the number of errors of each step."""

    burn_in: int
    sums: Array
    counts: Array

    @classmethod
    def start(cls, lags: int, horizon: int) -> StepErrors:
        """The errors before any sample."""
        burn_in = first_that_counts(lags, horizon)
        return cls(burn_in, np.zeros((horizon, 1 + len(SIMPLE))), np.zeros(horizon, int))

    def then(self, start: int, values: Array, made: Predictions) -> StepErrors:
        """Return the error sums with more samples, the first of which is number `start`.

        `made` has the predictions of as many times before them as there are steps, and theirs.
        """
        n, horizon = len(values), len(self.counts)
        sums, counts = self.sums.copy(), self.counts.copy()
        late = start + np.arange(n) >= self.burn_in
        for k in range(horizon):
            before = slice(horizon - 1 - k, horizon - 1 - k + n)
            predicted = [
                made.mixed[before, k],
                made.last[before],
                made.seasonal[before, k],
                made.linear[before, k],
            ]
            errors = np.abs(values - np.array(predicted))
            counted = late & np.isfinite(errors).all(axis=0)
            sums[k] += errors[:, counted].sum(axis=1)
            counts[k] += counted.sum()
        return replace(self, sums=sums, counts=counts)

    def as_list(self) -> list[dict[str, Any]]:
        """For each step, how many errors there are, and their means."""
        means = np.where(self.counts > 0, self.sums.T / np.maximum(self.counts, 1), np.nan).T
        names = ("greville", *SIMPLE)
        return [
            {"step": k + 1, "n": int(n), "mean_absolute": dict(zip(names, row, strict=True))}
            for k, (n, row) in enumerate(zip(self.counts, means.tolist(), strict=True))
        ]
