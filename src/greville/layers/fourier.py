"""Random Fourier features: a Gaussian kernel in a finite number of units."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from ..backend import Array
from ..backend.scipy import orthogonal
from ..devices import is_tensor, on_host
from ..fields import choice, finite, flag, within
from ..validation import check_memory
from .activations import activate
from .protocol import Layer, Matrix, Random, Size, stored_layer


@stored_layer({"gamma_": finite})
@dataclass(eq=False, repr=False)
class FourierLayer(Layer):
    """Cosines and sines of random frequencies, whose products make a Gaussian kernel.

    For units h, h(x)·h(x') is about n_hidden/2 times ``exp(-gamma·|x - x'|²)``: ridge on them
    is kernel ridge, in time and memory that do not grow with the rows.

    Parameters
    ----------
    n_hidden : int or "auto", default="auto"
        Number of hidden units, half of them cosines and half sines. "auto" is 10 times the number
        of inputs.
    gamma : "scale" or float, default="scale"
        One over twice the square of the kernel's width. "scale" is 1 over n_features times the
        variance of X, as in scikit-learn's `SVC`, from the rows that `fit` sees.
    orthogonal : bool, default=True
        Whether frequencies come in orthogonal sets, which approximates the kernel better.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, ceil(n_hidden / 2))
        The frequencies.
    gamma_ : float
    n_hidden_ : int
    n_features_in_ : int

    References
    ----------
    Rahimi & Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Yu, Suresh, Choromanski, Holtmann-Rice & Kumar, "Orthogonal random features", NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from greville import FourierLayer
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> H = FourierLayer(4000, gamma=0.5, random_state=0).fit_transform(X)
    >>> kernel = np.exp(-0.5 * ((X[0] - X[1]) ** 2).sum())
    >>> bool(abs(H[0] @ H[1] / 2000 - kernel) < 0.05)
    True
    """

    wants_order_one: ClassVar[bool] = True  # a kernel needs inputs in comparable units

    n_hidden: Size = "auto"
    _: KW_ONLY
    gamma: Annotated[float | Literal["scale"], choice("scale") | within(0, include_low=False)] = (
        "scale"
    )
    orthogonal: Annotated[bool, flag] = True
    random_state: Random = None

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        check_memory(
            f"n_hidden={self.n_hidden!r} for {X.shape[1]:,} columns",
            16.0 * X.shape[1] * max(self.n_hidden_ / 2, X.shape[1] if self.orthogonal else 0),
            "pass fewer units or fewer columns"
            + (", or orthogonal=False." if self.orthogonal else "."),
        )
        self.gamma_ = _scale(X) if self.gamma == "scale" else float(self.gamma)
        frequencies = self._drawn(*self._weights_shape)
        self.weights_ = np.ascontiguousarray(frequencies, dtype=dtype)

    @property
    def _weights_shape(self) -> tuple[int, int]:
        return self.n_features_in_, (self.n_hidden_ + 1) // 2  # a cosine and a sine of each

    def _kind_of_units(self) -> str:
        return f"cosines and sines, gamma {self.gamma_:.4g}"

    def _drawn(self, n_features: int, n: int) -> Array:
        random = self._random()
        width = np.sqrt(2 * self.gamma_)
        if not self.orthogonal:
            return width * random.normal(size=(n, n_features)).T
        square, blocks = (n_features, n_features), []
        for _ in range(0, n, n_features):
            directions = orthogonal(random.normal(size=square))
            lengths = np.sqrt(random.chisquare(n_features, size=n_features))
            blocks.append(directions * lengths)  # each as long as a row of normal numbers
        return width * np.hstack(blocks)[:, :n]

    def _activated(self, H: Any) -> Any:
        half, shape = H.shape[1], (len(H), self.n_hidden_)
        waves = H.new_empty(shape) if is_tensor(H) else np.empty(shape, H.dtype)
        waves[:, :half], waves[:, half:] = H, H[:, : self.n_hidden_ - half]
        activate("cos", waves[:, :half])  # in place
        activate("sin", waves[:, half:])
        return waves

    def _matrix(self) -> Matrix | None:
        if type(self)._activated is not FourierLayer._activated:
            return None
        W, half = self.weights_, self.weights_.shape[1]
        both = np.hstack([W, W[:, : self.n_hidden_ - half]])
        return Matrix(both, None, "waves", n_cosines=half)


def _scale(X: Any) -> float:
    """Return one over the summed variances of the columns, taken as equal."""
    if sparse.issparse(X):
        variance = float(X.astype(float).power(2).mean() - X.mean() ** 2)
    else:
        variance = float(on_host(X).var(dtype=np.float64))
    return 1 / (X.shape[1] * variance) if variance > 0 else 1 / X.shape[1]
