"""Proportions of time points at which convolutions of series exceed biases, in machine code.

Sums are added up in the same order as in `greville.layers.minirocket`: the numbers are the same to
the bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .loading import compiled

_SIGNATURE = "void(f4[:,:,::1], i8[::1], i8[::1], b1[:,::1], f4[::1], f4[:,::1])"
_OPTIONS = {"nogil": True, "error_model": "numpy"}

# Responses are continued to a multiple of this by what exceeds nothing: what is left over by
# vectors takes longer than they do.
_VECTORS = np.uint64(32)


# Places are unsigned: only then does the compiler know that none counts from the end, and uses
# vectors. Parts of arrays, which say it too, take longer to make than to add up.


@njit(**_OPTIONS)
def _add(out, to, A, a, B, b, n):
    for t in range(n):
        out[to + t] = A[a + t] + B[b + t]


@njit(**_OPTIONS)
def _common(out, to, padded, start, d, n):
    """Compute the part that all kernels share: nine inputs, each with the weight -1."""
    for t in range(n):
        total = padded[start + t]
        for g in range(np.uint64(1), np.uint64(9)):
            total += padded[start + g * d + t]
        out[to + t] = -total


# Ones are added up exactly in any order while they are less than 2^24: as floats, in half the time
# of whole numbers.
@njit(fastmath={"reassoc"}, **_OPTIONS)
def _exceed(response, filled, n, levels, start, stop, out, row):
    """The proportions, of n, of numbers above each level."""
    for k in range(start, stop):
        level, above = levels[k], np.float32(0)
        for t in range(filled):
            above += np.float32(1) if response[t] > level else np.float32(0)
        out[row, k] = above / np.float32(n)


@compiled(_SIGNATURE, **_OPTIONS)
def proportions(x, dilations, sizes, channels, bias, H):
    """H[i] for each of the series x[i], of shape (n_channels, length)."""
    zero, one, two, length = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(x.shape[2])
    most = np.uint64(4 * dilations.max())
    width = length + two * most
    padded = np.zeros(np.int64(x.shape[1] * width), np.float32)  # channel by channel
    triple = np.zeros_like(padded)
    common = np.empty(x.shape[1] * x.shape[2], np.float32)
    first, pair = np.empty_like(common), np.empty_like(common)
    response, other = np.empty(x.shape[2] + 32, np.float32), np.empty_like(common)
    n_channels = np.uint64(x.shape[1])
    for i in range(np.uint64(len(x))):
        for c in range(n_channels):
            for t in range(length):
                padded[c * width + most + t] = x[i, c, t]
                triple[c * width + most + t] = np.float32(3) * x[i, c, t]
        at = kernel = zero
        for j in range(np.uint64(len(dilations))):
            d, size = np.uint64(dilations[j]), np.uint64(sizes[j])
            start = most - np.uint64(4) * d
            for c in range(n_channels):
                _common(common, c * length, padded, c * width + start, d, length)
            for a in range(np.uint64(7)):
                for c in range(n_channels):
                    place, own = c * width + start + a * d, c * length
                    _add(first, own, common, own, triple, place, length)
                for b in range(a + one, np.uint64(8)):
                    for c in range(n_channels):
                        place, own = c * width + start + b * d, c * length
                        _add(pair, own, first, own, triple, place, length)
                    for last in range(b + one, np.uint64(9)):
                        edge = np.uint64(4) * d if (j + kernel) % two else zero
                        n, begun = length - two * edge, False
                        for c in range(n_channels):
                            if not channels[kernel, c]:
                                continue
                            place, own = c * width + start + last * d + edge, c * length + edge
                            if begun:
                                _add(other, zero, pair, own, triple, place, n)
                                _add(response, zero, response, zero, other, zero, n)
                            else:
                                _add(response, zero, pair, own, triple, place, n)
                                begun = True
                        filled = (n + _VECTORS - one) // _VECTORS * _VECTORS
                        for t in range(n, filled):
                            response[t] = -np.inf
                        _exceed(response, filled, n, bias, at, at + size, H, i)
                        at += size
                        kernel += one
