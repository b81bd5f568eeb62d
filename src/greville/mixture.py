"""A mixture of experts, weighted by their recent errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]

# The smallest number that has all its digits.
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Mixture:
    """The posterior probability of each expert, given the errors it made before.

    The errors of an expert on each output are taken to be Gaussian with a variance that is
    estimated from them: with n errors of mean square s², the log-likelihood of the expert is
    -n/2 · Σ log s² over the outputs. An error k updates ago counts decay^k, so that an expert is
    judged by about its last 1 / (1 - decay) errors. A log prior prefers some experts where all err
    alike. An update returns a new mixture.

    Parameters
    ----------
    squares : ndarray of shape (n_experts, n_outputs)
        The sum of squared errors, decayed.
    count : float
        The sum of sample weights, decayed.
    decay : float
        In (0, 1].
    log_prior : ndarray of shape (n_experts,)
        The logarithm of the prior probabilities, up to a constant.

    Examples
    --------
    >>> from greville.mixture import Mixture
    >>> mixture = Mixture.start([0.0, 0.0], n_outputs=1, decay=0.9)
    >>> mixture.weights()
    array([0.5, 0.5])
    >>> mixture.update([[0.1], [0.3]]).weights()
    array([0.75, 0.25])
    """

    squares: Array
    count: float
    decay: float
    log_prior: Array

    @classmethod
    def start(cls, log_prior: ArrayLike, n_outputs: int, decay: float) -> Mixture:
        """A mixture that has seen no error."""
        log_prior = np.asarray(log_prior, dtype=np.float64)
        return cls(np.zeros((len(log_prior), n_outputs)), 0.0, decay, log_prior)

    def weights(self) -> Array:
        """The weight of each expert; they add up to one."""
        return _weights(self.log_prior, self.squares, np.float64(self.count))

    def update(self, errors: ArrayLike, sample_weight: float = 1.0) -> Mixture:
        """The mixture after one more error of each expert on each output.

        A weight of zero leaves the mixture as it is.
        """
        if sample_weight <= 0:
            return self
        squares = self.decay * self.squares + sample_weight * np.asarray(errors, np.float64) ** 2
        count = self.decay * self.count + float(sample_weight)
        return Mixture(squares, count, self.decay, self.log_prior)

    def update_many(self, errors: Array, sample_weight: Array) -> tuple[Mixture, Array]:
        """The mixture after many rows, one after the other, and all weights on the way.

        Parameters
        ----------
        errors : ndarray of shape (n_experts, n_rows, n_outputs)
        sample_weight : ndarray of shape (n_rows,)
            Rows of weight zero are skipped.

        Returns
        -------
        mixture : Mixture
        weights : ndarray of shape (n_rows + 1, n_experts)
            Row k has the weights after the first k rows.
        """
        n_rows = len(sample_weight)
        squares, counts = np.empty((n_rows + 1, *self.squares.shape)), np.empty(n_rows + 1)
        squares[0], counts[0] = self.squares, self.count
        new = np.moveaxis(errors, 1, 0).astype(np.float64) ** 2
        for k, weight in enumerate(np.asarray(sample_weight, dtype=np.float64).tolist()):
            if weight > 0:
                squares[k + 1] = self.decay * squares[k] + weight * new[k]
                counts[k + 1] = self.decay * counts[k] + weight
            else:
                squares[k + 1], counts[k + 1] = squares[k], counts[k]
        after = replace(self, squares=squares[-1].copy(), count=float(counts[-1]))
        return after, _weights(self.log_prior, squares, counts)

    def with_outputs(self, n_outputs: int, old: Any) -> Mixture:
        """The mixture with more outputs, of which those numbered `old` keep their errors."""
        squares = np.zeros((len(self.squares), n_outputs))
        squares[:, old] = self.squares
        return replace(self, squares=squares)


def mix(weights: Array, values: Array) -> Array:
    """The weighted mean over the experts, of predictions or of errors.

    Parameters
    ----------
    weights : ndarray of shape (n_rows, n_experts)
    values : ndarray of shape (n_experts, n_rows, n_outputs)

    Returns
    -------
    mean : ndarray of shape (n_rows, n_outputs), of the dtype of `values`
    """
    mean = (weights.T[:, :, None] * values).sum(axis=0)
    return mean.astype(values.dtype, copy=False)


def weights_for_one_output(
    log_prior: Sequence[float], squares: Sequence[float], count: float
) -> list[float]:
    """The weights of a `Mixture` with one output, in numbers of Python: faster for a few."""
    n = max(count, _TINY)
    logs = [
        prior - n / 2 * log(max(square / n, _TINY))
        for prior, square in zip(log_prior, squares, strict=True)
    ]
    top = max(logs)
    weights = [exp(each - top) for each in logs]
    total = sum(weights)
    return [each / total for each in weights]


def _weights(log_prior: Array, squares: Array, count: Any) -> Array:
    """Weights (..., n_experts) for squares (..., n_experts, n_outputs)."""
    n = np.maximum(count, _TINY)[..., None]
    mean_squares = np.maximum(squares / n[..., None], _TINY)
    log_weights = log_prior - n / 2 * np.log(mean_squares).sum(axis=-1)
    p = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)
