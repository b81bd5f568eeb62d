"""Random Fourier features: a Gaussian kernel in a finite number of units."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from ..backend import Array, Backend
from ..backend.scipy import orthogonal
from ..devices import is_on_device, on_host
from ..fields import choice, finite, flag, number
from ..validation import Seed, check_memory, check_number, check_switch
from .protocol import Layer, stored_layer


@stored_layer({"gamma": choice("scale") | number, "orthogonal": flag}, fitted={"gamma_": finite})
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

    # A kernel needs inputs in comparable units.
    wants_order_one = True

    def __init__(
        self,
        n_hidden: int | Literal["auto"] = "auto",
        *,
        gamma: float | Literal["scale"] = "scale",
        orthogonal: bool = True,
        random_state: Seed = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.gamma = gamma
        self.orthogonal = orthogonal
        self.random_state = random_state

    def check_parameters(self) -> None:
        super().check_parameters()
        check_switch("orthogonal", self.orthogonal)
        if not isinstance(self.gamma, str):
            check_number("gamma", self.gamma, low=0, include_low=False)
        elif self.gamma != "scale":
            raise ValueError(f"gamma={self.gamma!r}: pass 'scale' or a number > 0.")

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        check_memory(
            f"n_hidden={self.n_hidden!r} for {X.shape[1]:,} columns",
            16.0 * X.shape[1] * max(self.n_hidden_ / 2, X.shape[1] if self.orthogonal else 0),
            "pass fewer units or fewer columns"
            + (", or orthogonal=False." if self.orthogonal else "."),
        )
        self.gamma_ = _scale(X) if self.gamma == "scale" else float(self.gamma)
        frequencies = self._drawn(X.shape[1], self._n_columns)
        self.weights_ = np.ascontiguousarray(frequencies, dtype=dtype)

    @property
    def _n_columns(self) -> int:
        return (self.n_hidden_ + 1) // 2  # a cosine and a sine of each

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

    def _activated(self, H: Array) -> Array:
        n, half = len(H), H.shape[1]
        waves = np.empty((n, self.n_hidden_), H.dtype)
        np.cos(H, out=waves[:, :half])
        np.sin(H[:, : self.n_hidden_ - half], out=waves[:, half:])
        return waves

    def _activated_on(self, b: Backend, H: Array) -> Array:
        half = H.shape[1]
        sines = b.xp.sin(H[:, : self.n_hidden_ - half])
        return b.xp.concat([b.xp.cos(H), sines], axis=1)


def _scale(X: Any) -> float:
    """One over the summed variances of the columns, taken as equal."""
    X = on_host(X) if is_on_device(X) else X
    if sparse.issparse(X):
        variance = float(X.astype(float).power(2).mean() - X.mean() ** 2)
    else:
        variance = float(X.var(dtype=np.float64))
    return 1 / (X.shape[1] * variance) if variance > 0 else 1 / X.shape[1]
