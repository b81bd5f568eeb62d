"""Single rows in machine code: roots that learn and predict, and the layer before them.

All numbers of a model are in one array, the *work*: each argument of a compiled function costs as
much as the arithmetic of a small model. They are float64, whatever the dtype of the model. A call
holds Python's lock until it returns, so that other threads see the work before or after it.

A work has one *member*, or several whose predictions are mixed: each is a root of all rows, with a
memory of its own, or only weights (OPIUM light). A root is updated by Givens rotations, row by row:
no digits are lost. Rows wait until a prediction needs them, and stay in the work as they came.
Loops run over parts of arrays from zero on: only then does the compiler know that no index is
negative, and uses vectors.

All of it is in one file: when this changes, what was compiled before is compiled again.
"""

from __future__ import annotations

from math import cos, exp, factorial, floor, hypot, inf, isnan, log, nan, sin, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import register_jitable

from .loading import DUE

# The header of the work
N_HIDDEN = 0
N_OUTPUTS = 1
N_MEMBERS = 2
ROOM = 3  # rows that are kept; none where members have only weights, which learn at once (light)
N_ROWS = 4  # rows that the work has learned, and how many these may be
LIMIT = 5
DUE_AFTER = 6  # rows after which something else is due
N_IN_ROOTS = 7  # rows that are in the roots; the others wait
TOO_LONG = 8  # whether a row is too long for the prior in a root, and no other is learned here
LARGEST_SQUARE = 9  # up to which squares are numbers that can be learned
PREDICTED = 10  # whether the last prediction was for the row q, after all rows
MIX_COUNT = 11  # of the mixture: rows that count, and what is left of that after the next
MIX_DECAY = 12
LAYER = 13  # where the layer's array begins, behind the end; 0 where rows are activations
HEADER = 16

# The header of a member
KEEP = 0  # what is left of a row's weight after the next
LARGEST_ROW = 1  # |row|² up to which the prior loses no digits
HAS_MEAN = 2  # whether rows are taken around their mean, and how much counts in that
MEAN_COUNT = 3
ROUNDING = 4  # the part of a mean up to which a difference is rounding
WEIGHTS_KNOWN = 5  # whether W is that of all rows
PER_GAIN = 6  # 1/gain, for OPIUM light
MEMBER_HEADER = 8

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
    """Offsets of the parts of the work array, and of each member's parts within its own.

    Attributes
    ----------
    prior : the logarithm of the prior of each member
    squares : sums of squared errors, for each member a row of outputs
    shares : of the members in the mixture
    q : a row that is predicted
    y : the targets of a row that is learned
    out : predictions
    members : the first member
    stride : from one member to the next
    rows : those that were learned, as they came, each with its targets
    end : of the work
    loss : of the root, for each output
    target, mean : the means, where rows are taken around them
    root, inverse, Z : R row by row, the inverse of its diagonal, and Z row by row. Rows of R begin
        with a line of the cache; there are zeros below the diagonal and behind the last column.
    x, xy : a row that is learned, with its targets
    f : a row that is predicted, in the coordinates of R
    own : the member's predictions
    W : the weights, a row for each output
    """

    prior: int
    squares: int
    shares: int
    q: int
    y: int
    out: int
    members: int
    stride: int
    rows: int
    end: int
    loss: int
    target: int
    mean: int
    root: int
    inverse: int
    Z: int
    x: int
    xy: int
    f: int
    own: int
    W: int


class LayerPlaces(NamedTuple):
    """Offsets of the parts of a layer's array, and its length.

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


@register_jitable  # it stays a function of Python too
def up(n: int) -> int:
    """The next multiple of 8: so many numbers are a line of the cache."""
    return (n + 7) // 8 * 8


def places(n_hidden: int, n_outputs: int, n_members: int, room: int) -> Places:
    """Return the offsets of the parts of a model's work array; each part begins a cache line."""
    wide, outputs = up(n_hidden), up(n_outputs)
    loss = MEMBER_HEADER
    target = loss + outputs
    mean = target + outputs
    root = mean + wide
    inverse = root + (n_hidden * wide if room else 0)
    Z = inverse + wide
    x = Z + up(n_hidden * n_outputs)
    xy = x + wide
    f = xy + outputs
    own = f + wide
    W = own + outputs
    stride = W + up(n_hidden * n_outputs)
    prior = HEADER
    squares = prior + up(n_members)
    shares = squares + up(n_members * n_outputs)
    q = shares + up(n_members)
    y = q + wide
    out = y + outputs
    members = out + outputs
    rows = members + n_members * stride
    end = rows + max(room, 1) * (n_hidden + n_outputs)
    return Places(
        prior, squares, shares, q, y, out, members, stride, rows, end,
        loss, target, mean, root, inverse, Z, x, xy, f, own, W,
    )  # fmt: skip


def layer_places(n_inputs: int, n_units: int) -> LayerPlaces:
    """Return the offsets of the parts of a layer's array."""
    centre = LAYER_HEADER
    unit = centre + n_inputs
    bias = unit + n_inputs
    weights = bias + n_units
    x = weights + n_inputs * n_units
    row = x + n_inputs
    h = row + n_inputs
    return LayerPlaces(centre, unit, bias, weights, x, row, h, h + n_units)


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
    y = work[at.xy : at.f]
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


@_part
def _prepare(work, M, L, at):
    """Make of the row x and its targets what a root learns; False if the row is too long."""
    mean_target, mean = work[at.target : at.mean], work[at.mean : at.root]
    x, y = work[at.x : at.x + M], work[at.xy : at.f]
    if work[HAS_MEAN] > 0:
        _centre(x, mean, work[ROUNDING])
    if not _dot(x, x) <= work[LARGEST_ROW]:
        return False
    if work[HAS_MEAN] > 0:
        count = work[KEEP] * work[MEAN_COUNT]
        scale, share = sqrt(count / (count + 1.0)), 1.0 / (count + 1.0)
        for i in range(M):
            mean[i] += share * x[i]
            x[i] *= scale
        for j in range(L):
            difference = y[j] - mean_target[j]
            mean_target[j] += share * difference
            y[j] = scale * difference
        work[MEAN_COUNT] = count + 1.0
    return True


@_part
def _ask(work, q, M, at):
    """Compute the centred features f of a row that is to be predicted."""
    f = work[at.f : at.f + M]
    _copy(q, f, M)
    if work[HAS_MEAN] > 0:
        _centre(f, work[at.mean : at.root], work[ROUNDING])


@_compiled
def _learn_waiting(work, M, L, at):
    """Learn the waiting rows into all roots; return False if a row is too long.

    While the last is rotated into them, f becomes R⁻ᵀf of the row q.
    """
    n, first = int(work[N_ROWS]), int(work[N_IN_ROOTS])
    for k in range(int(work[N_MEMBERS])):
        member = work[at.members + k * at.stride : at.members + (k + 1) * at.stride]
        for i in range(first, n):
            row = work[at.rows + i * (M + L) :]
            _copy(row, member[at.x :], M)
            _copy(row[M:], member[at.xy :], L)
            if not _prepare(member, M, L, at):
                work[TOO_LONG] = 1.0
                return False
            if i == n - 1:
                _ask(member, work[at.q :], M, at)
            _rotate(member, M, L, at, sqrt(member[KEEP]))
        member[WEIGHTS_KNOWN] = 0.0
    work[N_IN_ROOTS] = n
    return True


@_part
def _outputs(work, M, L, at):
    """The outputs for the row f, after all rows are learned."""
    f, out, Z = work[at.f : at.f + M], work[at.own : at.W], work[at.Z : at.x]
    if L == 1:
        out[0] = _dot(f, Z)
    else:
        for j in range(L):
            out[j] = 0.0
        for i in range(M):
            a, z = f[i], Z[i * L : i * L + L]
            for j in range(L):
                out[j] += a * z[j]


@_compiled
def _outputs_by_weights(work, M, L, at):
    """The outputs for a row around the mean, by W = R⁻¹Z."""
    inverse, Z, S = work[at.inverse : at.Z], work[at.Z : at.x], up(M)
    f, out, W = work[at.f : at.f + M], work[at.own : at.W], work[at.W :]
    for j in range(L):
        w = W[j * M : j * M + M]
        if work[WEIGHTS_KNOWN] == 0:
            for k in range(M):
                i = M - 1 - k
                row = at.root + i * S
                tail = _dot(work[row + i + 1 : row + M], w[i + 1 :])
                w[i] = (Z[i * L + j] - tail) * inverse[i]
        out[j] = _dot(f, w)
    work[WEIGHTS_KNOWN] = 1.0


@_part
def _mix(work, M, L, at):
    """The outputs of the members, by their shares as in `Mixture`."""
    K, n = int(work[N_MEMBERS]), max(work[MIX_COUNT], _TINY)
    shares, top, total = work[at.shares : at.q], -inf, 0.0
    for k in range(K):
        logs = work[at.prior + k]
        for j in range(L):
            logs -= n / 2 * log(max(work[at.squares + k * L + j] / n, _TINY))
        shares[k] = logs
        top = max(top, logs)
    for k in range(K):
        shares[k] = exp(shares[k] - top)
        total += shares[k]
    out = work[at.out : at.members]
    for j in range(L):
        out[j] = 0.0
    for k in range(K):
        own, share = work[at.members + k * at.stride + at.own :], shares[k] / total
        for j in range(L):
            out[j] += share * own[j]


@_compiled
def _predict(work, M, L, at):
    """Predict the row q after all rows are learned; the first output, NaN if kernels cannot."""
    q, K, finite = work[at.q : at.q + M], int(work[N_MEMBERS]), True
    work[PREDICTED] = 0.0
    if work[TOO_LONG] > 0 or not _dot(q, q) < work[LARGEST_SQUARE]:
        return nan
    waiting = work[ROOM] > 0 and work[N_IN_ROOTS] < work[N_ROWS]
    if waiting and not _learn_waiting(work, M, L, at):
        return nan
    for k in range(K):
        member = work[at.members + k * at.stride : at.members + (k + 1) * at.stride]
        if waiting:
            _outputs(member, M, L, at)
        else:  # asked for the second time, or nothing was learned yet
            _ask(member, q, M, at)
            _outputs_by_weights(member, M, L, at)
        target, own = member[at.target : at.mean], member[at.own : at.W]
        for j in range(L):
            own[j] += target[j]  # around the mean target no more
            finite = finite and -inf < own[j] < inf
    if not finite:
        return nan
    if K > 1:
        _mix(work, M, L, at)
    else:
        _copy(work[at.members + at.own :], work[at.out :], L)
    work[PREDICTED] = 1.0
    return work[at.out]


@_part
def _note_errors(work, y, M, L, at):
    """Add the squared errors of the last predictions to the sums that weight the members."""
    decay = work[MIX_DECAY]
    for k in range(int(work[N_MEMBERS])):
        own, squares = work[at.members + k * at.stride + at.own :], work[at.squares + k * L :]
        for j in range(L):
            error = y[j] - own[j]
            squares[j] = decay * squares[j] + error * error
    work[MIX_COUNT] = decay * work[MIX_COUNT] + 1.0


@_part
def _step(work, row, y, M, L, at):
    """Update the weights of OPIUM light by one row."""
    member = work[at.members :]
    per_d = 1.0 / (member[PER_GAIN] + _dot(row, row))  # eq. (27)
    for j in range(L):
        w = member[at.W + j * M : at.W + j * M + M]
        step = per_d * (y[j] - _dot(row, w))
        for i in range(M):
            w[i] += step * row[i]  # eq. (28)


@_compiled
def _learn(work, M, L, at):
    """Learn the row that is written after the last waiting row, with the targets y."""
    n = int(work[N_ROWS]) if work[ROOM] > 0 else 0
    both = work[at.rows + n * (M + L) : at.rows + (n + 1) * (M + L)]
    row, y, q = both[:M], work[at.y : at.y + L], work[at.q : at.q + M]
    if not _dot(row, row) < work[LARGEST_SQUARE] or not _dot(y, y) < work[LARGEST_SQUARE]:
        return UNUSUAL
    if work[N_MEMBERS] > 1:
        same = work[PREDICTED] > 0
        for i in range(M):
            same = same and q[i] == row[i]
        if not same:
            _copy(row, q, M)
            if isnan(_predict(work, M, L, at)):
                return UNUSUAL
        _note_errors(work, y, M, L, at)
    _copy(y, both[M:], L)
    if work[ROOM] == 0:
        _step(work, row, y, M, L, at)
    work[PREDICTED] = 0.0
    work[N_ROWS] += 1.0
    return DONE if work[N_ROWS] < work[DUE_AFTER] else DUE


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
def _activate(layer, x):
    """Activations of one row of inputs in a layer, eqs. (1)-(2); those of the last are kept.

    False if the row has another length, or a number that is not finite.
    """
    n, M = int(layer[N_INPUTS]), int(layer[N_UNITS])
    if x.shape[0] != n:
        return False
    at = _layer_places(n, M)
    h = layer[at.h : at.end]
    last, row = layer[at.x : at.row], layer[at.row : at.h]
    same = layer[HAS_INPUT] > 0
    for i in range(n):
        same = same and last[i] == x[i]
    if same:
        return True
    for i in range(n):
        last[i] = row[i] = x[i]
    layer[HAS_INPUT] = 1.0 if _dot(row, row) < inf else 0.0
    if layer[HAS_INPUT] == 0:
        return False
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
    return True


@_part
def _write(work, x, into, M):
    """Write a row's activations, or the row without a layer; False if kernels refuse the row."""
    if work[LAYER] == 0:
        if x.shape[0] != M:
            return False
        _copy(x, into, M)
        return True
    layer = work[int(work[LAYER]) :]
    if not _activate(layer, x):
        return False
    _copy(layer[_layer_places(int(layer[N_INPUTS]), M).h :], into, M)
    return True


@_part
def _sizes(work):
    """The numbers of hidden units and outputs, and where the parts of the work are."""
    M, L = int(work[N_HIDDEN]), int(work[N_OUTPUTS])
    return M, L, _places(M, L, int(work[N_MEMBERS]), int(work[ROOM]))


@_part
def _learn_input(work, x, M, L, at):
    """Learn a row of inputs, of which the targets are written already."""
    if work[N_ROWS] >= work[LIMIT] or work[TOO_LONG] > 0:
        return FULL
    n = int(work[N_ROWS]) if work[ROOM] > 0 else 0
    if not _write(work, x, work[at.rows + n * (M + L) :], M):
        return UNUSUAL
    return _learn(work, M, L, at)


# What is called from Python: rows may have any strides, and may be read-only.


@_part
def _predict_input(work, x, M, L, at):
    """Predict one row; return the first output, NaN if kernels cannot predict."""
    return _predict(work, M, L, at) if _write(work, x, work[at.q :], M) else nan


def predict_number(work, x):
    """Predict the one output for a row; NaN if kernels cannot."""
    M, L, at = _sizes(work)
    return _predict_input(work, x, M, L, at)


def predict_outputs(work, out, x):
    """Predict one row into `out`; return the first output, NaN if kernels cannot predict."""
    M, L, at = _sizes(work)
    first = _predict_input(work, x, M, L, at)
    _copy(work[at.out :], out, out.shape[0])
    return first


def learn_number(work, x, y):
    """Learn one row with its target."""
    M, L, at = _sizes(work)
    work[at.y] = y
    return _learn_input(work, x, M, L, at)


def learn_outputs(work, x, y):
    """Learn one row with its targets."""
    M, L, at = _sizes(work)
    if y.shape[0] != L:
        return UNUSUAL
    _copy(y, work[at.y :], L)
    return _learn_input(work, x, M, L, at)


def snapshot(work, into):
    """Learn the rows that wait, and copy all numbers, while no other thread can learn."""
    M, L, at = _sizes(work)
    if work[ROOM] > 0 and work[TOO_LONG] == 0 and work[N_IN_ROOTS] < work[N_ROWS]:
        _learn_waiting(work, M, L, at)
    rows = int(work[N_ROWS]) if work[ROOM] > 0 else 0
    _copy(work, into, at.rows + rows * (M + L))
    return DONE


_WORK = types.float64[::1]


def signature(name: str, dtype: str) -> Any:
    """The signature of a kernel for rows of a dtype."""
    number = getattr(types, dtype)
    row = types.Array(number, 1, "A", readonly=True)
    return {
        "predict_number": types.float64(_WORK, row),
        "predict_outputs": types.float64(_WORK, _WORK, row),
        "learn_number": types.int64(_WORK, row, types.float64),
        "learn_outputs": types.int64(_WORK, row, row),
        "snapshot": types.int64(_WORK, _WORK),
    }[name]
