"""Hidden layers: X → H, one file per kind."""

from .contrast import ClassLayer, ContrastLayer
from .fields import ReceptiveFieldLayer
from .fourier import FourierLayer
from .lags import LagLayer
from .minirocket import KERNELS, MiniRocketLayer
from .patches import PatchLayer, PatchSteps, patch_steps
from .protocol import (
    UNITS_PER_INPUT,
    Layer,
    Matrix,
    matrix_of,
    rows_apart,
    runs_on_device,
    stored_layer,
    takes_checked_rows,
)
from .random import RandomLayer
from .reservoir import ReservoirLayer
from .sequence import SequenceLayer
from .series import SeriesLayer, series_rows
from .span import WIDE_COLUMNS, SpanLayer
from .stacked import StackedLayer
from .table import ColumnSummary, TableLayer
from .two_stages import image_layer

__all__ = [
    "KERNELS",
    "UNITS_PER_INPUT",
    "WIDE_COLUMNS",
    "ClassLayer",
    "ColumnSummary",
    "ContrastLayer",
    "FourierLayer",
    "LagLayer",
    "Layer",
    "Matrix",
    "MiniRocketLayer",
    "PatchLayer",
    "PatchSteps",
    "RandomLayer",
    "ReceptiveFieldLayer",
    "ReservoirLayer",
    "SequenceLayer",
    "SeriesLayer",
    "SpanLayer",
    "StackedLayer",
    "TableLayer",
    "image_layer",
    "matrix_of",
    "patch_steps",
    "rows_apart",
    "runs_on_device",
    "series_rows",
    "stored_layer",
    "takes_checked_rows",
]
