"""H, Y → W: one file per algorithm."""

from . import registry
from ._evidence import Path
from ._in_place import NEVER, InPlace
from ._publishing import CACHES, Publishing, StartedMeanwhile
from ._rows import LateCheck, Rows, block_length
from ._solver import Capabilities, Solver
from ._state import Shape, State, WeightsState, stored_weights
from ._stored import stored_solver, takes_memory_to_read
from ._summary import place_summary, solver_summary
from .accumulator import Accumulator
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
    "Accumulator",
    "Batch",
    "Capabilities",
    "DynamicOpium",
    "Greville",
    "InPlace",
    "LateCheck",
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
    "place_summary",
    "registry",
    "solver_summary",
    "stored_solver",
    "stored_weights",
    "takes_memory_to_read",
]
