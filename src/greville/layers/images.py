"""The shape of an image that is a row of numbers."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

from ..fields import count, each

# Two sides, or two sides and a number of channels.
IMAGE = each(count, tuple, 2) | each(count, list, 2) | each(count, tuple, 3) | each(count, list, 3)


class Image(NamedTuple):
    """Rows, columns and channels; the channels of a pixel lie beside each other."""

    rows: int
    columns: int
    channels: int = 1

    @property
    def sides(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def n_numbers(self) -> int:
        return self.rows * self.columns * self.channels


def image_of(name: str, shape: Any, n_features: int | None = None) -> Image:
    """The shape that was passed as the argument `name`, if rows of so many numbers have it."""
    several = isinstance(shape, (tuple, list)) and len(shape) in (2, 3)
    if not several or not all(_is_count(side) for side in shape):
        raise ValueError(
            f"{name}={shape!r}: pass the rows and columns of the image, and its channels if there "
            "are several."
        )
    image = Image(*map(int, shape))
    if n_features is not None and image.n_numbers != n_features:
        what = "pixels" if image.channels == 1 else "numbers"
        raise ValueError(
            f"{name}={shape!r}: an image of that shape has {image.n_numbers} {what}, but X has "
            f"{n_features} columns; pass the shape that X has."
        )
    return image


def _is_count(side: Any) -> bool:
    return isinstance(side, Integral) and not isinstance(side, bool) and int(side) > 0
