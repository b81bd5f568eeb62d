"""H, Y → W: one file per algorithm."""

from . import protocol, registry
from ._evidence import Path
from ._in_place import NEVER, InPlace
from ._publishing import CACHES, Publishing
from ._root_solver import AdditiveSolver, ChoosingSolver, RootSolver
from ._rows import LateCheck
from ._solver import OnlineSolver, Solver
from ._stored import stored_solver, takes_memory_to_read
from ._summary import error_in_words, place_summary, solver_summary, training_error
from .accumulator import Accumulator
from .batch import Batch
from .dynamic import DynamicOpium
from .fitted import Fitted
from .greville import Greville
from .light import OpiumLight
from .opium import Opium
from .protocol import Algorithm, Capabilities, Rows, Shape, block_length
from .sliding import SlidingOpium
from .sums import Sums

__all__ = [
    "CACHES",
    "NEVER",
    "Accumulator",
    "AdditiveSolver",
    "Algorithm",
    "Batch",
    "Capabilities",
    "ChoosingSolver",
    "DynamicOpium",
    "Fitted",
    "Greville",
    "InPlace",
    "LateCheck",
    "OnlineSolver",
    "Opium",
    "OpiumLight",
    "Path",
    "Publishing",
    "RootSolver",
    "Rows",
    "Shape",
    "SlidingOpium",
    "Solver",
    "Sums",
    "block_length",
    "error_in_words",
    "place_summary",
    "protocol",
    "registry",
    "solver_summary",
    "stored_solver",
    "takes_memory_to_read",
    "training_error",
]
