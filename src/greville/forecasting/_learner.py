"""A model that learns every row as soon as its targets are known, and no sooner."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..backend import Array
from ..elm import ELMRegressor, depends_on_rows

# Fewer rows than this are learned one by one.
_MIN_BLOCK = 32

# A hidden layer that depends on rows, such as a transformer of scikit-learn, is fitted to so many.
FIRST_ROWS = 100


class Learner:
    """An online model of the changes from one sample to each of the next ones: its outputs.

    A row is learned when the last of its targets has come. With one step, many rows are learned in
    blocks, three times as fast. A prediction is then rounded relative to the largest numbers in its
    block, which may be later ones, its own target among them; it depends on them in no other way.
    Learned one by one, not even the last bit of a prediction depends on later rows.

    A model that looks at its first rows, to fit its hidden layer to them, waits for `FIRST_ROWS` of
    them and learns these together; before, the predicted changes are zero.
    """

    def __init__(self, model: Any, n_steps: int) -> None:
        self.model = model
        self.started = False
        self._n_steps = n_steps
        self._n_first = (
            FIRST_ROWS if isinstance(model, ELMRegressor) and depends_on_rows(model) else 1
        )
        self._waiting: list[tuple[Array, Array]] = []  # rows and targets that wait

    def stateful_parts(self) -> list[Any]:
        """The objects whose attributes are replaced while it learns."""
        return [self, self.model]

    def learn_and_predict(self, rows: Array, targets: Array, queries: Array) -> Array:
        """For each k: learn rows[k] with targets[k], then predict for queries[k].

        A row that is not finite or has no target is not learned, and a query that is not finite is
        answered by NaN. Before any row is learned, the predicted changes are zero.

        Parameters
        ----------
        rows, queries : ndarray of shape (n, n_features)
        targets : ndarray of shape (n, n_steps)
            Where one of several is missing, what the model predicts is taken in its place: the row
            then leaves the weights of this output as they are.

        Returns
        -------
        predictions : ndarray of shape (n, n_steps)
        """
        complete = np.isfinite(targets).any(axis=1) & np.isfinite(rows[:, 0])
        valid = np.isfinite(queries[:, 0])
        predictions = np.where(valid[:, None], np.zeros(targets.shape), np.nan)
        ends = np.flatnonzero(complete[1:] != complete[:-1]) + 1
        # The first rows are not learned in a block: from it a model would take its units, and so
        # let predictions depend on later rows.
        n_waited_for = 0 if self.started else self._n_first - len(self._waiting)
        begin = np.flatnonzero(complete)[:n_waited_for][-1:] + 1
        for start, stop in pairwise(sorted({0, *ends.tolist(), *begin.tolist(), len(complete)})):
            in_block = self._n_steps == 1 and stop - start >= _MIN_BLOCK
            if in_block and self.started and complete[start]:
                # With one step, queries[k] is rows[k + 1].
                predicted = self.model.prequential(rows[start:stop], targets[start:stop, 0])
                predictions[start : stop - 1, 0] = predicted[1:]
                if valid[stop - 1]:
                    predictions[stop - 1] = self.model.predict_one(queries[stop - 1])
                continue
            for k in range(start, stop):
                if complete[k]:
                    self._learn(rows[k], targets[k])
                if self.started and valid[k]:
                    predictions[k] = self.model.predict_one(queries[k])
        return predictions

    def _learn(self, row: Array, targets: Array) -> None:
        if not self.started and self._n_first > 1:
            self._waiting = [*self._waiting, (row, np.where(np.isnan(targets), 0.0, targets))]
            if len(self._waiting) == self._n_first:
                rows, changes = map(np.array, zip(*self._waiting, strict=True))
                self.model.partial_fit(rows, changes[:, 0] if self._n_steps == 1 else changes)
                self._waiting, self.started = [], True
            return
        if self._n_steps == 1:
            self.model.learn_one(row, float(targets[0]))
        else:
            missing = np.isnan(targets)
            if missing.any():
                expected = self.model.predict_one(row) if self.started else 0.0
                targets = np.where(missing, expected, targets)
            self.model.learn_one(row, targets)
        self.started = True
