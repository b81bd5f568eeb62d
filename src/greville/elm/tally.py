"""How far off predictions were of rows that had not been learned, as far as that came up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..backend import Array
from ..representation import numbers


class Tally(NamedTuple):
    """Errors of rows before they were learned, or without them; an immutable value.

    They are what came up while a model was used. They are no part of what it has learned, and not
    stored in files.

    Attributes
    ----------
    left_out : bool
        Whether they are leave-one-out errors; else each row was predicted before it was learned.
    wrong : float, or None for numbers
        How many labels were wrong.
    squares : ndarray of shape (n_outputs,), or None for labels
        The sums of squared errors.
    total_weight : float
        How many rows that is, by their weights.
    n : int
        How many rows that is.
    after : int
        How many rows the model had learned then.
    """

    left_out: bool
    wrong: float | None
    squares: Array | None
    total_weight: float
    n: int
    after: int

    @classmethod
    def of_labels(
        cls,
        scores: Array,
        places: Array,
        weight: Array | None,
        after: int,
        *,
        left_out: bool = False,
    ) -> Tally:
        """Of rows with these scores, and the places of their classes among them."""
        wrong, n = scores.argmax(axis=1) != places, len(places)
        if weight is None:
            return cls(left_out, float(wrong.sum()), None, float(n), n, after)
        return cls(left_out, float(weight @ wrong), None, float(weight.sum()), n, after)

    @classmethod
    def of_numbers(
        cls, predicted: Array, targets: Array, weight: Array | None, after: int
    ) -> Tally:
        """Of rows with these predictions and targets, of shape (n, n_outputs)."""
        with np.errstate(all="ignore"):  # what is not finite is not told
            errors, n = targets - np.asarray(predicted, np.float64), len(targets)
            squares = errors * errors
            if weight is None:
                return cls(False, None, squares.sum(axis=0), float(n), n, after)
            return cls(False, None, weight @ squares, float(weight.sum()), n, after)

    def added_to(self, before: Tally | None) -> Tally:
        """These rows, and those before them that were predicted likewise."""
        if before is None or before.left_out:
            return self
        wrong = squares = None
        if self.wrong is not None and before.wrong is not None:
            wrong = self.wrong + before.wrong
        elif self.squares is not None and before.squares is not None:
            with np.errstate(over="ignore"):
                squares = self.squares + before.squares
        else:
            return self
        total_weight, n = self.total_weight + before.total_weight, self.n + before.n
        return Tally(False, wrong, squares, total_weight, n, self.after)

    def in_words(self, n_seen: int) -> str | None:
        """The error of a model that has learned so many rows; None where it is that of another.

        A leave-one-out error is that of the model as it was then. Errors of rows before they were
        learned stay what they are.
        """
        if not self.total_weight > 0 or (self.left_out and self.after != n_seen):
            return None
        rows = "1 row" if self.n == 1 else f"{self.n:,} rows"
        before = "before it was learned" if self.n == 1 else "before they were learned"
        how = f"leave-one-out, {rows}" if self.left_out else f"{rows} {before}"
        if self.squares is not None:
            if not np.isfinite(self.squares).all():
                return None
            return f"RMSE {numbers(np.sqrt(self.squares / self.total_weight))} ({how})"
        assert self.wrong is not None
        return f"{100 * self.wrong / self.total_weight:.3g} % wrong ({how})"
