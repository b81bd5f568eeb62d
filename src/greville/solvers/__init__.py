"""H, Y → W: one file per algorithm."""

from .batch import Batch
from .dynamic import DynamicOpium
from .greville import Greville
from .light import OpiumLight
from .opium import Opium
from .sliding import SlidingOpium

__all__ = ["Batch", "DynamicOpium", "Greville", "Opium", "OpiumLight", "SlidingOpium"]
