"""Where the arithmetic runs: arrays and the linear algebra on them, behind one class.

`base` has the operations for any namespace of the array API standard, `scipy` those that are tuned
for NumPy arrays, `torch` those for devices. All of `linalg`, `solvers` and `layers` goes through
one of them.
"""

from .base import Array, Backend, Tuning, eps, threads_for_rows
from .registry import default, get, names, register, use

__all__ = [
    "Array",
    "Backend",
    "Tuning",
    "default",
    "eps",
    "get",
    "names",
    "register",
    "threads_for_rows",
    "use",
]
