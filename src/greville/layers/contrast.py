"""Units whose weights come from samples of the classes they are to tell apart."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..backend import Array
from ..devices import on_host
from ..fields import nothing, within
from ..validation import check_length, naming
from .fields import Fields, with_length
from .images import IMAGE
from .protocol import (
    AnyActivation,
    Layer,
    Length,
    Random,
    Size,
    dense,
    product,
    stored_layer,
    working_dtype,
)

# Units made at a time: each needs a few copies of an image.
_UNITS_PER_BLOCK = 1024


@dataclass(eq=False, repr=False)
class SampleLayer(Layer):
    """Weights from samples and their classes, seen once by `fit` and then kept."""

    n_hidden: Size = "auto"
    _: KW_ONLY
    receptive_fields: Annotated[tuple[int, ...] | None, nothing | IMAGE] = None
    border: Annotated[int, within(0, whole=True)] = 2
    min_area: Annotated[int, within(1, whole=True)] = 10
    scale: Length = 1.0
    activation: AnyActivation = "tanh"
    random_state: Random = None

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        labels, X = self._checked_labels(y, X.shape[0]), X if sparse.issparse(X) else on_host(X)
        random, masks = self._random(), None
        if self.receptive_fields is not None:
            fields = Fields(
                "receptive_fields", self.receptive_fields, self.border, self.min_area, X.shape[1]
            )
            masks = fields.draw(self.n_hidden_, random)
        units = self._units(X, labels, masks, random).astype(dtype, copy=False)
        empty = ~units.any(axis=1)  # the samples do not differ in its field: random weights
        if empty.any():
            noise = random.normal(size=(int(empty.sum()), X.shape[1]))
            units[empty] = noise if masks is None else noise * masks[empty]
        self.weights_ = with_length(units, self.scale, dtype)

    def _checked_labels(self, y: Any, n_rows: int) -> Array:
        with naming("y"):
            if y is None:
                raise ValueError("requires y to be passed, but the target y is None.")
            y = column_or_1d(y)
            check_classification_targets(y)
            labels = np.unique(y, return_inverse=True)[1]
            if labels.max(initial=0) == 0:
                raise ValueError(
                    "the first samples are all of one class; pass samples of two or more."
                )
        check_length("y", len(labels), n_rows)
        return labels

    @abstractmethod
    def _units(
        self, X: Any, labels: Array, masks: Array | None, random: np.random.RandomState
    ) -> Array:
        """Weights of shape (n_hidden, n_features), zero outside the masks."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@stored_layer()
@dataclass(eq=False, repr=False)
class ContrastLayer(SampleLayer):
    """Units that point from a sample of one class to one of another.

    "Constrained" weights: differences of samples of different classes. With
    `receptive_fields`, each unit sees a random rectangle of the image alone, and takes from
    a few pairs the one that differs most there.

    Parameters
    ----------
    n_hidden : int or "auto", default="auto"
        Number of hidden units. "auto" is 10 times the number of inputs.
    receptive_fields : tuple of two or three int, optional
        The rows and columns of the image, and its channels if it has several, if each unit is to
        see a part of it. X has a column for each pixel, row by row; the channels of a pixel lie
        beside each other.
    border : int, default=2
        Pixels along the edges that no unit sees.
    min_area : int, default=10
        The least number of pixels in a field.
    scale : float, default=1.0
        The length of each unit's weights.
    activation : str or callable, default="tanh"
        As in `RandomLayer`.
    candidates : int, default=10
        Pairs of samples to choose from for each unit.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_hidden)
    bias_ : None
    n_hidden_ : int
    n_features_in_ : int

    References
    ----------
    Zhu, Miao & Qing, "Constrained extreme learning machine", IJCNN 2014.

    McDonnell, Tissera, Vladusich, van Schaik & Tapson, PLoS ONE 10(8), 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import ContrastLayer, ELMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> layer = ContrastLayer(500, receptive_fields=(8, 8), border=0, random_state=1)
    >>> model = ELMClassifier(layer).fit(X[:1500] / 16, y[:1500])
    >>> bool(model.score(X[1500:] / 16, y[1500:]) > 0.94)
    True
    """

    _: KW_ONLY
    candidates: Annotated[int, within(1, whole=True)] = 10

    def _units(
        self, X: Any, labels: Array, masks: Array | None, random: np.random.RandomState
    ) -> Array:
        blocks = []
        for start in range(0, self.n_hidden_, _UNITS_PER_BLOCK):
            stop = min(start + _UNITS_PER_BLOCK, self.n_hidden_)
            inside = None if masks is None else masks[start:stop]
            chosen = random.randint(len(labels), size=stop - start)
            best, largest = np.empty(0), np.empty(0)
            for attempt in range(int(self.candidates)):
                second = _of_other_classes(labels, labels[chosen], random)
                difference = _rows(X, chosen) - _rows(X, second)
                if inside is not None:
                    difference *= inside
                size = np.einsum("ij,ij->i", difference, difference)
                if not attempt:
                    best, largest = difference, size
                better = size > largest
                best[better], largest[better] = difference[better], size[better]
            blocks.append(best)
        return np.concatenate(blocks)


@stored_layer()
@dataclass(eq=False, repr=False)
class ClassLayer(SampleLayer):
    """Units that are random sums, with signs, of the samples of one class.

    "Computed input weights": each class has its share of the units, each the sum of all its
    samples with random signs. Such units vary most where the samples of the class do. With
    `receptive_fields`, each sees a random rectangle of the image alone.

    Parameters
    ----------
    n_hidden : int or "auto", default="auto"
        Number of hidden units. "auto" is 10 times the number of inputs.
    receptive_fields : tuple of two or three int, optional
        The rows and columns of the image, and its channels if it has several, if each unit is to
        see a part of it. X has a column for each pixel, row by row; the channels of a pixel lie
        beside each other.
    border : int, default=2
        Pixels along the edges that no unit sees.
    min_area : int, default=10
        The least number of pixels in a field.
    scale : float, default=1.0
        The length of each unit's weights.
    activation : str or callable, default="tanh"
        As in `RandomLayer`.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_hidden)
    bias_ : None
    n_hidden_ : int
    n_features_in_ : int

    References
    ----------
    Tapson, de Chazal & van Schaik, "Explicit computation of input weights in extreme learning
    machines", ELM 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import ClassLayer, ELMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ELMClassifier(ClassLayer(500, random_state=0)).fit(X[:1500] / 16, y[:1500])
    >>> bool(model.score(X[1500:] / 16, y[1500:]) > 0.9)
    True
    """

    def _units(
        self, X: Any, labels: Array, masks: Array | None, random: np.random.RandomState
    ) -> Array:
        units = np.empty((self.n_hidden_, X.shape[1]), working_dtype(X))
        n_classes = labels.max() + 1
        for label in range(n_classes):
            samples = _rows(X, np.flatnonzero(labels == label))
            members = np.arange(label, self.n_hidden_, n_classes)
            for start in range(0, len(members), _UNITS_PER_BLOCK):
                chosen = members[start : start + _UNITS_PER_BLOCK]
                signs = 2.0 * random.randint(2, size=(len(chosen), len(samples))) - 1
                units[chosen] = product(signs.astype(samples.dtype), np.ascontiguousarray(samples))
        return units if masks is None else units * masks


def _of_other_classes(labels: Array, not_of: Array, random: np.random.RandomState) -> Array:
    """For each label of `not_of` a random sample of another class."""
    order = np.argsort(labels, kind="stable")
    first, last = (np.searchsorted(labels[order], not_of, side=side) for side in ("left", "right"))
    place = np.floor(random.uniform(size=len(not_of)) * (len(labels) - (last - first))).astype(int)
    return order[np.where(place < first, place, place + last - first)]


def _rows(X: Any, rows: Array) -> Any:
    return dense(X[rows]).astype(working_dtype(X))
