"""A reservoir: units that are connected with each other, and so remember."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from ..backend import Array
from ..compiled import states_kernel
from ..fields import array, require, within
from ..validation import check_memory
from .protocol import Length, Random, product, stored_features
from .sequence import SequenceLayer

# Steps of which the growth says what the spectral radius is, to half a hundredth, after as many
# that are left out; and those after which the vector is brought to length one again.
_STEPS, _AT_ONCE = 200, 10


@stored_features(
    {
        "weights_": array(2),
        "bias_": array(1),
        "sources_": array(2, "i"),
        "strengths_": array(2),
        "state_": array(1),
    }
)
@dataclass(eq=False, repr=False)
class ReservoirLayer(SequenceLayer):
    """An echo state network without its readout: random units that see rows and each other.

    ``x ← x + leak·(tanh(u @ weights_ + bias_ + W x) - x)`` for each row u; x is what comes out. W
    has `degree` random connections into each unit, and as many out of it.

    Any solver of greville is its readout: exact, and with `DynamicOpium` one that forgets.

    Parameters
    ----------
    n_hidden : int, default=300
        Number of units.
    spectral_radius : float, default=0.9
        The size of the largest eigenvalue of W, to a hundredth: how long the units remember. It is
        mostly less than one, and may be more where `leak` is small or inputs are large.
    leak : float, default=1.0
        How much of a unit is new at each row, at most one.
    scale : float, default=0.5
        Input weights are uniform in [-scale, scale]. Inputs should be of order one.
    bias : float, default=0.5
        Biases are uniform in [-bias, bias].
    degree : int, default=10
        Connections into each unit; never more than there are units.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_hidden)
    bias_ : ndarray of shape (n_hidden,)
    sources_ : ndarray of int, shape (degree, n_hidden)
        From which units the connections into each unit come.
    strengths_ : ndarray of shape (degree, n_hidden)
        Their weights.
    state_ : ndarray of shape (n_hidden,)
        Where `advance` goes on.
    n_hidden_, n_features_in_ : int

    References
    ----------
    Jaeger, "The 'echo state' approach to analysing and training recurrent neural networks", GMD
    report 148, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import DynamicOpium, ReservoirLayer
    >>> u = np.sin(np.arange(500) / 5)[:, None]
    >>> layer = ReservoirLayer(50, random_state=0).fit(u)
    >>> readout = DynamicOpium("auto", epsilon="auto", intercept=True)
    >>> predicted = readout.prequential(layer.advance(u[:-1]), u[1:, 0])
    >>> bool(np.abs(predicted - u[1:, 0])[-100:].max() < 0.01)
    True
    """

    n_hidden: Annotated[int, within(1, whole=True)] = 300
    _: KW_ONLY
    spectral_radius: Annotated[float, within(0, 1e6)] = 0.9
    leak: Annotated[float, within(0, np.nextafter(1, 2), include_low=False)] = 1.0
    scale: Length = 0.5
    bias: Annotated[float, within(0, 1e100)] = 0.5
    degree: Annotated[int, within(1, whole=True)] = 10
    random_state: Random = None

    def _set_weights(self, n_features: int) -> None:
        M = self.n_hidden_ = int(self.n_hidden)
        degree = min(int(self.degree), M)
        check_memory(
            f"n_hidden={self.n_hidden!r} and degree={self.degree!r} for {n_features:,} columns",
            32.0 * M * (n_features + degree),
            "pass fewer of them.",
        )
        random = self._random()
        self.weights_ = random.uniform(-self.scale, self.scale, size=(M, n_features)).T.copy()
        self.bias_ = random.uniform(-self.bias, self.bias, size=M)
        self.sources_ = np.array([random.permutation(M) for _ in range(degree)], np.int64)
        self.strengths_ = random.uniform(-1, 1, size=(degree, M))
        radius = _spectral_radius(self.sources_, self.strengths_, random.normal(size=M))
        if radius > 0:
            self.strengths_ *= self.spectral_radius / radius

    def _initial_state(self) -> Array:
        return np.zeros(self.n_hidden_)

    def _follow(self, X: Array, state: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            drive = np.ascontiguousarray(product(X, self.weights_)) + self.bias_
        H, x, leak = np.empty(drive.shape), state.copy(), float(self.leak)
        kernel = states_kernel(drive.size)
        if kernel is not None:
            kernel(drive, self.sources_, self.strengths_, leak, x, H)
            return H, x
        incoming, total = np.empty(self.sources_.shape), np.empty(len(x))
        for t in range(len(H)):
            np.take(x, self.sources_, out=incoming, mode="clip")
            np.multiply(incoming, self.strengths_, out=incoming)
            np.add.reduce(incoming, axis=0, out=total)
            total += drive[t]
            np.tanh(total, out=total)
            total -= x
            total *= leak
            x += total
            H[t] = x
        return H, x

    def _check_stored(self) -> None:
        n, M, sources = self.n_features_in_, self.n_hidden_, self.sources_
        require(self.n_hidden == M, "the units are not as many as the parameter says")
        require(self.weights_.shape == (n, M), "the weights do not fit the size")
        require(self.bias_.shape == (M,), "the biases do not fit the size")
        fits = len(sources) >= 1 and sources.shape == self.strengths_.shape == (len(sources), M)
        require(fits, "the connections do not fit the size")
        require(sources.min() >= 0 and sources.max() < M, "a connection comes from nowhere")
        super()._check_stored()


def _spectral_radius(sources: Array, strengths: Array, v: Array) -> float:
    """Estimate the spectral radius: the growth of a vector per step, in the long run."""
    growth, incoming = 0.0, np.empty(sources.shape)
    for step in range(0, 2 * _STEPS, _AT_ONCE):
        for _ in range(_AT_ONCE):
            np.take(v, sources, out=incoming, mode="clip")
            np.multiply(incoming, strengths, out=incoming)
            v = np.add.reduce(incoming, axis=0)
        size = float(np.sqrt(v @ v))
        if size == 0:
            return 0.0
        v = v / size
        growth += np.log(size) if step >= _STEPS else 0.0
    return float(np.exp(growth / _STEPS))
