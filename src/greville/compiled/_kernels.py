"""Single rows in machine code: a root that learns and predicts, and the layer before it.

All numbers of a model are in one array, the *work*: each argument of a compiled function costs as
much as the arithmetic of a small model. They are float64, whatever the dtype of the model. A call
holds Python's lock until it returns, so that other threads see the work before or after it.

The root is updated by Givens rotations, row by row: R stays a root of all rows, no digits are lost.
Rows wait until a prediction needs them. Loops run over parts of arrays from zero on: only then does
the compiler know that no index is negative, and uses vectors.

All of it is in one file: when this changes, what was compiled before is compiled again.
"""

from __future__ import annotations

from math import cos, exp, factorial, floor, hypot, inf, isnan, log, nan, sin, sqrt
from typing import Any

import numpy as np
from numba import njit, types

# The header of the work
N_HIDDEN = 0
N_OUTPUTS = 1
N_ROWS = 2  # rows since the work was filled, and how many there may be
LIMIT = 3
N_WAITING = 4  # rows that are not in the root yet, and for how many there is room
ROOM = 5  # without room there is no root, and W is updated at once (OPIUM light)
LARGEST_ROW = 6  # |row|² up to which the prior loses no digits
LARGEST_SQUARE = 7  # up to which squares are numbers that can be learned
KEEP = 8  # what is left of a row's weight after the next
COUNT = 9  # of rows, as they count, and of the squares of what each counts
COUNT_OF_SQUARES = 10
ENERGY = 11  # the sum of |row|², and the number of rows that are not zero, as they count
EXCITED = 12
HAS_MEAN = 13  # whether rows are taken around their mean, and how much counts in that
MEAN_COUNT = 14
ROUNDING = 15  # the part of a mean up to which a difference is rounding
KEEPS_ROWS = 16  # whether rows are kept, as they were learned, for sums that follow later
N_KEPT = 20
ASKED = 17  # predictions since the last row was learned
WEIGHTS_KNOWN = 18
PER_GAIN = 19  # 1/gain, for OPIUM light
HEADER = 32

# The header of a layer
N_INPUTS = 0
N_UNITS = 1
ACTIVATION = 2
HAS_UNIT = 3
HAS_INPUT = 4  # whether the last row of inputs is there, with its activations
LAYER_HEADER = 8

# What learning a row returns.
DONE = 0
FULL = -1  # the rows so far must be learned elsewhere, or something else is due
UNUSUAL = -2  # the row must be checked

TANH, SIGMOID, RELU, SIN, COS, HARD_LIMIT, IDENTITY = range(7)
ACTIVATIONS = {
    "tanh": TANH,
    "sigmoid": SIGMOID,
    "relu": RELU,
    "sin": SIN,
    "cos": COS,
    "hard-limit": HARD_LIMIT,
    "identity": IDENTITY,
}


# log(2) as a number of 24 bits, whose products with small integers are exact, and the rest of it;
# 1/1!, 1/2!, ..., 1/13! and the powers of two.
_LOG_2 = 0.693147182464599609375
_LOG_2_REST = -1.904654299957768e-09
_PER_LOG_2 = 1 / log(2.0)
_FACTORIALS = tuple(1 / factorial(k) for k in range(1, 14))
_POWERS = 2.0 ** np.arange(64)


def places(n_hidden: int, n_outputs: int, room: int) -> Any:
    """Where the parts of the work begin, and where it ends."""
    loss = HEADER
    target = loss + n_outputs  # the means
    mean = target + n_outputs
    root = mean + n_hidden
    inverse = root + (n_hidden * n_hidden if room else 0)  # of the diagonal of R
    Z = inverse + n_hidden
    x = Z + n_hidden * n_outputs
    y = x + n_hidden
    out = y + n_outputs
    W = out + n_outputs  # a row for each output
    H = W + n_hidden * n_outputs
    Y = H + room * n_hidden
    kept = Y + room * n_outputs  # rows and their targets
    end = kept + room * (n_hidden + n_outputs)
    return loss, target, mean, root, inverse, Z, x, y, out, W, H, Y, kept, end


def layer_places(n_inputs: int, n_units: int) -> Any:
    """Where the parts of a layer begin, and where it ends."""
    centre = LAYER_HEADER
    unit = centre + n_inputs
    bias = unit + n_inputs
    weights = bias + n_units
    x = weights + n_inputs * n_units  # the last row of inputs, as it came and in units
    row = x + n_inputs
    h = row + n_inputs  # its activations
    return centre, unit, bias, weights, x, row, h, h + n_units


# Sums may be reordered, and products joined with sums; infinity and NaN mean what they mean.
# No array is made here, so that none has to be counted.
OPTIONS: dict[str, Any] = {
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
    "_nrt": False,
}
_compiled = njit(**OPTIONS)
_places = _compiled(places)
_layer_places = _compiled(layer_places)


@_compiled
def _dot(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@_compiled
def _rotation(a, b):
    """c, s, r and 1/r with c·a + s·b = r and c·b - s·a = 0."""
    square = a * a + b * b
    if 1e-200 < square < 1e200:
        r = sqrt(square)
        inverse = r * (1.0 / square)  # root and division at the same time
    else:
        r = hypot(a, b)
        if r == 0.0:
            return 1.0, 0.0, 0.0, 0.0
        inverse = 1.0 / r
    return a * inverse, b * inverse, r, inverse


@_compiled
def _two_rotations(a, b, u, v, d):
    """The rotation of (a, b), and that of d and what the first, applied to (u, v), leaves of v.

    The second needs the square of that, and so does not wait for the root of the first.
    """
    square, left = a * a + b * b, a * v - b * u
    per_square = 1.0 / square
    square2 = d * d + left * left * per_square
    if 1e-140 < square < 1e140 and 1e-140 < square2 < 1e140:  # no square has underflowed
        r, r2 = sqrt(square), sqrt(square2)
        inverse, inverse2 = r * per_square, r2 * (1.0 / square2)
        first = a * inverse, b * inverse, r, inverse
        return first, (d * inverse2, left * inverse * inverse2, r2, inverse2)
    first = _rotation(a, b)
    return first, _rotation(d, first[0] * v - first[1] * u)


@_compiled
def _rotate(work, M, L, at, fade):
    """fade·[R Z] and one more row [x y], which is rotated away; y is what is left of it.

    Two rows of R at a time, so that x goes through both rotations in registers.
    """
    R, inverse, Z = work[at[3] : at[4]], work[at[4] : at[5]], work[at[5] : at[6]]
    x, y = work[at[6] : at[7]], work[at[7] : at[8]]
    for k in range(M // 2):
        i = 2 * k
        A, B = R[i * M + i : i * M + M], R[i * M + M + i + 1 : i * M + M + M]
        u, v = fade * A[1], x[i + 1]
        first, second = _two_rotations(fade * A[0], x[i], u, v, fade * B[0])
        c1, s1, A[0], inverse[i] = first
        c2, s2, B[0], inverse[i + 1] = second
        A[1] = c1 * u + s1 * v
        cf, sf, df, tf = c1 * fade, s1 * fade, c2 * fade, s2 * fade
        A, B, rest = A[2:], B[1:], x[i + 2 :]
        for j in range(rest.shape[0]):
            u, v, w = A[j], rest[j], B[j]
            A[j] = cf * u + s1 * v
            v = c1 * v - sf * u
            B[j] = df * w + s2 * v
            rest[j] = c2 * v - tf * w
        A, B = Z[i * L : i * L + L], Z[i * L + L : i * L + L + L]
        for j in range(L):
            u, v, w = A[j], y[j], B[j]
            A[j] = cf * u + s1 * v
            v = c1 * v - sf * u
            B[j] = df * w + s2 * v
            y[j] = c2 * v - tf * w
    if M % 2:
        last, z = R[M * M - 1 :], Z[M * L - L : M * L]
        c1, s1, last[0], inverse[M - 1] = _rotation(fade * last[0], x[M - 1])
        for j in range(L):
            u, v = fade * z[j], y[j]
            z[j] = c1 * u + s1 * v
            y[j] = c1 * v - s1 * u


@_compiled
def _into_coordinates(R, inverse, f):
    """f ← R⁻ᵀf, four rows of R at a time."""
    M = f.shape[0]
    for k in range(M // 4):
        i = 4 * k
        A = R[i * M + i : i * M + M]
        B = R[i * M + M + i : i * M + 2 * M]
        C = R[i * M + 2 * M + i : i * M + 3 * M]
        D = R[i * M + 3 * M + i : i * M + 4 * M]
        a = f[i] * inverse[i]
        b = (f[i + 1] - a * A[1]) * inverse[i + 1]
        c = (f[i + 2] - a * A[2] - b * B[2]) * inverse[i + 2]
        d = (f[i + 3] - a * A[3] - b * B[3] - c * C[3]) * inverse[i + 3]
        f[i], f[i + 1], f[i + 2], f[i + 3] = a, b, c, d
        A, B, C, D, rest = A[4:], B[4:], C[4:], D[4:], f[i + 4 :]
        for j in range(rest.shape[0]):
            rest[j] -= a * A[j] + b * B[j] + c * C[j] + d * D[j]
    for i in range(M - M % 4, M):
        a = f[i] * inverse[i]
        f[i] = a
        rest, A = f[i + 1 :], R[i * M + i + 1 : i * M + M]
        for j in range(rest.shape[0]):
            rest[j] -= a * A[j]


@_compiled
def _centre(x, mean, rounding):
    """x ← x - mean; zero where that is no more than rounding."""
    for i in range(x.shape[0]):
        m = mean[i]
        d = x[i] - m
        x[i] = 0.0 if abs(d) <= rounding * abs(m) else d


@_compiled
def _apply_one(work, M, L, at):
    """Learn the row x with its targets y by rotations; False if it is too long for that."""
    loss, mean_target, mean = work[at[0] : at[1]], work[at[1] : at[2]], work[at[2] : at[3]]
    x_and_y = work[at[6] : at[8]]
    x, y = x_and_y[:M], x_and_y[M:]
    keep = work[KEEP]
    if work[HAS_MEAN] > 0:
        _centre(x, mean, work[ROUNDING])
    square = _dot(x, x)
    if not square <= work[LARGEST_ROW]:
        return False
    if work[HAS_MEAN] > 0:
        count = work[MEAN_COUNT]
        scale, share = sqrt(count / (count + 1.0)), 1.0 / (count + 1.0)
        for i in range(M):
            mean[i] += share * x[i]
            x[i] *= scale
        for j in range(L):
            difference = y[j] - mean_target[j]
            mean_target[j] += share * difference
            y[j] = scale * difference
        work[MEAN_COUNT] = count + 1.0
    if square > 0.0:
        work[ENERGY] = keep * work[ENERGY] + square
        work[EXCITED] = keep * work[EXCITED] + 1.0
    if work[KEEPS_ROWS] > 0:
        kept = work[at[12] + int(work[N_KEPT]) * (M + L) :]
        for i in range(M + L):
            kept[i] = x_and_y[i]
        work[N_KEPT] += 1.0
    _rotate(work, M, L, at, sqrt(keep))
    for j in range(L):
        loss[j] = keep * loss[j] + y[j] * y[j]
    work[COUNT] = keep * work[COUNT] + 1.0
    work[COUNT_OF_SQUARES] = keep * keep * work[COUNT_OF_SQUARES] + 1.0
    work[ASKED] = 0.0
    work[WEIGHTS_KNOWN] = 0.0
    return True


@_compiled
def _apply(work, M, L, at):
    """Learn the waiting rows; False if one is too long, which then is the first that waits."""
    n = int(work[N_WAITING])
    H, Y = work[at[10] : at[11]], work[at[11] : at[12]]
    x, y = work[at[6] : at[7]], work[at[7] : at[8]]
    for row in range(n):
        h, target = H[row * M : row * M + M], Y[row * L : row * L + L]
        for i in range(M):
            x[i] = h[i]
        for j in range(L):
            y[j] = target[j]
        if not _apply_one(work, M, L, at):
            for i in range((n - row) * M):
                H[i] = H[row * M + i]
            for i in range((n - row) * L):
                Y[i] = Y[row * L + i]
            work[N_WAITING] = n - row
            return False
    work[N_WAITING] = 0.0
    return True


@_compiled
def _predict(work, M, L, at):
    """The first output for the row x after all others; NaN if it cannot be found here."""
    f, out, room = work[at[6] : at[7]], work[at[8] : at[9]], int(work[ROOM])
    if not _dot(f, f) < work[LARGEST_SQUARE]:
        return nan
    if work[HAS_MEAN] > 0:
        _centre(f, work[at[2] : at[3]], work[ROUNDING])
    R, inverse, Z = work[at[3] : at[4]], work[at[4] : at[5]], work[at[5] : at[6]]
    if work[ASKED] > 0 or room == 0:  # for the second time: there will be others
        W = work[at[9] : at[10]]
        for j in range(L):
            w = W[j * M : j * M + M]
            if work[WEIGHTS_KNOWN] == 0:  # W = R⁻¹Z
                for k in range(M):
                    i = M - 1 - k
                    rest = _dot(R[i * M + i + 1 : i * M + M], w[i + 1 :])
                    w[i] = (Z[i * L + j] - rest) * inverse[i]
            out[j] = _dot(f, w)
        work[WEIGHTS_KNOWN] = 1.0
    else:
        work[ASKED] = 1.0
        _into_coordinates(R, inverse, f)
        if L == 1:
            out[0] = _dot(f, Z)
        else:
            for j in range(L):
                out[j] = 0.0
            for i in range(M):
                a, z = f[i], Z[i * L : i * L + L]
                for j in range(L):
                    out[j] += a * z[j]
    finite, target = True, work[at[1] : at[2]]
    for j in range(L):
        out[j] += target[j]
        finite = finite and -inf < out[j] < inf
    return out[0] if finite else nan


@_compiled
def _place(work, M, L, at):
    """Where one more row is to be written, or why there is no place."""
    n, room = int(work[N_WAITING]), int(work[ROOM])
    if work[N_ROWS] >= work[LIMIT] or (room > 0 and n + work[N_KEPT] >= room):
        return FULL
    return at[10] + n * M if room > 0 else at[6]


@_compiled
def _learn(work, place, M, L, at):
    """Learn the row at its place with the targets y: let it wait or, in OPIUM light, at once."""
    row, y = work[place : place + M], work[at[7] : at[8]]
    square = _dot(row, row)
    if not square < work[LARGEST_SQUARE] or not _dot(y, y) < work[LARGEST_SQUARE]:
        return UNUSUAL
    work[N_ROWS] += 1.0
    if work[ROOM] > 0:
        waiting = work[at[11] + int(work[N_WAITING]) * L :]
        for j in range(L):
            waiting[j] = y[j]
        work[N_WAITING] += 1.0
        return DONE
    per_d = 1.0 / (work[PER_GAIN] + square)  # eq. (27)
    for j in range(L):
        w = work[at[9] + j * M : at[9] + j * M + M]
        step = per_d * (y[j] - _dot(row, w))
        for i in range(M):
            w[i] += step * row[i]  # eq. (28)
    return DONE


@_compiled
def _tanh(h):
    """h ← tanh(h), to within three units in the last place.

    With E = exp(2|h|) - 1 it is E/(E + 2), and E is 2ⁿ - 1 + 2ⁿ(exp(r) - 1) for 2|h| = n log 2 + r.
    It has no branches, so that the compiler uses vectors: a tenth of the time of `math.tanh`.
    """
    for j in range(h.shape[0]):
        x = h[j]
        a = 2.0 * min(abs(x), 21.0)  # from where on it is one
        n = floor(a * _PER_LOG_2 + 0.5)
        r = (a - n * _LOG_2) - n * _LOG_2_REST
        p = _FACTORIALS[11] + r * _FACTORIALS[12]
        for k in range(11):
            p = _FACTORIALS[10 - k] + r * p
        power = _POWERS[np.uint64(n)]
        E = (power - 1.0) + power * (r * p)
        h[j] = E / (E + 2.0) if x >= 0.0 else -E / (E + 2.0)


@_compiled
def _activations(layer, x):
    """Where the activations of one row of inputs are, eqs. (1)-(2); those of the last are kept.

    Negative if there is a number that is not finite.
    """
    n, M = int(layer[N_INPUTS]), int(layer[N_UNITS])
    at = _layer_places(n, M)
    h = layer[at[6] : at[7]]
    last, row = layer[at[4] : at[5]], layer[at[5] : at[6]]
    same = layer[HAS_INPUT] > 0
    for i in range(n):
        same = same and last[i] == x[i]
    if same:
        return at[6]
    for i in range(n):
        last[i] = row[i] = x[i]
    layer[HAS_INPUT] = 1.0 if _dot(row, row) < inf else 0.0
    if layer[HAS_INPUT] == 0:
        return -1
    if layer[HAS_UNIT] > 0:
        centre, unit = layer[at[0] : at[1]], layer[at[1] : at[2]]
        for i in range(n):
            row[i] = (row[i] - centre[i]) / unit[i]
    bias, weights = layer[at[2] : at[3]], layer[at[3] : at[4]]
    for j in range(M):
        h[j] = bias[j]
    for i in range(n):
        a, w = row[i], weights[i * M : i * M + M]
        for j in range(M):
            h[j] += a * w[j]
    kind = int(layer[ACTIVATION])
    if kind == TANH:
        _tanh(h)
    elif kind == SIGMOID:
        for j in range(M):
            h[j] = 1.0 / (1.0 + exp(-h[j]))
    elif kind == RELU:
        for j in range(M):
            h[j] = max(h[j], 0.0)
    elif kind == SIN:
        for j in range(M):
            h[j] = sin(h[j])
    elif kind == COS:
        for j in range(M):
            h[j] = cos(h[j])
    elif kind == HARD_LIMIT:
        for j in range(M):
            h[j] = 1.0 if h[j] >= 0.0 else 0.0
    return at[6]


# What is called from Python: rows may have any strides, and may be read-only.


def predict_one(work, h):
    """The first output for one row, or NaN where it must be found elsewhere."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    at = _places(M, L, int(work[ROOM]))
    if h.shape[0] != M or not _apply(work, M, L, at):
        return nan
    x = work[at[6] : at[7]]
    for i in range(M):
        x[i] = h[i]
    return _predict(work, M, L, at)


def learn_one(work, h, y):
    """Learn one row with its target, a number."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    at = _places(M, L, int(work[ROOM]))
    if h.shape[0] != M or L != 1:
        return UNUSUAL
    place = _place(work, M, L, at)
    if place < 0:
        return place
    row = work[place : place + M]
    for i in range(M):
        row[i] = h[i]
    work[at[7]] = y
    return _learn(work, place, M, L, at)


def learn_outputs(work, h, y):
    """Learn one row with its targets."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    at = _places(M, L, int(work[ROOM]))
    if h.shape[0] != M or y.shape[0] != L:
        return UNUSUAL
    place = _place(work, M, L, at)
    if place < 0:
        return place
    row, target = work[place : place + M], work[at[7] : at[8]]
    for i in range(M):
        row[i] = h[i]
    for j in range(L):
        target[j] = y[j]
    return _learn(work, place, M, L, at)


def predict_input(work, layer, x):
    """The first output for one row of inputs, or NaN where it must be found elsewhere."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    at = _places(M, L, int(work[ROOM]))
    if x.shape[0] != int(layer[N_INPUTS]) or not _apply(work, M, L, at):
        return nan
    start = _activations(layer, x)
    if start < 0:
        return nan
    h, row = layer[start:], work[at[6] : at[7]]
    for i in range(M):
        row[i] = h[i]
    return _predict(work, M, L, at)


def learn_input(work, layer, x, y):
    """Learn one row of inputs with its target, a number."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    at = _places(M, L, int(work[ROOM]))
    if x.shape[0] != int(layer[N_INPUTS]) or L != 1:
        return UNUSUAL
    place = _place(work, M, L, at)
    start = _activations(layer, x)
    if place < 0 or start < 0:
        return place if place < 0 else UNUSUAL
    h, row = layer[start:], work[place : place + M]
    for i in range(M):
        row[i] = h[i]
    work[at[7]] = y
    return _learn(work, place, M, L, at)


def learn_input_outputs(work, layer, x, y):
    """Learn one row of inputs with its targets."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    at = _places(M, L, int(work[ROOM]))
    if x.shape[0] != int(layer[N_INPUTS]) or y.shape[0] != L:
        return UNUSUAL
    place = _place(work, M, L, at)
    start = _activations(layer, x)
    if place < 0 or start < 0:
        return place if place < 0 else UNUSUAL
    h, row, target = layer[start:], work[place : place + M], work[at[7] : at[8]]
    for i in range(M):
        row[i] = h[i]
    for j in range(L):
        target[j] = y[j]
    return _learn(work, place, M, L, at)


def copy(work, into):
    """Copy the numbers for which there is room, while no other thread can change any."""
    for i in range(min(work.shape[0], into.shape[0])):
        into[i] = work[i]
    return DONE


def record(work, H, Y, predicted):
    """Predict each row and learn it; how many there were before one must be learned elsewhere."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    at = _places(M, L, int(work[ROOM]))
    x, y, out = work[at[6] : at[7]], work[at[7] : at[8]], work[at[8] : at[9]]
    for row in range(Y.shape[0] // L):
        if not work[N_ROWS] < work[LIMIT] or not work[N_KEPT] < work[ROOM]:
            return row
        h, target = H[row * M : row * M + M], Y[row * L : row * L + L]
        for i in range(M):
            x[i] = h[i]
        first = _predict(work, M, L, at)
        if isnan(first):
            return row
        for j in range(L):
            predicted[row * L + j] = out[j]
            y[j] = target[j]
        for i in range(M):
            x[i] = h[i]
        if not _apply_one(work, M, L, at):
            return row
        work[N_ROWS] += 1.0
    return Y.shape[0] // L


_WORK = types.float64[::1]


def signature(function: Any, dtype: str) -> Any:
    """Its signature for rows of a dtype."""
    number = getattr(types, dtype)
    row = types.Array(number, 1, "A", readonly=True)
    long_row = types.Array(number, 1, "C", readonly=True)
    return {
        predict_one: types.float64(_WORK, row),
        learn_one: types.int64(_WORK, row, types.float64),
        learn_outputs: types.int64(_WORK, row, row),
        predict_input: types.float64(_WORK, _WORK, row),
        learn_input: types.int64(_WORK, _WORK, row, types.float64),
        learn_input_outputs: types.int64(_WORK, _WORK, row, row),
        copy: types.int64(_WORK, _WORK),
        record: types.int64(_WORK, long_row, long_row, _WORK),
    }[function]
