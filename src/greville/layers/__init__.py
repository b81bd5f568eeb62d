"""Hidden layers: X → H, one file per kind."""

from .contrast import ClassLayer, ContrastLayer
from .fields import ReceptiveFieldLayer
from .fourier import FourierLayer
from .random import RandomLayer

__all__ = ["ClassLayer", "ContrastLayer", "FourierLayer", "RandomLayer", "ReceptiveFieldLayer"]
