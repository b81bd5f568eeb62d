"""Two stages that suit images."""

from __future__ import annotations

from typing import Any

from ..validation import Seed, check_number
from .contrast import ContrastLayer
from .fields import largest_side
from .patches import PatchLayer
from .stacked import StackedLayer

# Chosen on the last 10,000 training digits of MNIST (docs/accuracy.md).
_LENGTH, _LEAST_AREA, _CANDIDATES = 2.4, 4, 4


def image_layer(
    shape: tuple[int, ...],
    n_hidden: int = 2000,
    *,
    n_filters: int = 32,
    random_state: Seed = None,
    **patches: Any,
) -> StackedLayer:
    """A hidden layer for the classes of images, in two stages.

    Small filters first, rectified and averaged over the cells of a grid (`PatchLayer`), then units
    that see differences between classes in a part of the grid (`ContrastLayer`). Everything but
    the output weights is set by the rows that `fit` sees and is then fixed.

    Parameters
    ----------
    shape : tuple of two or three int
        The rows and columns of the images, and their channels, if they have more than one. X has a
        column for each pixel, row by row; the channels of a pixel lie beside each other.
    n_hidden : int, default=2000
        Number of hidden units. More are more accurate: learning takes time in its square.
    n_filters : int, default=32
        Number of filters in the first stage.
    random_state : int, RandomState instance or None, default=None
    **patches
        Other parameters of `PatchLayer`.

    Returns
    -------
    layer : StackedLayer
        For `ELMClassifier`, or for a pipeline of scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greville import ELMClassifier, image_layer
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ELMClassifier(image_layer((8, 8), 500), random_state=0).fit(X[:1200], y[:1200])
    >>> bool(model.score(X[1200:], y[1200:]) > 0.95)
    True
    """
    check_number("n_hidden", n_hidden, low=1, whole=True)
    first = PatchLayer(shape, n_filters, random_state=random_state, **patches)
    first.check_parameters()
    grid = first.output_shape
    second = ContrastLayer(
        n_hidden,
        receptive_fields=grid,
        border=0,
        min_area=min(_LEAST_AREA, largest_side(grid[0]) * largest_side(grid[1])),
        scale=_LENGTH / (grid[0] * grid[1] * grid[2]) ** 0.5,
        candidates=_CANDIDATES,
        random_state=random_state,
    )
    return StackedLayer(first, second)
