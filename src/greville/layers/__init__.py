"""Hidden layers: X → H, one file per kind."""

from . import registry
from .contrast import ClassLayer, ContrastLayer
from .fields import ReceptiveFieldLayer
from .fourier import FourierLayer
from .protocol import (
    UNITS_PER_INPUT,
    Layer,
    matrix_of,
    runs_on_device,
    stored_layer,
    takes_checked_rows,
)
from .random import RandomLayer
from .table import ColumnSummary, TableLayer

for _layer in (
    *(RandomLayer, TableLayer, FourierLayer),
    *(ReceptiveFieldLayer, ContrastLayer, ClassLayer),
):
    registry.register(_layer)

__all__ = [
    "UNITS_PER_INPUT",
    "ClassLayer",
    "ColumnSummary",
    "ContrastLayer",
    "FourierLayer",
    "Layer",
    "RandomLayer",
    "ReceptiveFieldLayer",
    "TableLayer",
    "matrix_of",
    "registry",
    "runs_on_device",
    "stored_layer",
    "takes_checked_rows",
]
