"""A model that learns every row as soon as its target is known, and no sooner."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..linalg import Array

# Fewer rows than this are learned one by one.
_MIN_BLOCK = 32


class Learner:
    """An online model of the change from one sample to the one `horizon` later.

    With a horizon of one, many rows are learned in blocks, three times as fast. A prediction is
    then rounded relative to the largest numbers in its block, which may be later ones, its own
    target among them; it depends on them in no other way. Learned one by one, not even the last
    bit of a prediction depends on later rows.
    """

    def __init__(self, model: Any, horizon: int) -> None:
        self.model = model
        self.started = False
        self._in_blocks = horizon == 1

    def stateful_parts(self) -> list[Any]:
        """The objects whose attributes are replaced while it learns."""
        solver = getattr(self.model, "solver_", None)
        return [self, self.model, *([] if solver is None else [solver])]

    def learn_and_predict(self, rows: Array, targets: Array, queries: Array) -> Array:
        """For each k: learn rows[k] with targets[k], then predict for queries[k].

        A row or target that is not finite is not learned, and a query that is not finite is
        answered by NaN. Before any row is learned, the predicted change is zero.
        """
        known = np.isfinite(targets) & np.isfinite(rows[:, 0])
        valid = np.isfinite(queries[:, 0])
        predictions = np.where(valid, 0.0, np.nan)
        ends = np.flatnonzero(known[1:] != known[:-1]) + 1
        # The first row is learned alone: from a first block a model would take its units, and so
        # let predictions depend on later rows.
        first = np.flatnonzero(known)[: 0 if self.started else 1] + 1
        for start, stop in pairwise(sorted({0, *ends.tolist(), *first.tolist(), len(known)})):
            if self._in_blocks and self.started and known[start] and stop - start >= _MIN_BLOCK:
                # With a horizon of one, queries[k] is rows[k + 1].
                predicted = self.model.prequential(rows[start:stop], targets[start:stop])
                predictions[start : stop - 1] = predicted[1:]
                if valid[stop - 1]:
                    predictions[stop - 1] = self.model.predict_one(queries[stop - 1])
                continue
            for k in range(start, stop):
                if known[k]:
                    self.model.learn_one(rows[k], float(targets[k]))
                    self.started = True
                if self.started and valid[k]:
                    predictions[k] = self.model.predict_one(queries[k])
        return predictions
