"""Where the arithmetic runs: arrays and the linear algebra on them, behind one protocol.

`protocol` names the operations, `scipy` is the tuned backend for NumPy arrays, `plain` the same
operations for any namespace of the array API standard. Everything in `linalg`, `solvers` and
`layers` goes through one of them.
"""

from .protocol import Array, Backend, Kernels, Tuning, eps, longest_rows, threads_for_rows
from .registry import default, get, names, register, use

__all__ = [
    "Array",
    "Backend",
    "Kernels",
    "Tuning",
    "default",
    "eps",
    "get",
    "longest_rows",
    "names",
    "register",
    "threads_for_rows",
    "use",
]
