"""Single rows in machine code, where numba is installed (``pip install "greville[fast]"``).

Nothing is compiled or imported here: `load` does both when a stream of single rows has begun, and
`on_demand` when features of many series were made; both keep what was compiled on disk.
Without numba, or where it does not work, there are no kernels, and rows go through NumPy and BLAS.
"""

from .loading import DUE, Kernels, Unavailable, load, usable, use, worth_loading
from .on_demand import proportions_kernel, states_kernel

__all__ = [
    "DUE",
    "Kernels",
    "Unavailable",
    "load",
    "proportions_kernel",
    "states_kernel",
    "usable",
    "use",
    "worth_loading",
]
