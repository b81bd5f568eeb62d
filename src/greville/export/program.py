"""A fitted model as a short list of steps on numbers: what every format is written from."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..anatomy import Anatomy, anatomy_of
from ..backend import Array
from ..layers import FourierLayer, PatchLayer, PatchSteps, StackedLayer, matrix_of, patch_steps


@dataclass(frozen=True)
class Standardize:
    """(x - centre) / unit."""

    centre: Array
    unit: Array


@dataclass(frozen=True)
class Product:
    """x @ weights + bias."""

    weights: Array
    bias: Array | None


@dataclass(frozen=True)
class Bend:
    """An activation of the numbers from `start` to `stop`, times a factor."""

    name: str
    start: int
    stop: int
    factor: float = 1.0


@dataclass(frozen=True)
class Waves:
    """Cosines of all numbers, and then sines of the first `n_sines`."""

    n_sines: int


Step = Standardize | Product | Bend | Waves | PatchSteps


@dataclass(frozen=True)
class Program:
    """Inputs through the steps, beside the direct ones, times the weights.

    Attributes
    ----------
    n_inputs, n_direct : int
        The last `n_direct` inputs are units themselves, and do not go through the steps.
    steps : list of step
    weights, intercept : ndarray of shape (n_units, n_outputs) and (n_outputs,)
    classes : ndarray, or None
    sharpness : float
    flat : bool
        Whether a prediction is one number.
    """

    n_inputs: int
    n_direct: int
    names: tuple[str, ...]
    steps: list[Step]
    weights: Array
    intercept: Array
    classes: Array | None
    sharpness: float
    flat: bool

    @property
    def n_outputs(self) -> int:
        return len(self.intercept)


def program_of(model: Any) -> Program:
    """The program of a fitted estimator or solver.

    Raises
    ------
    ValueError
        If its hidden layer cannot be written as such steps.
    """
    parts: Anatomy = anatomy_of(model)
    steps: list[Step] = []
    if parts.unit is not None:
        centre = np.zeros(len(parts.unit)) if parts.centre is None else parts.centre
        steps.append(Standardize(centre, parts.unit))
    if parts.layer is not None:
        steps += steps_of(parts.layer)
    return Program(
        *(parts.n_inputs, parts.n_direct, parts.names, steps, parts.weights, parts.intercept),
        *(parts.classes, parts.sharpness, parts.flat),
    )


def steps_of(layer: Any) -> list[Step]:
    """What a fitted hidden layer does, as steps."""
    if isinstance(layer, StackedLayer):
        return steps_of(layer.first_) + steps_of(layer.second_)
    if isinstance(layer, PatchLayer):
        return [patch_steps(layer)]
    if isinstance(layer, FourierLayer):
        n = layer.weights_.shape[1]
        return [_product(layer.weights_, None), Waves(layer.n_hidden_ - n)]
    dense = layer
    if sparse.issparse(getattr(layer, "weights_", None)):
        dense = copy(layer)
        dense.weights_ = layer.weights_.toarray()
    matrix = matrix_of(dense)
    if matrix is None:
        raise ValueError(
            f"model: its layer {type(layer).__name__} cannot be exported: only greville's layers "
            "whose activation has a name can. Export a model of what comes out of it instead."
        )
    product = _product(matrix.weights, matrix.bias)
    if matrix.activation != "by unit":
        return [product, Bend(matrix.activation, 0, product.weights.shape[1])]
    bends = matrix.n_tanh, matrix.n_tanh + matrix.n_relu
    return [product, Bend("tanh", 0, bends[0], matrix.size), Bend("relu", *bends)]


def _product(weights: Array, bias: Array | None) -> Product:
    wide = None if bias is None else np.asarray(bias, np.float64)
    return Product(np.asarray(weights, np.float64), wide)
