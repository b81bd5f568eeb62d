"""Labels of classes: checks, and one output for each class."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..backend import Array
from ..devices import on_host
from ..fields import array, count, floating, nothing, require, stored
from ..validation import check_number, naming
from .calibration import log_losses, probabilities, probabilities_of_one
from .examples import LABELS
from .targets import Targets
from .units import Scaling


def _check_fields(targets: ClassTargets) -> None:
    classes = targets.classes
    fits = len(classes) and np.array_equal(np.unique(classes), classes)
    require(fits, "the classes are not sorted")
    labels, factors = targets.weighted_labels, targets.factors
    fits = (labels is None) == (factors is None)
    if labels is not None and factors is not None:
        fits = 0 < len(labels) == len(factors) and np.array_equal(np.unique(labels), labels)
        fits = fits and _is_text(labels) == _is_text(classes) and bool((factors >= 0).all())
    require(fits, "the weights of the classes do not fit them")


class LabelTargets(Targets):
    """Targets whose outputs are scores, from which labels and probabilities are made.

    Also `decide(scores)`, `margins(scores)` and `probabilities(scores, sharpness)`, what `predict`,
    `decision_function` and `predict_proba` return; `log_losses(scores, y, weight)`, the log loss
    for each sharpness; and `with_classes(classes)`, these targets with more labels.

    Attributes
    ----------
    classes : ndarray
        The labels known so far, sorted.
    n_choices : int
        Between how many labels each decision is.
    """

    scaling = Scaling()
    calibrates = True
    classes: Any
    n_choices: Any
    decide: Any
    margins: Any
    probabilities: Any

    def probabilities_of_one(self, scores: Array, sharpness: float) -> Any:
        """Return the probabilities for the scores of one row."""
        return self.probabilities(np.reshape(scores, (1, -1)), sharpness)[0]

    def are_usual(self, y: Any) -> bool:
        """Whether y is an array of known labels, of the same kind as the classes."""
        return False

    def unknown_before(self, y: Array, before: Array | None) -> Array | None:
        """Mark, for each row, the classes that are not known yet; None if all are known.

        `before` are those known before the first.
        """
        return None

    def answer(self, scores: Array, sharpness: Any, method: str) -> Any:
        """Return what the method of this name returns for scores."""
        if method == "predict_proba":
            return self.probabilities(scores, sharpness)
        return self.decide(scores) if method == "predict" else self.margins(scores)


@stored(check=_check_fields)
@dataclass(frozen=True, eq=False)
class ClassTargets(LabelTargets):
    """Labels: one output per sorted class, 1 for the rows of that class, 0 for others.

    Rows with one of the `weighted` labels, which are sorted, count as often as `factors` say.
    """

    classes: Annotated[Array, LABELS]
    dtype: Annotated[Any, floating]
    weighted_labels: Annotated[Array | None, nothing | LABELS] = None
    factors: Annotated[Array | None, nothing | array(1)] = None

    @property
    def n_outputs(self) -> int:  # type: ignore[override]
        return len(self.classes)

    @property
    def n_choices(self) -> int:
        return len(self.classes)

    def weighted(self, y: Array, weight: Array | None) -> Array | None:
        labels, factors = self.weighted_labels, self.factors
        if labels is None or factors is None:
            return weight
        at = np.minimum(index_of(labels, y), len(labels) - 1)
        factor = np.where(labels[at] == y, factors[at], 1.0)
        return (factor if weight is None else weight * factor).astype(self.dtype)

    def are_usual(self, y: Any) -> bool:
        classes = self.classes
        usual = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind == classes.dtype.kind
        if not usual or y.dtype.kind not in "biuU" or not len(y):
            return False
        return bool((classes[np.minimum(index_of(classes, y), len(classes) - 1)] == y).all())

    @property
    def label_weights(self) -> dict[Any, float]:
        """The weights of the labels that do not count once."""
        labels, factors = self.weighted_labels, self.factors
        if labels is None or factors is None:
            return {}
        return dict(zip(labels.tolist(), factors.tolist(), strict=True))

    def check_rows(self, y: Array) -> None:
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

    def decode_one(self, output: Any) -> Any:
        return self.classes[np.argmax(output)]

    def decide(self, scores: Array) -> Array:
        """The label with the largest output of each row."""
        return self.classes[on_host(scores.argmax(1))]

    def margins(self, scores: Array) -> Array:
        """Return the scores; for two classes, the second score minus the first."""
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def probabilities(self, scores: Array, sharpness: Any) -> Array:
        return probabilities(scores, sharpness)

    def probabilities_of_one(self, scores: Array, sharpness: float) -> Array:
        return np.array(probabilities_of_one(scores.tolist(), sharpness), self.dtype)

    def log_losses(self, scores: Array, y: Array, weight: Array | None) -> Array:
        return log_losses(scores, index_of(self.classes, y), weight)

    def merged(self, other: ClassTargets) -> ClassTargets:
        return self.with_classes(merged_classes(self.classes, other.classes, "other"))

    def with_classes(self, classes: Array) -> ClassTargets:
        """Return labels with these classes, the present ones among them."""
        return self if len(classes) == len(self.classes) else replace(self, classes=classes)

    def unknown_before(self, y: Array, before: Array | None) -> Array | None:
        """Mark, for each row, the classes that are not known yet; None if all are known.

        `before` are those known before the first. Where no class is known, all take part.
        """
        first_rows = first_seen(index_of(self.classes, y), self.n_outputs)
        if before is not None:
            first_rows[index_of(self.classes, before)] = -1
        if not (first_rows >= 0).any():
            return None
        unknown = first_rows >= np.arange(len(y))[:, None]
        unknown &= ~unknown.all(axis=1, keepdims=True)
        return unknown

    def outputs_of(self, before: ClassTargets) -> Array:
        return index_of(self.classes, before.classes)

    def __reduce__(self) -> Any:
        return type(self), (self.classes, self.dtype, self.weighted_labels, self.factors)


@stored()
@dataclass(frozen=True, eq=False)
class IndicatorTargets(LabelTargets):
    """Several labels a row, as scikit-learn has them: an output for each, which is 1 or 0."""

    n_outputs: Annotated[int, count]
    dtype: Annotated[Any, floating]
    n_choices = 2
    several = True

    @property
    def classes(self) -> Array:
        return np.arange(self.n_outputs)

    def check_rows(self, y: Array) -> None:
        fits = y.ndim == 2 and y.shape[1] == self.n_outputs and y.dtype.kind == "f"
        require(fits, "the first labels are not those of several a row")

    def encode(self, y: Array) -> Callable[[slice], Array]:
        return lambda rows: y[rows].astype(self.dtype, copy=False)

    def encode_one(self, y: Any) -> Any:
        return checked_indicators(np.asarray(y)[None], "y", self.n_outputs)[0].astype(self.dtype)

    def decode_one(self, output: Any) -> Any:
        return self.decide(np.reshape(output, (1, -1)))[0]

    def decide(self, scores: Array) -> Array:
        return (on_host(scores) > 0.5).astype(np.int64)

    def margins(self, scores: Array) -> Array:
        return 2 * scores - 1

    def probabilities(self, scores: Array, sharpness: Any) -> Array:
        each = np.repeat(sharpness, scores.size // np.size(sharpness))
        proba = probabilities(_pairs(scores), each)
        return proba[:, 1].reshape(scores.shape)

    def log_losses(self, scores: Array, y: Array, weight: Array | None) -> Array:
        n = scores.shape[1]
        each = None if weight is None else np.repeat(weight, n)
        return log_losses(_pairs(scores), y.ravel().astype(int), each) / n

    def merged(self, other: IndicatorTargets) -> IndicatorTargets:
        return self.with_classes(other.classes)

    def with_classes(self, classes: Array) -> IndicatorTargets:
        if len(classes) != self.n_outputs:
            raise ValueError(
                f"y: it has {len(classes)} labels for each row, and this model was started with "
                f"{self.n_outputs}; pass as many, or call fit to start again."
            )
        return self


def _pairs(scores: Array) -> Array:
    """Return two scores for each label, against and for, as those of two classes."""
    flat = np.asarray(scores).reshape(-1, 1)
    return np.hstack([1 - flat, flat])


def checked_indicators(y: Any, name: str, n: int | None = None) -> Array:
    """y as an array of zeros and ones with n columns."""
    y = y.toarray() if sparse.issparse(y) else np.asarray(y)
    binary = y.dtype.kind in "biuf" and bool(((y == 0) | (y == 1)).all())
    if y.ndim != 2 or not binary or n not in (None, y.shape[1]):
        columns = "" if n is None else f" and {n} columns"
        raise ValueError(
            f"{name}: several labels a row are a 2-d array of zeros and ones{columns}; got shape "
            f"{y.shape} of {y.dtype}."
        )
    return y.astype(np.float64)


def has_several_labels(y: Any) -> bool:
    """Whether y has more than one column: several labels a row."""
    if isinstance(y, (list, tuple)) and y:
        return isinstance(y[0], (list, tuple, np.ndarray)) and np.size(y[0]) > 1
    shape: Any = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def weights_of_classes(
    class_weight: Any, classes: Array, y: Array, weight: Array | None, *, whole: bool
) -> tuple[Array | None, Array | None]:
    """Return the sorted labels with a weight other than one, and the weights; None for none.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
    classes, y : ndarray
        The labels of all rows, and of each.
    weight : ndarray, optional
        The weights of the rows.
    whole : bool
        Whether these are all rows, so that labels are as frequent as in these.
    """
    if class_weight is None:
        return None, None
    if isinstance(class_weight, str) and not whole:
        raise ValueError(
            f"class_weight={class_weight!r}: how frequent labels are is not known of a stream; "
            "call fit, or prepare with some rows first, or pass a dict."
        )
    if isinstance(class_weight, str) and class_weight == "balanced":
        count = np.bincount(index_of(classes, y), weight, minlength=len(classes))
        factors = np.ones(len(classes))
        there = count > 0
        factors[there] = count.sum() / (there.sum() * count[there])
        return classes, factors
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight={class_weight!r}: pass None, 'balanced' or a dict of weights by label."
        )
    for label, factor in class_weight.items():
        check_number(f"class_weight[{label!r}]", factor, low=0)
    labels = checked_labels(list(class_weight), "class_weight")
    merged_classes(classes, labels, "class_weight")  # of one kind
    order = np.argsort(labels)
    return labels[order], np.array(list(class_weight.values()), np.float64)[order]


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


def merged_classes(classes: Array | None, more: Array, name: str) -> Array:
    """The sorted union of two sets of labels of the same kind."""
    new = np.unique(more)
    if classes is None or len(classes) == 0:
        return new
    with naming(name):
        if _is_text(classes) != _is_text(new):
            kinds = ["numbers", "text"]
            raise ValueError(
                f"the labels are {kinds[_is_text(new)]}, but the ones known so far are "
                f"{kinds[_is_text(classes)]}; pass labels of one kind."
            )
        both = np.concatenate([classes, new])
        if both.dtype.kind == "f" and any(
            labels.dtype.kind in "iu" and np.abs(labels.astype(float)).max() >= 2**53
            for labels in (classes, new)
        ):
            raise ValueError(
                f"labels of {classes.dtype} and {new.dtype} this large cannot be told apart in one "
                f"array; pass all of them as {classes.dtype}."
            )
        return np.unique(both)


def _is_text(labels: Array) -> bool:
    return labels.dtype.kind in "USOT" and all(isinstance(label, str) for label in labels)


def one_hot(labels: Array, n_classes: int, dtype: Any) -> Array:
    """Return a row for each label: one in the column of the label, zeros in the others."""
    rows = np.zeros((len(labels), n_classes), dtype)
    rows[np.arange(len(labels)), labels] = 1
    return rows


def index_of(classes: Array, labels: Array) -> Array:
    """Return the index of each label in the sorted classes."""
    return np.searchsorted(classes, labels)


def first_seen(labels: Array, n_classes: int) -> Array:
    """Return each label's first row; the number of rows for a label that does not occur."""
    first_rows = np.full(n_classes, len(labels))
    np.minimum.at(first_rows, labels, np.arange(len(labels)))
    return first_rows
