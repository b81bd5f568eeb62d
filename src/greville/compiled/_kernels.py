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

from functools import cache
from math import cos, exp, factorial, floor, hypot, inf, isnan, log, nan, sin, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import overload, register_jitable

# The header of the work
N_HIDDEN = 0
N_OUTPUTS = 1
N_ROWS = 2  # rows that the work has learned, and how many these may be
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
N_KEPT = 17
WEIGHTS_KNOWN = 18  # whether W is that of all rows
PER_GAIN = 19  # 1/gain, for OPIUM light
N_MEMBERS = 20  # of several works, one after the other, that are mixed; zero for a single one
STRIDE = 21  # from the beginning of one to that of the next
DUE_AFTER = 22  # rows after which something else is due
HEADER = 24

# Behind the last member: the mixture
MIX_COUNT = 0
MIX_DECAY = 1
PREDICTED = 2  # whether the row q of the first member was predicted, after all rows
MIX_ROWS = 3  # rows since all members were filled
MIXTURE_HEADER = 8

# The header of a layer
N_INPUTS = 0
N_UNITS = 1
ACTIVATION = 2
HAS_UNIT = 3
HAS_INPUT = 4  # whether the last row of inputs is there, with its activations
N_TANH = 5  # where activations are by unit: how many are tanh units, and how many ReLUs then follow
N_RELU = 6
SIZE_OF_TANH = 7
LAYER_HEADER = 8

# What learning a row returns.
DONE = 0
DUE = 1  # it is learned, and something else is due now
FULL = -1  # the rows so far must be learned elsewhere, or something else is due
UNUSUAL = -2  # the row must be checked

TANH, SIGMOID, RELU, SIN, COS, HARD_LIMIT, IDENTITY, BY_UNIT = range(8)
ACTIVATIONS = {
    "tanh": TANH,
    "sigmoid": SIGMOID,
    "relu": RELU,
    "sin": SIN,
    "cos": COS,
    "hard-limit": HARD_LIMIT,
    "identity": IDENTITY,
    "by unit": BY_UNIT,
}


# log(2) as a number of 24 bits, whose products with small integers are exact, and the rest of it;
# 1/1!, 1/2!, ..., 1/13! and the powers of two.
_LOG_2 = 0.693147182464599609375
_LOG_2_REST = -1.904654299957768e-09
_PER_LOG_2 = 1 / log(2.0)
_FACTORIALS = tuple(1 / factorial(k) for k in range(1, 14))
_POWERS = 2.0 ** np.arange(64)

# The smallest number that has all its digits.
_TINY = float(np.finfo(np.float64).tiny)


class Places(NamedTuple):
    """Where the parts of the work begin, and where it ends.

    Attributes
    ----------
    loss : of the root, for each output
    target, mean : the means, where rows are taken around them
    root, inverse, Z : R row by row, the inverse of its diagonal, and Z row by row. Rows of R begin
        with a line of the cache; there are zeros below the diagonal and behind the last column.
    x, y : a row that is learned, with its targets
    q, f : a row that is predicted, as it came and in the coordinates of R
    out : its predictions
    W : the weights, a row for each output
    H, Y : rows that wait, with their targets
    kept : rows as they were learned, each with its targets
    """

    loss: int
    target: int
    mean: int
    root: int
    inverse: int
    Z: int
    x: int
    y: int
    f: int
    q: int
    out: int
    W: int
    H: int
    Y: int
    kept: int
    end: int


class LayerPlaces(NamedTuple):
    """Where the parts of a layer begin, and where it ends.

    Attributes
    ----------
    centre, unit : of each input
    bias, weights : of the units
    x, row : the last row of inputs, as it came and in units
    h : its activations
    """

    centre: int
    unit: int
    bias: int
    weights: int
    x: int
    row: int
    h: int
    end: int


class MixturePlaces(NamedTuple):
    """Where the parts of a mixture begin, and where it ends.

    Attributes
    ----------
    prior : the logarithm of the prior of each member
    squares : sums of squared errors, for each member a row of outputs
    weights : of the members
    y : the targets of a row that is learned
    out : the predictions
    """

    prior: int
    squares: int
    weights: int
    y: int
    out: int
    end: int


@register_jitable  # it stays a function of Python too
def up(n: int) -> int:
    """The next multiple of 8: so many numbers are a line of the cache."""
    return (n + 7) // 8 * 8


def places(n_hidden: int, n_outputs: int, room: int) -> Places:
    """Where the parts of the work of a model are; each begins with a line of the cache."""
    loss = HEADER
    target = loss + up(n_outputs)
    mean = target + up(n_outputs)
    root = mean + up(n_hidden)
    inverse = root + (n_hidden * up(n_hidden) if room else 0)
    Z = inverse + up(n_hidden)
    x = Z + up(n_hidden * n_outputs)
    y = x + up(n_hidden)
    f = y + up(n_outputs)
    q = f + up(n_hidden)
    out = q + up(n_hidden)
    W = out + up(n_outputs)
    H = W + up(n_hidden * n_outputs)
    Y = H + room * n_hidden
    kept = Y + room * n_outputs
    end = kept + room * (n_hidden + n_outputs)
    return Places(loss, target, mean, root, inverse, Z, x, y, f, q, out, W, H, Y, kept, end)


def layer_places(n_inputs: int, n_units: int) -> LayerPlaces:
    """Where the parts of a layer are."""
    centre = LAYER_HEADER
    unit = centre + n_inputs
    bias = unit + n_inputs
    weights = bias + n_units
    x = weights + n_inputs * n_units
    row = x + n_inputs
    h = row + n_inputs
    return LayerPlaces(centre, unit, bias, weights, x, row, h, h + n_units)


def mixture_places(n_members: int, n_outputs: int) -> MixturePlaces:
    """Where the parts of a mixture are."""
    prior = MIXTURE_HEADER
    squares = prior + up(n_members)
    weights = squares + up(n_members * n_outputs)
    y = weights + up(n_members)
    out = y + up(n_outputs)
    return MixturePlaces(prior, squares, weights, y, out, out + up(n_outputs))


# Sums may be reordered, and products joined with sums; infinity and NaN mean what they mean.
# No array is made here, so that none has to be counted.
OPTIONS: dict[str, Any] = {
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
    "_nrt": False,
}
_compiled = njit(**OPTIONS)
_part = njit(inline="always", **OPTIONS)  # of another kernel; on its own it would be compiled twice
_places = _part(places)
_layer_places = _part(layer_places)
_mixture_places = _part(mixture_places)


@_part
def _dot(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@_part
def _copy(numbers, into, n):
    for i in range(n):
        into[i] = numbers[i]


@_part
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


@_part
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
    """fade·[R Z] and one more row [x y], which is rotated away; then f ← R⁻ᵀf.

    What is left of y adds to the loss. Two rows of R at a time, so that x goes through both
    rotations in registers, and a large R is read from memory once for all of it. Loops run over
    whole lines of the cache: what they do to zeros below the diagonal, to the two pivots and to
    what is final of f is put right behind them.
    """
    inverse, Z, S = work[at.inverse : at.Z], work[at.Z : at.x], up(M)
    y = work[at.y : at.f]
    for k in range(M // 2):
        i = 2 * k
        start, d = i - i % 8, i % 8
        row = at.root + i * S
        A, B = work[row + start : row + S], work[row + S + start : row + 2 * S]
        x, f = work[at.x + start : at.x + S], work[at.f + start : at.f + S]
        first, second = _two_rotations(
            fade * A[d], x[d], fade * A[d + 1], x[d + 1], fade * B[d + 1]
        )
        c1, s1, r1, inverse[i] = first
        c2, s2, r2, inverse[i + 1] = second
        cf, sf, df, tf = c1 * fade, s1 * fade, c2 * fade, s2 * fade
        a = f[d] * inverse[i]
        b = (f[d + 1] - a * (cf * A[d + 1] + s1 * x[d + 1])) * inverse[i + 1]
        for j in range(x.shape[0]):
            u, v, w = A[j], x[j], B[j]
            u, v = cf * u + s1 * v, c1 * v - sf * u
            A[j] = u
            v, w = c2 * v - tf * w, df * w + s2 * v
            B[j] = w
            x[j] = v
            f[j] -= a * u + b * w
        A[d], B[d], B[d + 1], x[d], x[d + 1], f[d], f[d + 1] = r1, 0.0, r2, 0.0, 0.0, a, b
        A, B = Z[i * L : i * L + L], Z[i * L + L : i * L + L + L]
        for j in range(L):
            u, v, w = A[j], y[j], B[j]
            A[j] = cf * u + s1 * v
            v = c1 * v - sf * u
            B[j] = df * w + s2 * v
            y[j] = c2 * v - tf * w
    if M % 2:
        last, z = work[at.root + M * S - S + M - 1 :], Z[M * L - L : M * L]
        x, f = work[at.x + M - 1 :], work[at.f + M - 1 :]
        c1, s1, last[0], inverse[M - 1] = _rotation(fade * last[0], x[0])
        x[0] = 0.0
        f[0] *= inverse[M - 1]
        for j in range(L):
            u, v = fade * z[j], y[j]
            z[j] = c1 * u + s1 * v
            y[j] = c1 * v - s1 * u
    loss = work[at.loss : at.target]
    for j in range(L):
        loss[j] = work[KEEP] * loss[j] + y[j] * y[j]


@_part
def _centre(x, mean, rounding):
    """x ← x - mean; zero where that is no more than rounding."""
    for i in range(x.shape[0]):
        m = mean[i]
        d = x[i] - m
        x[i] = 0.0 if abs(d) <= rounding * abs(m) else d


@_compiled
def _prepare(work, M, L, at):
    """Make of the row x and its targets y what is to be learned; False if the row is too long."""
    mean_target, mean = work[at.target : at.mean], work[at.mean : at.root]
    x, y, keep = work[at.x : at.x + M], work[at.y : at.f], work[KEEP]
    energy = square = _dot(x, x)
    if work[HAS_MEAN] > 0:
        _centre(x, mean, work[ROUNDING])
        square = _dot(x, x)
    if not square <= work[LARGEST_ROW]:
        return False
    if work[HAS_MEAN] > 0:
        count = keep * work[MEAN_COUNT]
        scale, share = sqrt(count / (count + 1.0)), 1.0 / (count + 1.0)
        for i in range(M):
            mean[i] += share * x[i]
            x[i] *= scale
        for j in range(L):
            difference = y[j] - mean_target[j]
            mean_target[j] += share * difference
            y[j] = scale * difference
        work[MEAN_COUNT] = count + 1.0
    if energy > 0.0:
        work[ENERGY] = keep * work[ENERGY] + energy
        work[EXCITED] = keep * work[EXCITED] + 1.0
    if work[KEEPS_ROWS] > 0:
        kept = work[at.kept + int(work[N_KEPT]) * (M + L) :]
        _copy(x, kept, M)
        _copy(y, kept[M:], L)
        work[N_KEPT] += 1.0
    work[COUNT] = keep * work[COUNT] + 1.0
    work[COUNT_OF_SQUARES] = keep * keep * work[COUNT_OF_SQUARES] + 1.0
    work[WEIGHTS_KNOWN] = 0.0
    return True


@_part
def _next_waiting(work, row, M, L, at):
    """Make x and y of a row that waits; False if it is too long, and it is the first that waits."""
    H, Y = work[at.H : at.Y], work[at.Y : at.kept]
    x, y = work[at.x : at.y], work[at.y : at.f]
    _copy(H[row * M :], x, M)
    _copy(Y[row * L :], y, L)
    if _prepare(work, M, L, at):
        return True
    n = int(work[N_WAITING])
    _copy(H[row * M :], H, (n - row) * M)
    _copy(Y[row * L :], Y, (n - row) * L)
    work[N_WAITING] = n - row
    return False


@_part
def _find_outputs(work, M, L, at):
    """The first output for the row f, after all rows are learned; NaN if they are not finite."""
    f, out, Z = work[at.f : at.f + M], work[at.out : at.W], work[at.Z : at.x]
    if L == 1:
        out[0] = _dot(f, Z)
    else:
        for j in range(L):
            out[j] = 0.0
        for i in range(M):
            a, z = f[i], Z[i * L : i * L + L]
            for j in range(L):
                out[j] += a * z[j]
    return _finished(work, L, at)


@_part
def _finished(work, L, at):
    """The first output, around the mean target no more; NaN if one is not finite."""
    finite, target, out = True, work[at.target : at.mean], work[at.out : at.W]
    for j in range(L):
        out[j] += target[j]
        finite = finite and -inf < out[j] < inf
    return out[0] if finite else nan


@_compiled
def _predict_by_weights(work, f, M, L, at):
    """The first output for a row around the mean, by W = R⁻¹Z."""
    inverse, Z, S = work[at.inverse : at.Z], work[at.Z : at.x], up(M)
    out, W = work[at.out : at.W], work[at.W : at.H]
    for j in range(L):
        w = W[j * M : j * M + M]
        if work[WEIGHTS_KNOWN] == 0:
            for k in range(M):
                i = M - 1 - k
                row = at.root + i * S
                rest = _dot(work[row + i + 1 : row + M], w[i + 1 :])
                w[i] = (Z[i * L + j] - rest) * inverse[i]
        out[j] = _dot(f, w)
    work[WEIGHTS_KNOWN] = 1.0
    return _finished(work, L, at)


@_part
def _predict(work, M, L, at):
    """The first output for the row q after all others; NaN if it cannot be found here."""
    q, f, mean = work[at.q : at.q + M], work[at.f : at.f + M], work[at.mean : at.root]
    if not _dot(q, q) < work[LARGEST_SQUARE]:
        return nan
    if work[ROOM] == 0:
        return _predict_by_weights(work, q, M, L, at)
    n = int(work[N_WAITING])
    for row in range(max(n, 1)):
        if n > 0 and not _next_waiting(work, row, M, L, at):
            return nan
        if row >= n - 1:
            _copy(q, f, M)
            if work[HAS_MEAN] > 0:
                _centre(f, mean, work[ROUNDING])
        if n > 0:
            _rotate(work, M, L, at, sqrt(work[KEEP]))
    if n == 0:  # asked for the second time, or nothing was learned yet
        return _predict_by_weights(work, f, M, L, at)
    work[N_WAITING] = 0.0
    return _find_outputs(work, M, L, at)


@_part
def _place(work, M, L, at):
    """Where one more row is to be written, or why there is no place."""
    n, room = int(work[N_WAITING]), int(work[ROOM])
    if work[N_ROWS] >= work[LIMIT] or (room > 0 and n + work[N_KEPT] >= room):
        return FULL
    return at.H + n * M if room > 0 else at.x


@_part
def _learn(work, place, M, L, at):
    """Learn the row at its place with the targets y: let it wait or, in OPIUM light, at once."""
    row, y = work[place : place + M], work[at.y : at.y + L]
    square = _dot(row, row)
    if not square < work[LARGEST_SQUARE] or not _dot(y, y) < work[LARGEST_SQUARE]:
        return UNUSUAL
    work[N_ROWS] += 1.0
    if work[ROOM] > 0:
        waiting = work[at.Y + int(work[N_WAITING]) * L :]
        _copy(y, waiting, L)
        work[N_WAITING] += 1.0
        return DONE if work[N_ROWS] < work[DUE_AFTER] else DUE
    per_d = 1.0 / (work[PER_GAIN] + square)  # eq. (27)
    for j in range(L):
        w = work[at.W + j * M : at.W + j * M + M]
        step = per_d * (y[j] - _dot(row, w))
        for i in range(M):
            w[i] += step * row[i]  # eq. (28)
    return DONE


# Several works that are mixed, in the order of `Mixture`: all learn the same rows


@_compiled
def _mix(work, M, L, at):
    """The weights of the members, and the mixed outputs; the first of these."""
    K, S = int(work[N_MEMBERS]), int(work[STRIDE])
    mixture, places = work[K * S :], _mixture_places(K, L)
    n = max(mixture[MIX_COUNT], _TINY)
    weights, top, total = mixture[places.weights : places.y], -inf, 0.0
    for i in range(K):
        logs = mixture[places.prior + i]
        for j in range(L):
            logs -= n / 2 * log(max(mixture[places.squares + i * L + j] / n, _TINY))
        weights[i] = logs
        top = max(top, logs)
    for i in range(K):
        weights[i] = exp(weights[i] - top)
        total += weights[i]
    out = mixture[places.out : places.end]
    for j in range(L):
        out[j] = 0.0
    for i in range(K):
        weights[i] /= total
        own = work[i * S + at.out : i * S + at.W]
        for j in range(L):
            out[j] += weights[i] * own[j]
    return out[0]


@_compiled
def _predict_members(work, M, L, at):
    """The first output for the row q of the first member; NaN if it cannot be found here."""
    K, S = int(work[N_MEMBERS]), int(work[STRIDE])
    q = work[at.q : at.q + M]
    work[K * S + PREDICTED] = 0.0
    for i in range(K):
        member = work[i * S : i * S + S]
        if i > 0:
            _copy(q, member[at.q : at.out], M)
        if isnan(_predict(member, M, L, at)):
            return nan
    work[K * S + PREDICTED] = 1.0
    return _mix(work, M, L, at)


@_compiled
def _learn_members(work, M, L, at):
    """Learn the row q of the first member with the targets y of the mixture."""
    K, S = int(work[N_MEMBERS]), int(work[STRIDE])
    mixture, places = work[K * S :], _mixture_places(K, L)
    q, y = work[at.q : at.q + M], mixture[places.y : places.y + L]
    for i in range(K):
        if _place(work[i * S : i * S + S], M, L, at) < 0:
            return FULL
    if not _dot(q, q) < work[LARGEST_SQUARE] or not _dot(y, y) < work[LARGEST_SQUARE]:
        return UNUSUAL
    if mixture[PREDICTED] == 0 and isnan(_predict_members(work, M, L, at)):
        return UNUSUAL
    decay = mixture[MIX_DECAY]
    for i in range(K):
        member, squares = work[i * S : i * S + S], mixture[places.squares + i * L :]
        for j in range(L):
            error = y[j] - member[at.out + j]
            squares[j] = decay * squares[j] + error * error
        place = _place(member, M, L, at)
        _copy(q, member[place : place + M], M)
        _copy(y, member[at.y : at.f], L)
        _learn(member, place, M, L, at)
    mixture[MIX_COUNT] = decay * mixture[MIX_COUNT] + 1.0
    mixture[MIX_ROWS] += 1.0
    mixture[PREDICTED] = 0.0
    return DONE if mixture[MIX_ROWS] < work[DUE_AFTER] else DUE


@_part
def _ask_members(work, h, M, at):
    """Make a row the q of the first member, unless it is that already."""
    q, predicted = work[at.q : at.q + M], int(work[N_MEMBERS] * work[STRIDE]) + PREDICTED
    same = work[predicted] > 0
    for i in range(M):
        same = same and q[i] == h[i]
    if not same:
        _copy(h, q, M)
        work[predicted] = 0.0
    return same


@_part
def _targets_of_mixture(work, L):
    K, S = int(work[N_MEMBERS]), int(work[STRIDE])
    return work[K * S + _mixture_places(K, L).y :]


@_part
def _outputs_of_mixture(work, L):
    K, S = int(work[N_MEMBERS]), int(work[STRIDE])
    return work[K * S + _mixture_places(K, L).out :]


@_part
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

    Negative if the row has another length, or a number that is not finite.
    """
    n, M = int(layer[N_INPUTS]), int(layer[N_UNITS])
    if x.shape[0] != n:
        return -1
    at = _layer_places(n, M)
    h = layer[at.h : at.end]
    last, row = layer[at.x : at.row], layer[at.row : at.h]
    same = layer[HAS_INPUT] > 0
    for i in range(n):
        same = same and last[i] == x[i]
    if same:
        return at.h
    for i in range(n):
        last[i] = row[i] = x[i]
    layer[HAS_INPUT] = 1.0 if _dot(row, row) < inf else 0.0
    if layer[HAS_INPUT] == 0:
        return -1
    if layer[HAS_UNIT] > 0:
        centre, unit = layer[at.centre : at.unit], layer[at.unit : at.bias]
        for i in range(n):
            row[i] = (row[i] - centre[i]) / unit[i]
    bias, weights = layer[at.bias : at.weights], layer[at.weights : at.x]
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
    elif kind == BY_UNIT:
        n_tanh = int(layer[N_TANH])
        _tanh(h[:n_tanh])
        for j in range(n_tanh):
            h[j] *= layer[SIZE_OF_TANH]
        for j in range(n_tanh, n_tanh + int(layer[N_RELU])):
            h[j] = max(h[j], 0.0)
    return at.h


@_part
def _sizes(work):
    """The numbers of hidden units and outputs, and where the parts of the work are."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    return M, L, _places(M, L, int(work[ROOM]))


def apply(work):
    """Learn the rows that wait; not DONE if one is too long, which then is the first of them."""
    M, L, at = _sizes(work)
    K, S, status = int(work[N_MEMBERS]), int(work[STRIDE]), DONE
    for i in range(max(K, 1)):
        member = work[i * S : i * S + S] if K > 0 else work
        done = True
        for row in range(int(member[N_WAITING])):
            if done and not _next_waiting(member, row, M, L, at):
                done, status = False, UNUSUAL
            if done:
                _rotate(member, M, L, at, sqrt(member[KEEP]))
        if done:
            member[N_WAITING] = 0.0
    return status


def snapshot(work, into):
    """Copy all that is known, and the rows that are there, while no other thread can learn."""
    M, L, at = _sizes(work)
    K, S = int(work[N_MEMBERS]), int(work[STRIDE])
    for i in range(max(K, 1)):
        first = i * S
        n, kept = int(work[first + N_WAITING]), int(work[first + N_KEPT])
        for start, stop in (
            (0, at.H),
            (at.H, at.H + n * M),
            (at.Y, at.Y + n * L),
            (at.kept, at.kept + kept * (M + L)),
        ):
            _copy(work[first + start : first + stop], into[first + start :], stop - start)
    if K > 0:
        _copy(work[K * S :], into[K * S :], work.shape[0] - K * S)
    return DONE


# What is called from Python: rows may have any strides, and may be read-only.


def _put(y, into):
    """Write targets, a number or an array; False if there are more or fewer. For compiled code."""


@overload(_put, jit_options=OPTIONS)
def _put_kind(y, into):
    """`_put` for a number, and for an array."""
    if isinstance(y, types.Number):

        def put(y, into):
            into[0] = y
            return into.shape[0] == 1

        return put

    def put_all(y, into):
        same = y.shape[0] == into.shape[0]
        for j in range(min(y.shape[0], into.shape[0])):
            into[j] = y[j]
        return same

    return put_all


@_part
def _answer(work, h, M, L, at):
    """The first output for a row, or NaN where it must be found elsewhere."""
    _copy(h, work[at.q : at.out], M)
    return _predict(work, M, L, at)


@_part
def _answer_members(work, h, M, L, at):
    """The same of several works that are mixed."""
    if _ask_members(work, h, M, at):
        return _outputs_of_mixture(work, L)[0]
    return _predict_members(work, M, L, at)


@_part
def _study(work, h, y, M, L, at):
    """Learn a row with its targets."""
    place = _place(work, M, L, at)
    if place < 0:
        return place
    if not _put(y, work[at.y : at.y + L]):
        return UNUSUAL
    _copy(h, work[place : place + M], M)
    return _learn(work, place, M, L, at)


@_part
def _study_members(work, h, y, M, L, at):
    """The same of several works that are mixed."""
    _ask_members(work, h, M, at)
    if not _put(y, _targets_of_mixture(work, L)[:L]):
        return UNUSUAL
    return _learn_members(work, M, L, at)


@cache
def entry_points(mixed):
    """The functions that predict and learn rows, by their names: of one work, or of several.

    `mixed` is a constant in the compiled code, so that a single work needs no code for others:
    that takes several times as long to compile. The functions are no closures of other functions:
    those are compiled again in every process.
    """

    def predict_one(work, h):
        """The first output for one row, or NaN where it must be found elsewhere."""
        M, L, at = _sizes(work)
        if h.shape[0] != M:
            return nan
        if mixed:
            return _answer_members(work, h, M, L, at)
        return _answer(work, h, M, L, at)

    def predict_outputs(work, h, out):
        """Write the outputs for one row; not DONE where they must be found elsewhere."""
        M, L, at = _sizes(work)
        if h.shape[0] != M:
            return UNUSUAL
        if mixed:
            if isnan(_answer_members(work, h, M, L, at)):
                return UNUSUAL
            _copy(_outputs_of_mixture(work, L), out, L)
            return DONE
        if isnan(_answer(work, h, M, L, at)):
            return UNUSUAL
        _copy(work[at.out : at.W], out, L)
        return DONE

    def learn(work, h, y):
        """Learn one row with its targets, a number or an array."""
        M, L, at = _sizes(work)
        if h.shape[0] != M:
            return UNUSUAL
        if mixed:
            return _study_members(work, h, y, M, L, at)
        return _study(work, h, y, M, L, at)

    def predict_input(work, layer, x):
        """The first output for one row of inputs, or NaN where it must be found elsewhere."""
        M, L, at = _sizes(work)
        start = _activations(layer, x)
        if start < 0:
            return nan
        if mixed:
            return _answer_members(work, layer[start:], M, L, at)
        return _answer(work, layer[start:], M, L, at)

    def predict_input_outputs(work, layer, x, out):
        """Write the outputs for one row of inputs; not DONE where they must be found elsewhere."""
        M, L, at = _sizes(work)
        start = _activations(layer, x)
        if start < 0:
            return UNUSUAL
        if mixed:
            if isnan(_answer_members(work, layer[start:], M, L, at)):
                return UNUSUAL
            _copy(_outputs_of_mixture(work, L), out, L)
            return DONE
        if isnan(_answer(work, layer[start:], M, L, at)):
            return UNUSUAL
        _copy(work[at.out : at.W], out, L)
        return DONE

    def learn_input(work, layer, x, y):
        """Learn one row of inputs with its targets, a number or an array."""
        M, L, at = _sizes(work)
        start = _activations(layer, x)
        if start < 0:
            return UNUSUAL
        if mixed:
            return _study_members(work, layer[start:], y, M, L, at)
        return _study(work, layer[start:], y, M, L, at)

    def record(work, H, Y, predicted):
        """Predict each row and learn it; how many there were before one must be learned elsewhere.

        For a single work. No row must be waiting, and none is at the end, unless one was too long.
        """
        M, L, at = _sizes(work)
        waiting, targets = work[at.H : at.H + M], work[at.Y : at.Y + L]
        n = 0
        for row in range(Y.shape[0] // L):
            if work[N_ROWS] >= work[LIMIT] or work[N_KEPT] + work[N_WAITING] >= work[ROOM]:
                break
            h = H[row * M : row * M + M]
            if isnan(_answer(work, h, M, L, at)):
                break
            _copy(work[at.out : at.W], predicted[row * L :], L)
            _copy(h, waiting, M)
            _copy(Y[row * L :], targets, L)
            work[N_WAITING] = 1.0
            work[N_ROWS] += 1.0
            n += 1
        if work[N_WAITING] > 0 and _next_waiting(work, 0, M, L, at):
            _rotate(work, M, L, at, sqrt(work[KEEP]))
            work[N_WAITING] = 0.0
        return n

    return {
        "predict_one": predict_one,
        "predict_outputs": predict_outputs,
        "predict_input": predict_input,
        "predict_input_outputs": predict_input_outputs,
        "learn_one": learn,
        "learn_outputs": learn,
        "learn_input": learn_input,
        "learn_input_outputs": learn_input,
        "record": record,
        "apply": apply,
        "snapshot": snapshot,
    }


_WORK = types.float64[::1]


def signature(name: str, dtype: str) -> Any:
    """The signature of an entry point for rows of a dtype."""
    number = getattr(types, dtype)
    row = types.Array(number, 1, "A", readonly=True)
    long_row = types.Array(number, 1, "C", readonly=True)
    return {
        "predict_one": types.float64(_WORK, row),
        "learn_one": types.int64(_WORK, row, types.float64),
        "learn_outputs": types.int64(_WORK, row, row),
        "predict_outputs": types.int64(_WORK, row, _WORK),
        "predict_input": types.float64(_WORK, _WORK, row),
        "predict_input_outputs": types.int64(_WORK, _WORK, row, _WORK),
        "learn_input": types.int64(_WORK, _WORK, row, types.float64),
        "learn_input_outputs": types.int64(_WORK, _WORK, row, row),
        "apply": types.int64(_WORK),
        "snapshot": types.int64(_WORK, _WORK),
        "record": types.int64(_WORK, long_row, long_row, _WORK),
    }[name]
