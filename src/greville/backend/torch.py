"""Tensors of PyTorch, on any of its devices.

Kernels on a GPU run while Python goes on. What a host needs to know, such as whether a matrix has a
root, makes it wait: that happens once for many rows, never for one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from threading import RLock
from typing import Any

import numpy as np
import torch
from scipy import sparse

from .base import Array, Backend, Tuning

# Columns of a Gram matrix that are multiplied together, with those before them only: torch has no
# product that knows of a symmetric result. On an H200 (60,000 x 7840, float64) 512, 1024 and 2048
# columns make 51, 51 and 48 million million operations a second, all columns at once 25.
_COLUMNS = 1024

# Matrices whose rows begin at multiples of this are multiplied and factored faster: the Gram matrix
# of 60,000 x 7840 takes 74 ms, and 98 with an odd number of rows that are laid out in columns.
_ALIGNED = 32

# Numbers that are copied to the device at a time, while it computes with those before them:
# 44 GB/s in pieces of 32 MB, 28 of 64 MB, and 9 from memory that is not pinned.
_PIECE = 1 << 22

# The part of a device's memory that one block of activations may take, and one that three matrices
# of units by units may take so that a Gram matrix is kept from one chunk for the next.
_BLOCK_SHARE, _KEPT_SHARE = 1 / 64, 1 / 4

# NumPy's dtypes that torch has by the same name and computes with.
_SAME_IN_TORCH = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")

# The square of what no solution of numbers that can be squared exceeds.
_LARGE = {torch.float64: 1e300, torch.float32: 1e37}

_precision = RLock()  # torch has one setting for all threads


class TorchBackend(Backend):
    """Tensors on one device.

    Parameters
    ----------
    device : str
        As torch names it: "cuda:0", "mps", "cpu".
    """

    def __init__(self, device: str) -> None:
        self._place = torch.device(device)
        super().__init__(_Namespace(self._place), f"torch:{device}", self._place)
        self._wide = torch.float32 if self._place.type == "mps" else torch.float64
        self._copies: Any = None
        self.tuning = _tuning(self._place)

    # Arrays

    def _dtype(self, dtype: Any) -> Any:
        if dtype is None:
            return None
        torch_dtype = getattr(torch, np.dtype(dtype).name)
        return self._wide if torch_dtype is torch.float64 else torch_dtype

    def asarray(self, A: Any, dtype: Any = None) -> Array:
        if isinstance(A, torch.Tensor):
            return A.to(self._place, self._dtype(dtype))
        if sparse.issparse(A):
            return self._sparse(A, dtype)
        A = np.asarray(A)
        if A.dtype.kind not in "biuf" or A.dtype.name not in _SAME_IN_TORCH:
            A = A.astype(np.float64)
        moved = self._uploaded(A)
        return moved if dtype is None else moved.to(self._dtype(dtype))

    def _uploaded(self, A: Array) -> Any:
        """NumPy numbers on the device, without waiting for it."""
        A = A.astype(A.dtype.newbyteorder("="), copy=False)
        A = A if all(step > 0 for step in A.strides) else np.ascontiguousarray(A)
        if self._place.type != "cuda" or not A.size:
            wide = self._wide if A.dtype == np.float64 else None
            return torch.tensor(A, dtype=wide, device=self._place)
        if A.size <= _PIECE or not A.flags.writeable:
            return _pinned(A).to(self._place, non_blocking=True)
        rows = max(1, _PIECE * len(A) // A.size)
        if self._copies is None:
            self._copies = torch.cuda.Stream(self._place)
        source = torch.from_numpy(A)
        moved = torch.empty(source.shape, dtype=source.dtype, device=self._place)
        now = torch.cuda.current_stream(self._place)
        self._copies.wait_stream(now)  # for the memory, which may have been another tensor's
        with torch.cuda.stream(self._copies):
            for start in range(0, len(A), rows):
                piece = source[start : start + rows].pin_memory()
                moved[start : start + rows].copy_(piece, non_blocking=True)
        now.wait_stream(self._copies)
        return moved

    def _sparse(self, A: Any, dtype: Any) -> Any:
        """SciPy's sparse rows as a sparse tensor, which `matmul` takes."""
        A = A.tocoo()
        places = self._uploaded(np.stack([A.row, A.col]).astype(np.int64))
        numbers = self.asarray(A.data, np.float64 if dtype is None else dtype)
        with warnings.catch_warnings():  # they are SciPy's, which has checked them
            warnings.filterwarnings("ignore", "Sparse invariant checks")
            return torch.sparse_coo_tensor(places, numbers, A.shape, check_invariants=False)

    def to_numpy(self, A: Any) -> Array:
        return A.detach().cpu().numpy() if isinstance(A, torch.Tensor) else np.asarray(A)

    def copy(self, A: Any) -> Array:
        return A.clone()

    # Products

    @contextmanager
    def _exact(self, A: Any) -> Iterator[None]:
        """A context in which float32 products are exact, whatever torch's global setting is."""
        if A.dtype is not torch.float32 or self._place.type != "cuda":
            yield
            return
        with _precision:
            before, write, exact = _precision_setting()
            write(exact)
            try:
                yield
            finally:
                write(before)

    def matmul(self, A: Any, B: Any) -> Array:
        with self._exact(A):
            return torch.matmul(A, B)

    def running_sums(self, A: Any) -> Array:
        return torch.cat([torch.zeros_like(A[:1]), torch.cumsum(A, dim=0)])

    def add_gram(self, G: Any, H: Any, sign: float = 1.0) -> Array:
        with self._exact(G):
            for rows, columns in _upper_parts(len(G)):
                G[rows, columns].addmm_(H[:, rows].T, H[:, columns], alpha=sign)
        return G

    def add_ridge(self, G: Any, ridge: float) -> Array:
        G.diagonal().add_(ridge)
        return G

    # Roots

    def cholesky(self, G: Any) -> Array | None:
        # Of the transpose, whose lower triangle is read: twice as fast as of the upper one.
        with self._exact(G):
            L, info = torch.linalg.cholesky_ex(G.mT, upper=False)
        succeeded = (info == 0) & torch.isfinite(L.diagonal()).all()
        return L.mT if bool(succeeded) else None

    def root_and_solved(
        self, G: Any, C: Any, ridge: float = 0.0, spare: Any = None
    ) -> tuple[Array, Array] | None:
        # R'R = G and R'Z = C are the first rows of the root of [[G, C], [C', s·I]] for any s that
        # is large enough. A triangular solve takes a quarter of the time of a root (ten columns).
        n, k = C.shape
        size = -(-(n + k) // _ALIGNED) * _ALIGNED
        both = torch.empty((size, size), dtype=G.dtype, device=G.device)
        both[:n, :n], both[:n, n : n + k], both[:, n + k :], both[n:, n:] = G, C, 0.0, 0.0
        both.diagonal()[:n].add_(ridge)
        # |R⁻ᵀc|² is below c'c over the smallest eigenvalue, which may be next to nothing: s is
        # as large as numbers may be, and what is below R, where it is lost, is not used.
        both.diagonal()[n:].fill_(_LARGE[G.dtype])
        R: Any = self.cholesky(both)
        if R is None:
            return None
        return R.mT[:n, :n].contiguous().mT, R[:n, n : n + k]  # else every solve makes a copy

    def solve(self, R: Any, B: Any, *, transposed: bool = False, unit: bool = False) -> Array:
        if 0 in B.shape:
            return B.clone()
        A = R.mT if transposed else R
        with self._exact(R):
            return torch.linalg.solve_triangular(A, B, upper=not transposed, unitriangular=unit)

    def triangularise(self, A: Any) -> Array:
        with self._exact(A):
            return torch.linalg.qr(A, mode="r")[1]

    # General matrices

    def svd(self, A: Any) -> tuple[Array, Array, Array]:
        driver = "gesvd" if self._place.type == "cuda" else None
        return torch.linalg.svd(A, full_matrices=False, driver=driver)


def _tuning(device: Any) -> Tuning:
    """Tuning for a GPU: long chunks and blocks, and Gram matrices wherever they lose no digits.

    A QR factorisation takes ten times as long there as a Cholesky factor (M = 10,000: 120 ms and
    13), and its rows are nearly for free.
    """
    if device.type == "cpu":
        return Tuning()
    memory = 8e9
    if device.type == "cuda":
        memory = float(torch.cuda.get_device_properties(device).total_memory)
    return Tuning(
        pending_rows=2048,
        qr_rows=4096,
        gram_rows=(0.0, 0.0, 0.0),
        block_bytes=(1 << 26, int(_BLOCK_SHARE * memory)),
        block_multiple=_ALIGNED,
        block_share=8.0,
        float32_gram=0.003,
        record_rows=1024,
        kept_gram_units=int(sqrt(_KEPT_SHARE * memory / 24)),
        power_steps=3,
    )


def _precision_setting() -> tuple[str, Any, str]:
    """Return torch's float32 precision, the function that sets it, and the exact setting.

    torch has two ways to say so, of which a program may use one.
    """
    try:
        before = torch.get_float32_matmul_precision()
        return before, torch.set_float32_matmul_precision, "highest"
    except RuntimeError:
        setting = torch.backends.cuda.matmul
        return setting.fp32_precision, lambda how: setattr(setting, "fp32_precision", how), "ieee"


def _upper_parts(n: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a symmetric matrix that cover its upper triangle, and little else."""
    for start in range(0, n, _COLUMNS):
        stop, half = min(n, start + _COLUMNS), _COLUMNS // 2
        if start:
            yield slice(0, start), slice(start, stop)
        for first in range(start, stop, half):
            last = min(stop, first + half)
            yield slice(start, last), slice(first, last)


def _pinned(A: Array) -> Any:
    """A copy in memory from which a device reads while Python goes on."""
    dtype = getattr(torch, A.dtype.name)
    pinned = torch.empty(A.shape, dtype=dtype, device="cpu", pin_memory=True)
    np.copyto(pinned.numpy(), A)
    return pinned


class _Namespace:
    """The part of the array API standard that is used, on one device."""

    linalg = torch.linalg

    def __init__(self, device: Any) -> None:
        self._device = device

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)  # which has most of it by the same names

    def zeros(self, shape: Any, dtype: Any = None, device: Any = None) -> Any:
        return torch.zeros(shape, dtype=dtype, device=self._device)

    def empty(self, shape: Any, dtype: Any = None) -> Any:
        return torch.empty(shape, dtype=dtype, device=self._device)

    def eye(self, n: int, dtype: Any = None, device: Any = None) -> Any:
        return torch.eye(n, dtype=dtype, device=self._device)

    def asarray(self, A: Any) -> Any:
        return torch.as_tensor(A, device=self._device)

    def max(self, A: Any, axis: Any = (), keepdims: bool = False) -> Any:
        return torch.amax(A, dim=axis, keepdim=keepdims)

    def min(self, A: Any, axis: Any = ()) -> Any:
        return torch.amin(A, dim=axis)

    def take(self, A: Any, indices: Any, axis: int) -> Any:
        return torch.index_select(A, axis, indices)
