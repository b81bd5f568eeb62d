"""What must be known of all rows before the first is learned: one look at each part of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..backend import Array
from ..devices import is_on_device, on_host
from .chunk import Chunk
from .columns import Columns
from .labels import LabelTargets
from .targets import Targets

# Rows, and numbers in them, that a layer of ours is fitted to.
_MOST_ROWS, _MOST_NUMBERS, _LEAST_ROWS = 1 << 16, 1 << 26, 1024


def places_for_layer(n_rows: int, n_inputs: int) -> Array:
    """Which of all rows a layer that looks at samples is fitted to: at equal distances.

    Examples
    --------
    >>> from greville.elm.survey import places_for_layer
    >>> places_for_layer(200_000, 1000)[:3], len(places_for_layer(200_000, 1000))
    (array([0, 3, 6]), 65536)
    >>> len(places_for_layer(5000, 1000))
    5000
    """
    most = min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_NUMBERS // n_inputs))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.arange(most) * n_rows // most


@dataclass(frozen=True, eq=False)
class Survey:
    """How many rows there are, in which ranges, and with which targets; an immutable value.

    Attributes
    ----------
    inputs : Columns
    targets : Targets
        The classes, or the number of outputs.
    outputs : Columns or None
        The ranges of targets that are numbers.
    names : tuple of str, or None
        Those of the columns, where they have any.
    """

    inputs: Columns
    targets: Targets
    outputs: Columns | None
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, chunk: Chunk, targets: Targets, names: Any = None) -> Survey:
        """Of checked rows."""
        outputs = None
        if not isinstance(targets, LabelTargets):
            y = on_host(chunk.y) if is_on_device(chunk.y) else chunk.y
            outputs = Columns.of(y, chunk.weight)
        inputs = Columns.of(chunk.X, chunk.weight)
        return cls(inputs, targets, outputs, None if names is None else tuple(map(str, names)))

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.inputs.n

    @property
    def count(self) -> float:
        """How much they count."""
        return self.inputs.count

    def joined(self, other: Survey) -> Survey:
        """Of the rows of both; a ValueError if they cannot be rows of one model."""
        mine, theirs = len(self.inputs.low), len(other.inputs.low)
        if mine != theirs:
            raise ValueError(f"X: it has {theirs} columns, and that of the first {mine}.")
        if self.names != other.names:
            raise ValueError(
                f"X: its columns are {_listed(other.names)}, and those of the first "
                f"{_listed(self.names)}; pass the same columns in the same order."
            )
        if self.targets.dtype != other.targets.dtype:
            raise ValueError(
                f"X: its numbers are {other.targets.dtype}, and those of the first "
                f"{self.targets.dtype}; pass all of them in one dtype."
            )
        outputs = None
        if self.outputs is not None and other.outputs is not None:
            if self.targets.n_outputs != other.targets.n_outputs:
                raise ValueError(
                    f"y: it has {other.targets.n_outputs} outputs, and that of the first "
                    f"{self.targets.n_outputs}."
                )
            outputs = self.outputs.joined(other.outputs)
        return replace(
            self,
            inputs=self.inputs.joined(other.inputs),
            targets=self.targets.merged(other.targets),
            outputs=outputs,
        )


def survey(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Survey:
    """What an estimator must know of rows before it learns the first; it learns nothing."""
    other = clone(model)
    chunk, targets = other._checked(X, y, sample_weight, reset=True)
    return Survey.of(chunk, targets, getattr(other, "feature_names_in_", None))


def start_from(model: Any, survey: Survey, X: Any, y: Any, sample_weight: Any = None) -> None:
    """Have an estimator take units, hidden layer and classes from a survey, and forget all else.

    X, y and weights are the rows that the layer is fitted to or chosen from: those at its
    `places_for_layer`, or any one row where it does not look at rows.
    """
    with model.replacement() as new:
        chunk: Chunk = new._checked(X, y, sample_weight, reset=True)[0]
        new._fitted = model._start(chunk, survey.targets, whole=True, survey=survey)[0]


def _listed(names: tuple[str, ...] | None) -> str:
    if names is None:
        return "without names"
    shown = ", ".join(map(repr, names[:8]))
    return f"{shown}, ..." if len(names) > 8 else shown
