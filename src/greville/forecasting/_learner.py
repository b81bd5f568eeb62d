"""A model that learns every row as soon as its target is known, and no sooner."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..linalg import Array

# Fewer rows than this are learned one by one.
_BLOCK = 32


class Learner:
    """An online model of the change from now to `horizon` samples later.

    With a horizon of one, many rows are learned in blocks, three times as fast. An answer is then
    rounded as the largest numbers of its block are, later ones and its own target among them; it
    does not depend on them in any other way. One by one, not even the last bit does.
    """

    def __init__(self, model: Any, horizon: int) -> None:
        self.model = model
        self.started = False
        self._in_blocks = horizon == 1

    def parts(self) -> list[Any]:
        """What changes as it learns."""
        inner = getattr(self.model, "solver_", None)
        return [self, self.model, *([] if inner is None else [inner])]

    def answers(self, rows: Array, targets: Array, asked: Array) -> Array:
        """For each k: learn rows[k] with targets[k], then predict asked[k].

        What is not finite is not learned, and has no prediction. Before anything is learned the
        prediction is that nothing changes.
        """
        known = np.isfinite(targets) & np.isfinite(rows[:, 0])
        sensible = np.isfinite(asked[:, 0])
        answers = np.where(sensible, 0.0, np.nan)
        ends = np.flatnonzero(known[1:] != known[:-1]) + 1
        # The first row is learned alone: from a first block, models take what its last rows say.
        first = np.flatnonzero(known)[: 0 if self.started else 1] + 1
        for start, stop in pairwise(sorted({0, *ends.tolist(), *first.tolist(), len(known)})):
            if self._in_blocks and self.started and known[start] and stop - start >= _BLOCK:
                # With a horizon of one, asked[k] is rows[k + 1].
                predicted = self.model.prequential(rows[start:stop], targets[start:stop])
                answers[start : stop - 1] = predicted[1:]
                if sensible[stop - 1]:
                    answers[stop - 1] = self.model.predict_one(asked[stop - 1])
                continue
            for k in range(start, stop):
                if known[k]:
                    self.model.learn_one(rows[k], float(targets[k]))
                    self.started = True
                if self.started and sensible[k]:
                    answers[k] = self.model.predict_one(asked[k])
        return answers
