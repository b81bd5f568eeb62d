"""Labels: known ones, new ones, and scores that become probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg import Array
from ..validation import naming


def merged_classes(known: Array | None, more: Any, name: str) -> Array:
    """The sorted union of two sets of labels of the same kind."""
    more = np.asarray(more)
    with naming(name):
        new = np.unique(more)
        if known is None or len(known) == 0:
            return new
        if _is_text(known) != _is_text(new):
            kinds = ["numbers", "text"]
            raise ValueError(
                f"the labels are {kinds[_is_text(new)]}, but the ones known so far are "
                f"{kinds[_is_text(known)]}; pass labels of one kind."
            )
        if np.isin(new, known).all():
            return known
        return np.unique(np.concatenate([known, new]))


def _is_text(labels: Array) -> bool:
    return labels.dtype.kind in "USO" and all(isinstance(label, (str, bytes)) for label in labels)


def index_of(classes: Array, labels: Array) -> Array:
    """The place of each label among the sorted classes."""
    return np.searchsorted(classes, labels)


def first_seen(labels: Array, n_classes: int) -> Array:
    """The first row with each label, or the number of rows."""
    first = np.full(n_classes, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    return first


def nearest_probabilities(scores: Array) -> Array:
    """Each row's nearest point, in Euclidean distance, that is >= 0 and sums to one.

    It is max(score - t, 0) with the t that makes the sum one: of the sorted scores the first r
    stay positive, for the largest r whose mean excess over one lies below the r-th of them.
    """
    ordered = -np.sort(-scores, axis=1)
    excess = np.cumsum(ordered, axis=1, dtype=np.float64) - 1
    count = np.arange(1, scores.shape[1] + 1)
    positive = ordered * count > excess
    r = scores.shape[1] - positive[:, ::-1].argmax(axis=1)
    t = excess[np.arange(len(scores)), r - 1] / r
    probabilities = np.maximum(scores - t[:, None], 0)
    return (probabilities / probabilities.sum(axis=1, keepdims=True)).astype(scores.dtype)
