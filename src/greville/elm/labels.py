"""Labels of classes: checks, and one output for each class."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..backend import Array
from ..devices import on_host
from ..fields import floating, require, stored
from ..validation import naming
from .chunk import LABELS
from .targets import Targets
from .units import Scaling


def _check_fields(targets: ClassTargets) -> None:
    classes = targets.classes
    fits = len(classes) and np.array_equal(np.unique(classes), classes)
    require(fits, "the classes are not sorted")


@stored(check=_check_fields)
@dataclass(frozen=True, eq=False)
class ClassTargets(Targets):
    """Labels: one output for each of the sorted classes, which is 1 for its rows, 0 for others."""

    classes: Annotated[Array, LABELS]
    dtype: Annotated[Any, floating]
    scaling = Scaling()
    calibrates = True

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.classes)

    def check_chunk(self, y: Array) -> None:
        fits = y.ndim == 1 and (not len(y) or _is_text(y) == _is_text(self.classes))
        require(fits, "the first labels are of another kind than the classes")
        fits = set(y.tolist()) <= set(self.classes.tolist())
        require(fits, "the first labels are not among the classes")

    def encode(self, y: Array) -> Callable[[slice], Array]:
        labels, n_classes = index_of(self.classes, y), len(self.classes)
        return lambda rows: one_hot(labels[rows], n_classes, self.dtype)

    def encode_one(self, y: Any) -> Any:
        encoded = vars(self).get("_encoded")  # of each label, made when it is first wanted
        if encoded is None:
            n = len(self.classes)
            rows = one_hot(np.arange(n), n, self.dtype)
            encoded = dict(zip(self.classes.tolist(), rows if n > 1 else rows[:, 0], strict=True))
            vars(self)["_encoded"] = encoded
        try:
            return encoded.get(y)
        except TypeError:  # y is not hashable
            return None

    def one_of_chunk(self, y: Any) -> Array:
        return np.asarray([y])

    def decode_one(self, output: Any) -> Any:
        return self.classes[np.argmax(output)]

    def decide(self, scores: Array) -> Array:
        """The label with the largest output of each row."""
        return self.classes[on_host(scores.argmax(1))]

    def merged(self, other: ClassTargets) -> ClassTargets:
        return self.with_classes(merged_classes(self.classes, other.classes, "other"))

    def with_classes(self, classes: Array) -> ClassTargets:
        """With these labels, the present ones among them; itself where there is no other."""
        return self if len(classes) == len(self.classes) else ClassTargets(classes, self.dtype)

    def places(self, y: Array) -> Array:
        return index_of(self.classes, y)

    def unknown_before(self, y: Array, known: Array | None) -> Array | None:
        """Which classes are not known yet at each of these rows; None where all are.

        `known` are those known before the first. Where no class is known, all take part.
        """
        first = first_seen(self.places(y), self.n_outputs)
        if known is not None:
            first[self.places(known)] = -1
        if not (first >= 0).any():
            return None
        unknown = first >= np.arange(len(y))[:, None]
        unknown &= ~unknown.all(axis=1, keepdims=True)
        return unknown

    def outputs_of(self, before: ClassTargets) -> Array:
        return index_of(self.classes, before.classes)

    def __reduce__(self) -> Any:
        return type(self), (self.classes, self.dtype)


def checked_labels(y: Any, name: str) -> Array:
    """y as a 1-d array of labels of one kind."""
    with naming(name):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        y = column_or_1d(list(y) if isinstance(y, (set, frozenset, range)) else y, warn=True)
        try:
            if y.dtype.kind in "fc":
                assert_all_finite(y, input_name=name)
            np.unique(y)  # a TypeError for labels that cannot be ordered
            with warnings.catch_warnings():  # a chunk of a stream may have as many labels as rows
                warnings.filterwarnings("ignore", "The number of unique classes is greater")
                check_classification_targets(y)
        except TypeError as error:
            raise ValueError(
                f"expected labels of one kind, all numbers or all text ({error})."
            ) from error
    return y


def merged_classes(known: Array | None, more: Array, name: str) -> Array:
    """The sorted union of two sets of labels of the same kind."""
    new = np.unique(more)
    if known is None or len(known) == 0:
        return new
    with naming(name):
        if _is_text(known) != _is_text(new):
            kinds = ["numbers", "text"]
            raise ValueError(
                f"the labels are {kinds[_is_text(new)]}, but the ones known so far are "
                f"{kinds[_is_text(known)]}; pass labels of one kind."
            )
        both = np.concatenate([known, new])
        if both.dtype.kind == "f" and any(
            labels.dtype.kind in "iu" and np.abs(labels.astype(float)).max() >= 2**53
            for labels in (known, new)
        ):
            raise ValueError(
                f"labels of {known.dtype} and {new.dtype} this large cannot be told apart in one "
                f"array; pass all of them as {known.dtype}."
            )
        return np.unique(both)


def _is_text(labels: Array) -> bool:
    return labels.dtype.kind in "USOT" and all(isinstance(label, str) for label in labels)


def one_hot(labels: Array, n_classes: int, dtype: Any) -> Array:
    """A row for each label, with a one in its place and zeros elsewhere."""
    rows = np.zeros((len(labels), n_classes), dtype)
    rows[np.arange(len(labels)), labels] = 1
    return rows


def index_of(classes: Array, labels: Array) -> Array:
    """The place of each label among the sorted classes."""
    return np.searchsorted(classes, labels)


def first_seen(labels: Array, n_classes: int) -> Array:
    """The first row with each label, or the number of rows."""
    first = np.full(n_classes, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    return first
