"""A fitted model as a short list of steps on numbers: what every format is written from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..anatomy import Anatomy, anatomy_of
from ..backend import Array
from ..layers import (
    MiniRocketLayer,
    PatchLayer,
    PatchSteps,
    StackedLayer,
    matrix_of,
    patch_steps,
)
from ..persistence import whole_file
from ..tables import Stream, TableClassifier, TableModel
from .columns import ColumnCode, codes_of, notes_of


class Product(NamedTuple):
    """A step that multiplies: x @ weights + bias."""

    weights: Array
    bias: Array | None


class Bend(NamedTuple):
    """An activation of the numbers from `start` to `stop`, times a factor."""

    name: str
    start: int
    stop: int
    factor: float = 1.0


Step = Product | Bend | PatchSteps | MiniRocketLayer


class Program(NamedTuple):
    """A model as steps: inputs in their units go through them, beside direct ones, to weights.

    Attributes
    ----------
    parts : Anatomy
    steps : list of step
    columns : list of column codes
        Where the inputs come from, if the model is that of a table.
    target : str
        The name of its target.
    notes : list of str
        What whoever uses the program must know about its inputs.
    """

    parts: Anatomy
    steps: list[Step]
    columns: list[ColumnCode]
    target: str
    notes: list[str]

    @property
    def n_outputs(self) -> int:
        return len(self.parts.intercept)

    @property
    def n_inner(self) -> int:
        """Number of inputs that go through the steps; they come first."""
        return self.parts.n_inputs - self.parts.n_direct


def program_of(model: Any) -> Program:
    """The program of a fitted estimator, solver, stream, or model of a table.

    Raises
    ------
    ValueError
        If it cannot be exported.
    """
    estimator, table = exported_estimator(model)
    parts = anatomy_of(estimator)
    if isinstance(model, TableClassifier):  # which numbers its labels
        parts = parts._replace(classes=np.array(model.labels_)[parts.classes])
    steps = [] if parts.layer is None else steps_of(parts.layer)
    if table is None:
        return Program(parts, steps, [], "", [])
    notes = notes_of(table)
    if isinstance(model, Stream):
        notes.append("predictions are the model's own, not mixed with the last targets")
    return Program(parts, steps, codes_of(table), table.target, notes)


def exported_estimator(model: Any) -> tuple[Any, TableModel | None]:
    """Return the estimator to export, and the table model that it is a part of, if any."""
    if isinstance(model, Stream):
        model = model.settled()
    model = getattr(model, "model_", model)
    if not isinstance(model, TableModel):
        return model, None
    table = model.twin().settle()
    if table.estimator is None:
        raise ValueError("model: it has learned nothing yet; train it before it is exported.")
    return table.estimator, table


def steps_of(layer: Any) -> list[Step]:
    """Return what a fitted hidden layer does, as steps."""
    if isinstance(layer, StackedLayer):
        return steps_of(layer.first_) + steps_of(layer.second_)
    if isinstance(layer, PatchLayer):
        return [patch_steps(layer)]
    if isinstance(layer, MiniRocketLayer):
        return [layer]
    matrix = matrix_of(layer)
    if matrix is None:
        raise ValueError(
            f"model: its layer {type(layer).__name__} cannot be exported: only greville's layers "
            "whose activation has a name can. Export a model of what comes out of it instead."
        )
    bias = None if matrix.bias is None else np.asarray(matrix.bias, np.float64)
    product = Product(np.asarray(matrix.weights, np.float64), bias)
    return [product, *(Bend(name, at.start, at.stop, size) for name, at, size in matrix.kinds())]


def write_file(path: Any, content: bytes) -> None:
    """Write a file, whole or not at all, if there is a path."""
    if path is not None:
        with whole_file(path) as new:
            Path(new).write_bytes(content)
