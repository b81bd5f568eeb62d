"""How sure an exact solver is of its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import linalg
from ..linalg import Array
from ..threads import one_thread
from ._mean import Mean


class Spread:
    """What a root knows of its errors: how many rows count, and what they leave unexplained."""

    R: Array
    Z: Array
    basis: Array | None
    prior: float
    loss: Array
    count: float
    count_of_squares: float
    mean: Mean | None
    _trace: float | None

    @property
    def rank(self) -> int:
        """The size of R."""
        return len(self.Z)

    def tally(self, weight: Array, counts: Array | float = 1.0, decay: float = 1.0) -> None:
        """Note rows of these weights, each of which counts so much now; the old ones fade."""
        self.count = decay * self.count + float(np.sum(weight * counts))
        self.count_of_squares = decay**2 * self.count_of_squares + float(
            np.sum(weight * counts * counts)
        )

    @property
    def redundancy(self) -> float:
        """One if all rows count alike; down to a half where old ones fade."""
        return self.count_of_squares / self.count if self.count > 0 else 1.0

    def trace(self) -> float:
        """The trace of θ over the directions that rows have reached."""
        if self._trace is None:
            self._trace = linalg.trace_of_inverse(self.R) if self.rank else 0.0
        return self._trace

    def noise(self) -> Array:
        """The variance of what the weights leave unexplained, for each output.

        The loss over the rows that count, less those that the weights used up: the trace of
        Hθ H', which is the number of weights where the prior is small.
        """
        used = self.rank - self.prior**2 * self.trace() if self.rank else 0.0
        used += self.mean is not None  # the intercept
        return noise_variance(self.loss, self.count, self.redundancy * used)

    def spread(self, H: Array) -> Array:
        """The standard deviation of a new target for each row and output."""
        lengths = self.lengths(H) if self.rank or self.prior > 0 else np.zeros(len(H))
        with np.errstate(invalid="ignore"):  # infinity times zero, before any row
            variance = (1 + self.redundancy * lengths)[:, None] * self.noise()
        return np.sqrt(variance).astype(self.Z.dtype)

    def lengths(self, H: Array) -> Array:
        """a'θa for every row; around the mean, and one over the count, with an intercept."""
        if self.mean is not None:
            one = 1 / self.mean.count if self.mean.count > 0 else np.inf
            return self._lengths_of_centred(self.mean.centred(H)) + one
        return self._lengths_of_centred(H)

    def _lengths_of_centred(self, H: Array) -> Array:
        if self.basis is None:
            return linalg.squared_lengths(self.R, H).astype(np.float64)
        T = linalg.matmul(H, self.basis.T)
        lengths = np.zeros(len(H))
        if self.rank:
            lengths += linalg.squared_lengths(self.R, T)
        if self.prior > 0:
            lengths += _squares(H - linalg.matmul(T, self.basis)) / self.prior**2
        return lengths


def noise_variance(loss: Array, count: Any, used: Any) -> Array:
    """loss / (count - used); infinite while there are no rows."""
    left = np.maximum(count - used, 1e-8 * np.asarray(count))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > 0, loss / left, np.inf)


def spreads_ahead(root: Any, H: Array, Y: Array, weight: Array, factor: Array) -> Array | None:
    """The standard deviation of each row's prediction, before it and after those before it.

    `factor` is what the rows are multiplied by if nothing fades meanwhile. None where R is too
    close to singular for finite numbers, or there is no mean yet.
    """
    scale, of_mean = factor, 0.0
    if root.mean is not None:
        H, Y, scale, before, _, _ = root.mean.follow(H, Y, weight)
        if not scale.all():
            return None
        of_mean = 1 / before
    f = scale[:, None].astype(H.dtype)
    with one_thread:
        parts = linalg.innovation_parts(root.R, root.weights(), f * H, f * Y)
    if parts is None:
        return None
    # Nothing fades within the block; what comes later counts more.
    lengths, losses, taken = (part.astype(np.float64) for part in parts)
    counts = factor**2
    squares = counts**2 / weight
    loss = root.loss + _before(losses)
    count = root.count + _before(counts)
    redundancy = _ratio(root.count_of_squares + _before(squares), count)
    later = np.append(1.0, (counts / weight)[:-1])  # 1/λ^(k-1): as rows count then
    redundancy /= later
    used = root.rank - root.prior**2 * (root.trace() - _before(taken))
    used += root.mean is not None  # the intercept
    noise = noise_variance(
        loss / later[:, None], (count / later)[:, None], (redundancy * used)[:, None]
    )
    lengths = lengths / scale**2 * later + of_mean
    with np.errstate(invalid="ignore"):
        variance = (1 + redundancy * lengths)[:, None] * noise
    return np.sqrt(variance).astype(H.dtype)


def _before(values: Array) -> Array:
    """The sum of all values before each."""
    sums = np.cumsum(values, axis=0)
    return np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.ones_like(b), where=b > 0)


def _squares(rows: Array) -> Array:
    """Sums of squares of the rows, in float64."""
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
