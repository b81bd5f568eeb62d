"""BLAS without Python's lock, and on parts of matrices.

SciPy's wrappers hold the lock while a routine runs, and copy a part of a matrix before they use it.
The same routines are there for Cython, and can be called from Python through ctypes, which does
neither: two threads can each have a core.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char, c_double, c_int
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

from ..threads import one_thread

Array = NDArray[Any]

# Columns of a root solved at a time. Measured for M = 4000 on two cores: 512 take 2.8 ms, 768 and
# 1024 take 2.6; BLAS's own routine, which runs on one core, 3.7.
_COLUMNS_AT_ONCE = 1024

_NO, _YES, _UPPER, _LEFT = (c_char(letter) for letter in (b"N", b"T", b"U", b"L"))
_ONE, _MINUS_ONE, _NEXT = c_double(1.0), c_double(-1.0), c_int(1)


@cache
def _routine(name: str, n_arguments: int) -> Any:
    module = cython_lapack if name == "dpotrf" else cython_blas
    capsule = module.__pyx_capi__[name]
    get_name, get_pointer = (
        ctypes.pythonapi.PyCapsule_GetName,
        ctypes.pythonapi.PyCapsule_GetPointer,
    )
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer = get_pointer(capsule, get_name(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(pointer)


@cache
def available() -> bool:
    """Whether the routines are there, with integers of the usual size."""
    try:
        G = np.zeros((2, 2), order="F")
        add_gram(G, np.array([[2.0, 3.0], [0.0, 1.0]]))
        return bool(root_in_place(G) and np.allclose(G, [[2.0, 3.0], [0.0, 1.0]]))
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def add_gram(G: Array, H: Array) -> None:
    """G += H'H, the upper triangle of a Fortran-ordered G only, for C-ordered rows."""
    n, k = c_int(len(G)), c_int(len(H))
    _routine("dsyrk", 10)(
        byref(_UPPER), byref(_NO), byref(n), byref(k), byref(_ONE), H.ctypes.data, byref(n),
        byref(_ONE), G.ctypes.data, byref(n),
    )  # fmt: skip


def add_gram_of_columns(S: Array, F: Array) -> None:
    """S += F'F, the upper triangle only, for Fortran-ordered arrays."""
    k, n = c_int(F.shape[0]), c_int(F.shape[1])
    _routine("dsyrk", 10)(
        byref(_UPPER), byref(_YES), byref(n), byref(k), byref(_ONE), F.ctypes.data, byref(k),
        byref(_ONE), S.ctypes.data, byref(n),
    )  # fmt: skip


def root_in_place(G: Array) -> bool:
    """The root of a Fortran-ordered G in its upper triangle; False where there is none."""
    n, info = c_int(len(G)), c_int(0)
    _routine("dpotrf", 5)(byref(_UPPER), byref(n), G.ctypes.data, byref(n), byref(info))
    return info.value == 0


def root_by_blocks(G: Array, n_blocks: int) -> bool:
    """`root_in_place` in a few large steps, which use all cores; the roots of blocks use one."""
    n, info = len(G), c_int(0)
    stride, matrix, length = c_int(n), G.ctypes.data, -(-n // n_blocks)
    for j in range(0, n, length):
        k, rest = c_int(min(length, n - j)), c_int(max(0, n - j - length))
        pivot, right = matrix + 8 * j * (n + 1), matrix + 8 * (j + (j + length) * n)
        with one_thread:
            _routine("dpotrf", 5)(byref(_UPPER), byref(k), pivot, byref(stride), byref(info))
        if info.value:
            return False
        if rest.value:
            _routine("dtrsm", 11)(
                byref(_LEFT), byref(_UPPER), byref(_YES), byref(_NO), byref(k), byref(rest),
                byref(_ONE), pivot, byref(stride), right, byref(stride),
            )  # fmt: skip
            _routine("dsyrk", 10)(
                byref(_UPPER), byref(_YES), byref(rest), byref(k), byref(_MINUS_ONE), right,
                byref(stride), byref(_ONE), matrix + 8 * (j + length) * (n + 1), byref(stride),
            )  # fmt: skip
    return True


def solve_transposed_in_place(R: Array, B: Array) -> None:
    """B ← R⁻ᵀB, for Fortran-ordered arrays."""
    m, n = c_int(B.shape[0]), c_int(B.shape[1])
    _routine("dtrsm", 11)(
        byref(_LEFT), byref(_UPPER), byref(_YES), byref(_NO), byref(m), byref(n), byref(_ONE),
        R.ctypes.data, byref(m), B.ctypes.data, byref(m),
    )  # fmt: skip


def solve_transposed_vector(R: Array, a: Array) -> Array:
    """R⁻ᵀa for a large Fortran-ordered R, on all cores: most of it are products with a vector."""
    n, f = len(R), a.copy()
    stride, matrix, vector = c_int(n), R.ctypes.data, f.ctypes.data
    multiply, solve = _routine("dgemv", 11), _routine("dtrsv", 8)
    for j in range(0, n, _COLUMNS_AT_ONCE):
        k = c_int(min(_COLUMNS_AT_ONCE, n - j))
        if j:
            multiply(
                byref(_YES), byref(c_int(j)), byref(k), byref(_MINUS_ONE), matrix + 8 * j * n,
                byref(stride), vector, byref(_NEXT), byref(_ONE), vector + 8 * j, byref(_NEXT),
            )  # fmt: skip
        solve(
            byref(_UPPER), byref(_YES), byref(_NO), byref(k), matrix + 8 * j * (n + 1),
            byref(stride), vector + 8 * j, byref(_NEXT),
        )  # fmt: skip
    return f
