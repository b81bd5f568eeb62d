"""What every public door checks, in one place: arguments are named, models survive errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .linalg import Array

FLOATS = (np.float64, np.float32)  # the first is what anything else becomes


@contextmanager
def unchanged_on_error(*objects: Any) -> Iterator[None]:
    """Put the attributes of `objects` back as they were if the block does not run to its end."""
    before = [dict(vars(o)) for o in objects]
    try:
        yield
    except BaseException:
        for o, attributes in zip(objects, before, strict=True):
            vars(o).clear()
            vars(o).update(attributes)
        raise


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Begin the message of any ValueError or TypeError with the argument it is about."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{argument}: {error}") from error


def check_number(
    name: str,
    value: Any,
    *,
    low: float,
    high: float = np.inf,
    include_low: bool = True,
    whole: bool = False,
) -> None:
    """Raise a ValueError unless value is a number in [low, high), or (low, high)."""
    kind = Integral if whole else Real
    number = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if number and (low <= value if include_low else low < value) and value < high:
        return
    wanted = "a whole number" if whole else "a number"
    limits = f"{'>=' if include_low else '>'} {low:g}"
    limits += f" and < {high:g}" if high < np.inf else ""
    raise ValueError(f"{name}={value!r}: it must be {wanted} {limits}; pass one in that range.")


def check_rows(
    estimator: Any, X: Any, name: str, *, reset: bool, dtype: Any, **options: Any
) -> Any:
    """X as a 2-d array of finite numbers with the number of columns the estimator knows."""
    with naming(name):
        return validate_data(estimator, X, reset=reset, dtype=dtype, **options)


def check_targets(Y: Any, name: str, n_rows: int, dtype: Any) -> Array:
    """Y as a finite 1-d or 2-d array of numbers with one row per sample."""
    with naming(name):
        if Y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        try:
            Y = check_array(
                Y, ensure_2d=False, dtype=dtype, input_name=name, estimator=None, order="C"
            )
        except (TypeError, ValueError) as error:
            if "could not convert" in str(error) or isinstance(error, TypeError):
                raise ValueError(
                    f"expected numbers, got something else ({error}). A regression target is "
                    "numeric; for labels use ELMClassifier."
                ) from error
            raise
        if Y.ndim not in (1, 2) or (Y.ndim == 2 and Y.shape[1] == 0):
            raise ValueError(f"expected shape (n,) or (n, n_outputs), got {Y.shape}.")
    _check_length(name, len(Y), n_rows)
    return Y


def check_weights(sample_weight: Any, n_rows: int, dtype: Any) -> Array | None:
    """sample_weight as a 1-d array of finite numbers >= 0, or None."""
    if sample_weight is None:
        return None
    name = "sample_weight"
    with naming(name):
        if isinstance(sample_weight, Real):
            sample_weight = np.full(n_rows, sample_weight)
        weights = check_array(sample_weight, ensure_2d=False, dtype=dtype, input_name=name)
        if weights.ndim != 1:
            raise ValueError(f"expected shape ({n_rows},), one weight a row, got {weights.shape}.")
        if (weights < 0).any():
            raise ValueError("negative weights cannot be learned; pass weights >= 0.")
    _check_length(name, len(weights), n_rows)
    return weights


def check_magnitude(name: str, values: Array, weight: Array | None = None) -> None:
    """Raise a ValueError if numbers are so large that sums of their squares may overflow."""
    limit = 1e-6 * np.sqrt(np.finfo(values.dtype).max)
    if weight is not None:
        limit /= max(1.0, np.sqrt(weight.max()))
    if not (values.max() <= limit and values.min() >= -limit):  # nan compares false
        raise ValueError(
            f"{name}: got numbers from {values.min():.3g} to {values.max():.3g}; beyond "
            f"{limit:.1g} their squares overflow in {values.dtype}. Pass them in other units."
        )


def check_something_counts(weight: Array | None) -> None:
    """Raise a ValueError if every row of a fit has weight zero."""
    if weight is not None and not weight.any():
        raise ValueError("sample_weight: all weights are zero; pass one that is positive.")


def _check_length(name: str, got: int, n_rows: int) -> None:
    if got != n_rows:
        raise ValueError(
            f"{name}: inconsistent numbers of samples: {got} of {name} for {n_rows} rows; "
            "pass one for each row."
        )
