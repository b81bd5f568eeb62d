"""Units whose weights come from samples of the classes they are to tell apart."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..backend import Array
from ..devices import is_on_device, on_host
from ..fields import Kind, integer, nothing, number
from ..validation import Seed, check_length, check_number, naming
from .activations import Activation
from .fields import Fields, packed, with_length
from .images import IMAGE
from .protocol import ACTIVATION, Layer, product, stored_layer, working_dtype

# Units made at a time: each needs a few copies of an image.
_UNITS_PER_BLOCK = 1024


class SampleLayer(Layer):
    """Weights from samples and their classes, seen once by `fit` and then kept."""

    def __init__(
        self,
        n_hidden: int | Literal["auto"] = "auto",
        *,
        receptive_fields: tuple[int, ...] | None = None,
        border: int = 2,
        min_area: int = 10,
        scale: float = 1.0,
        activation: Activation = "tanh",
        random_state: Seed = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.receptive_fields = receptive_fields
        self.border = border
        self.min_area = min_area
        self.scale = scale
        self.activation = activation
        self.random_state = random_state

    @property
    def sees_parts(self) -> bool:  # type: ignore[override]
        return self.receptive_fields is not None

    def check_parameters(self) -> None:
        super().check_parameters()
        self._check_scale_and_activation()

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        labels = self._checked_labels(y, X.shape[0])
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
        self.weights_ = packed(with_length(units, self.scale), dtype)

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


_PARAMETERS: dict[str, Kind] = {
    "receptive_fields": nothing | IMAGE,
    "border": integer,
    "min_area": integer,
    "scale": number,
    "activation": ACTIVATION,
}


@stored_layer({**_PARAMETERS, "candidates": integer})
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
    weights_ : ndarray or sparse array of shape (n_features, n_hidden)
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

    def __init__(
        self,
        n_hidden: int | Literal["auto"] = "auto",
        *,
        receptive_fields: tuple[int, ...] | None = None,
        border: int = 2,
        min_area: int = 10,
        scale: float = 1.0,
        activation: Activation = "tanh",
        candidates: int = 10,
        random_state: Seed = None,
    ) -> None:
        super().__init__(
            n_hidden,
            receptive_fields=receptive_fields,
            border=border,
            min_area=min_area,
            scale=scale,
            activation=activation,
            random_state=random_state,
        )
        self.candidates = candidates

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("candidates", self.candidates, low=1, whole=True)

    def _units(
        self, X: Any, labels: Array, masks: Array | None, random: np.random.RandomState
    ) -> Array:
        blocks = []
        for start in range(0, self.n_hidden_, _UNITS_PER_BLOCK):
            stop = min(start + _UNITS_PER_BLOCK, self.n_hidden_)
            inside = None if masks is None else masks[start:stop]
            first = random.randint(len(labels), size=stop - start)
            best, largest = None, None
            for _ in range(int(self.candidates)):
                second = _of_other_classes(labels, labels[first], random)
                difference = _rows(X, first) - _rows(X, second)
                if inside is not None:
                    difference *= _like(inside, difference)
                size = _row_squares(difference)
                if best is None or largest is None:
                    best, largest = difference, size
                else:
                    better = size > largest
                    best[better], largest[better] = difference[better], size[better]
            assert best is not None
            blocks.append(on_host(best))
        return np.concatenate(blocks)


@stored_layer(_PARAMETERS)
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
    weights_ : ndarray or sparse array of shape (n_features, n_hidden)
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
        X = on_host(X) if is_on_device(X) else X  # sums in another order have other last bits
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


def _like(mask: Array, A: Any) -> Any:
    """A mask where an array is."""
    return A.new_tensor(mask) if is_on_device(A) else mask


def _row_squares(A: Any) -> Any:
    return (A * A).sum(dim=1) if is_on_device(A) else np.einsum("ij,ij->i", A, A)


def _rows(X: Any, rows: Array) -> Any:
    if is_on_device(X):
        return X[rows]
    chosen = X[rows]
    chosen = chosen.toarray() if sparse.issparse(chosen) else chosen
    return chosen.astype(working_dtype(X))
