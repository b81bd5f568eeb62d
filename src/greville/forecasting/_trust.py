"""How much each predictor is trusted: by its recent absolute errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..backend import Array

# Predictors are weighted by about their last 1 / (1 - 0.99) = 100 errors.
_DECAY = 0.99

# Errors one after the other are alike, and so are those of predictors: a hundred say about as much
# as this part of them would if they were independent.
_PART = 0.25


@dataclass(frozen=True, eq=False)
class Trust:
    """The weight of each predictor, from the mean of its absolute errors.

    With n errors of mean size s, the weight is proportional to prior · s^(-n/4). For n instead of
    n/4 this were the likelihood of errors with a Laplace distribution. Squared errors would follow
    the few largest ones. An update returns another value.

    Parameters
    ----------
    log_prior : ndarray of shape (n_predictors,)
    sums : ndarray of shape (n_predictors,)
        The sum of absolute errors, decayed.
    count : float
        The sum of their sample weights, decayed.
    """

    log_prior: Array
    sums: Array
    count: float

    @classmethod
    def start(cls, log_prior: Array) -> Trust:
        """Return the trust before the first error."""
        return cls(log_prior, np.zeros(len(log_prior)), 0.0)

    def update_many(self, errors: Array, sample_weight: Array) -> tuple[Trust, Array]:
        """Learn many errors, one after the other; return all weights on the way.

        Parameters
        ----------
        errors : ndarray of shape (n, n_predictors)
            Absolute errors.
        sample_weight : ndarray of shape (n,)
            Rows of weight zero are skipped.

        Returns
        -------
        trust : Trust
        weights : ndarray of shape (n, n_predictors)
            Row k has the weights after the first k + 1 errors.
        """
        sums, counts = np.empty(errors.shape), np.empty((len(errors), 1))
        total, count = self.sums, self.count
        for k, weight in enumerate(sample_weight.tolist()):
            if weight > 0:
                total = _DECAY * total + weight * errors[k]
                count = _DECAY * count + weight
            sums[k], counts[k] = total, count
        return replace(self, sums=total, count=count), self._weights(sums, counts)

    def _weights(self, sums: Array, counts: Array) -> Array:
        tiny = np.finfo(float).tiny
        means = np.maximum(sums / np.maximum(counts, tiny), tiny)
        log_weights = self.log_prior - _PART * counts * np.log(means)
        weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)
