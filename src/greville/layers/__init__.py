"""Hidden layers: X → H, one file per kind."""

from . import registry
from .contrast import ClassLayer, ContrastLayer
from .fields import ReceptiveFieldLayer
from .fourier import FourierLayer
from .patches import PatchLayer
from .protocol import (
    UNITS_PER_INPUT,
    Layer,
    matrix_of,
    runs_on_device,
    stored_layer,
    takes_checked_rows,
)
from .random import RandomLayer
from .stacked import StackedLayer
from .table import ColumnSummary, TableLayer
from .two_stages import image_layer

for _layer in (
    *(RandomLayer, TableLayer, FourierLayer, ReceptiveFieldLayer, ContrastLayer, ClassLayer),
    *(PatchLayer, StackedLayer),
):
    registry.register(_layer)

__all__ = [
    "UNITS_PER_INPUT",
    "ClassLayer",
    "ColumnSummary",
    "ContrastLayer",
    "FourierLayer",
    "Layer",
    "PatchLayer",
    "RandomLayer",
    "ReceptiveFieldLayer",
    "StackedLayer",
    "TableLayer",
    "image_layer",
    "matrix_of",
    "registry",
    "runs_on_device",
    "stored_layer",
    "takes_checked_rows",
]
