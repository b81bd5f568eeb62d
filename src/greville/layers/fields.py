"""Units that each see a part of the image."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np

from ..backend import Array
from ..fields import within
from .images import IMAGE, image_of
from .protocol import AnyActivation, Layer, Length, Random, Size, stored_layer

# The sides of a field go up to this part of the image's.
_LARGEST_SIDE = 0.6
_SMALLEST_SIDE, _SMALL_IMAGE = 3, 8


@stored_layer()
@dataclass(eq=False, repr=False)
class ReceptiveFieldLayer(Layer):
    """Random units that each see a random rectangle of an image.

    Neighbouring pixels belong together; a unit that sees a part of the image can tell a stroke
    from its absence where one that sees all of it averages. After McDonnell et al.

    Parameters
    ----------
    shape : tuple of two or three int
        The rows and columns of the image; X has a column for each pixel, row by row. With a third
        number, of channels, which lie beside each other, a unit sees all channels of its field.
    n_hidden : int or "auto", default="auto"
        Number of hidden units. "auto" is 10 times the number of pixels.
    border : int, default=3
        Pixels along the edges that no unit sees.
    min_area : int, default=10
        The least number of pixels in a field.
    scale : float, default=2.0
        The length of each unit's weights.
    activation : str or callable, default="tanh"
        As in `RandomLayer`.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_hidden)
    bias_ : None
    n_hidden_ : int
    n_features_in_ : int

    References
    ----------
    McDonnell, Tissera, Vladusich, van Schaik & Tapson, "Fast, simple and accurate handwritten digit
    classification by training shallow neural network classifiers with the 'extreme learning
    machine' algorithm", PLoS ONE 10(8), 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import ELMClassifier, ReceptiveFieldLayer
    >>> X, y = load_digits(return_X_y=True)
    >>> layer = ReceptiveFieldLayer((8, 8), 500, border=0, random_state=0)
    >>> model = ELMClassifier(layer).fit(X[:1500] / 16, y[:1500])
    >>> bool(model.score(X[1500:] / 16, y[1500:]) > 0.93)
    True
    """

    shape: Annotated[tuple[int, ...], IMAGE]
    n_hidden: Size = "auto"
    _: KW_ONLY
    border: Annotated[int, within(0, whole=True)] = 3
    min_area: Annotated[int, within(1, whole=True)] = 10
    scale: Length = 2.0
    activation: AnyActivation = "tanh"
    random_state: Random = None

    def _set_weights(self, X: Any, y: Any, dtype: Any) -> None:
        random = self._random()
        fields = Fields("shape", self.shape, self.border, self.min_area, X.shape[1])
        masks = fields.draw(self.n_hidden_, random)
        units = random.normal(size=masks.shape) * masks
        self.weights_ = with_length(units, self.scale, dtype)


class Fields:
    """Rectangles of an image, drawn at random: the sides first, then the place.

    Parameters
    ----------
    name : str
        The argument that error messages name.
    shape : tuple of two or three int
    border, min_area : int
    n_features : int
        The number of columns the image must have.
    """

    def __init__(self, name: str, shape: Any, border: Any, min_area: Any, n_features: int) -> None:
        self.image = image_of(name, shape, n_features)
        self.border = int(border)
        self.min_area = int(min_area)
        inner = [side - 2 * self.border for side in self.image.sides]
        self.largest = [largest_side(side) for side in inner]
        if min(inner) < 1 or self.largest[0] * self.largest[1] < self.min_area:
            raise ValueError(
                f"border={border!r}, min_area={min_area!r}: no field of that many pixels fits into "
                f"an image of {shape[0]} x {shape[1]}; pass a smaller border or area."
            )

    def draw(self, n: int, random: np.random.RandomState) -> Array:
        """n masks, each one in its field and zero elsewhere, of shape (n, n_features).

        Fields in the same rows of the image are neighbours.
        """
        sides = np.stack([self._sides(i, n, random) for i in range(2)])
        while (small := sides.prod(axis=0) < self.min_area).any():
            sides[:, small] = [self._sides(i, int(small.sum()), random) for i in range(2)]
        starts = np.stack([self._starts(i, sides[i], random) for i in range(2)])
        order = np.lexsort((sides[0], starts[0]))
        inside = []
        for side, start, length in zip(
            self.image.sides, starts[:, order], sides[:, order], strict=True
        ):
            place = np.arange(side)
            inside.append((place >= start[:, None]) & (place < (start + length)[:, None]))
        fields = (inside[0][:, :, None] & inside[1][:, None, :]).reshape(n, -1)
        return fields.repeat(self.image.channels, axis=1)

    def _sides(self, i: int, n: int, random: np.random.RandomState) -> Array:
        least = min(_smallest_side(self.image.sides[i]), self.largest[i])
        return random.randint(least, self.largest[i] + 1, size=n)

    def _starts(self, i: int, sides: Array, random: np.random.RandomState) -> Array:
        room = self.image.sides[i] - 2 * self.border - sides
        return self.border + np.floor(random.uniform(size=len(sides)) * (room + 1)).astype(int)


def largest_side(side: int) -> int:
    """The largest side of a field in an image with this side."""
    return max(1, round(_LARGEST_SIDE * side))


def _smallest_side(side: int) -> int:
    """The least side of a field: a small grid has small ones."""
    return _SMALLEST_SIDE if side > _SMALL_IMAGE else _SMALLEST_SIDE - 1


def with_length(units: Array, length: float, dtype: Any) -> Array:
    """Weights, a column for each row of units, scaled to a length; rows of zeros stay."""
    norms = np.sqrt(np.einsum("ij,ij->i", units, units))
    norms[norms == 0] = 1
    return np.ascontiguousarray((units * (length / norms)[:, None]).T, dtype=dtype)
