"""H, Y → W: one file per algorithm."""

from . import registry
from ._evidence import Path
from ._in_place import NEVER, InPlace
from ._publishing import CACHES, Publishing, StartedMeanwhile
from ._rows import Rows, block_length, device_check
from ._solver import Capabilities, Solver, place_summary
from ._state import Shape, State, WeightsState, stored_weights
from ._stored import stored_solver, takes_memory_to_read
from .batch import Batch
from .dynamic import DynamicOpium
from .greville import Greville
from .light import OpiumLight
from .opium import Opium
from .sliding import SlidingOpium
from .sums import Sums

__all__ = [
    "CACHES",
    "NEVER",
    "Batch",
    "Capabilities",
    "DynamicOpium",
    "Greville",
    "InPlace",
    "Opium",
    "OpiumLight",
    "Path",
    "Publishing",
    "Rows",
    "Shape",
    "SlidingOpium",
    "Solver",
    "StartedMeanwhile",
    "State",
    "Sums",
    "WeightsState",
    "block_length",
    "device_check",
    "place_summary",
    "registry",
    "stored_solver",
    "stored_weights",
    "takes_memory_to_read",
]
