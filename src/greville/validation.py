"""What every public door checks, in one place: arguments are named, models survive errors."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .backend import Array

FLOATS = (np.float64, np.float32)  # the first is what anything else becomes
NUMBERS = (float, int, np.floating, np.integer)  # what learn_one takes for one


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


def warn(message: str) -> None:
    """A RuntimeWarning that points to the line which called into this package."""
    level, frame = 1, inspect.currentframe()
    while frame and frame.f_globals.get("__name__", "").startswith("greville."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Begin the message of an error with the argument it is about."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        message = str(error).replace("Input X", f"Input {argument}")
        raise kind(f"{argument}: {message}") from error


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


def check_switch(name: str, value: Any) -> None:
    """Raise a ValueError unless value is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: pass True or False.")


def check_rows(
    estimator: Any, X: Any, name: str, *, reset: bool, dtype: Any, **options: Any
) -> Any:
    """X as a 2-d array of finite numbers with the number of columns the estimator knows."""
    with naming(name):
        if sparse.issparse(X):
            if not options.get("accept_sparse"):
                raise ValueError(f"got a sparse matrix; pass a dense array, {name}.toarray().")
        else:
            _refuse_text(X)
        if not _READS_ALL_FRAMES and _is_unread_frame(X):
            X = _Named(X)
        return validate_data(estimator, X, reset=reset, dtype=dtype, **options)


# Before 1.9 scikit-learn finds the names of columns by a protocol that polars 2 has given up, and
# would take columns in another order without a word.
_READS_ALL_FRAMES = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


def _is_unread_frame(X: Any) -> bool:
    return (
        hasattr(X, "columns")
        and not hasattr(X, "iloc")
        and not hasattr(X, "__dataframe__")
        and all(isinstance(name, str) for name in X.columns)
    )


class _Named:
    """A frame with as much of that protocol as names need."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.shape = frame.shape

    def __len__(self) -> int:
        return len(self._frame)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self._frame, dtype)

    def __dataframe__(self) -> _Named:
        return self

    def column_names(self) -> list[str]:
        return list(self._frame.columns)


def check_one(x: Any, name: str, n: int | None, dtype: Any) -> Array:
    """x as a 1-d array of n finite numbers."""
    with naming(name):
        if sparse.issparse(x):
            raise ValueError(f"got a sparse matrix; pass a dense 1-d array, {name}.toarray()[0].")
        _refuse_text(x)
        array = np.asarray(x)
        if array.ndim != 1:
            raise ValueError(
                f"expected one row as a 1-d array, got shape {array.shape}; for several rows "
                "there are partial_fit and predict."
            )
        if n is not None and len(array) != n:
            raise ValueError(
                f"got {len(array)} numbers, but this model was started with {n}; pass as many, or "
                "call fit to start again."
            )
        return check_array(array[None], dtype=dtype, input_name=name, order="C")[0]


def check_one_target(y: Any, name: str, n: int, flat: bool, dtype: Any) -> Any:
    """y as a number or, for several outputs, as an array of them."""
    if flat and isinstance(y, NUMBERS):
        try:
            number = float(y)
        except OverflowError:
            number = float("inf")
        if number * number < largest_square(dtype):
            return number
    usual = type(y) is np.ndarray and y.dtype == dtype and y.shape == (n,) and not flat
    if usual and y.dot(y) < largest_square(dtype):
        return y
    if flat and np.ndim(y) != 0:
        raise ValueError(f"{name}: expected one number, got shape {np.shape(y)}.")
    if not flat and np.shape(y) != (n,):
        raise ValueError(
            f"{name}: expected one number for each of {n} outputs, got shape {np.shape(y)}."
        )
    if isinstance(y, int):
        y = float(min(max(y, -(10**308)), 10**308))  # what is larger does not fit into any array
    with np.errstate(over="ignore"):
        checked = check_targets([y] if flat else np.asarray(y)[None], name, 1, dtype)
    check_magnitude(name, checked)
    return checked[0]


def check_targets(Y: Any, name: str, n_rows: int, dtype: Any) -> Array:
    """Y as a finite 1-d or 2-d array of numbers with one row per sample."""
    with naming(name):
        if Y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        if sparse.issparse(Y):
            raise ValueError(f"got a sparse matrix; pass a dense array, {name}.toarray().")
        _refuse_text(Y, "A regression target is numeric; for labels use ELMClassifier.")
        if np.asarray(Y).ndim not in (1, 2):
            raise ValueError(f"expected shape (n,) or (n, n_outputs), got {np.shape(Y)}.")
        Y = check_array(Y, ensure_2d=False, dtype=dtype, input_name=name, order="C")
        if Y.ndim == 2 and Y.shape[1] == 0:
            raise ValueError(f"expected at least one output, got shape {Y.shape}.")
    check_length(name, len(Y), n_rows)
    return Y


def check_weights(sample_weight: Any, n_rows: int, dtype: Any) -> Array | None:
    """sample_weight as a 1-d array of finite numbers >= 0, or None."""
    if sample_weight is None:
        return None
    name = "sample_weight"
    with naming(name):
        if sparse.issparse(sample_weight):
            raise ValueError("got a sparse matrix; pass a dense array.")
        _refuse_text(sample_weight)
        if np.asarray(sample_weight).ndim == 0:
            sample_weight = np.full(n_rows, sample_weight)
        weights = check_array(sample_weight, ensure_2d=False, dtype=dtype, input_name=name)
        if weights.ndim != 1:
            raise ValueError(f"expected shape ({n_rows},), one weight a row, got {weights.shape}.")
        if (weights < 0).any():
            raise ValueError("negative weights cannot be learned; pass weights >= 0.")
        check_squares("the largest weight", float(weights.max()), weights.dtype)
    check_length(name, len(weights), n_rows)
    return weights


def check_magnitude(
    name: str, values: Array, weight: Array | None = None, passed: Array | None = None
) -> None:
    """Raise a ValueError if numbers are so large that sums of their squares may overflow.

    Where `values` are in units that were learned, `passed` are the numbers as they came.
    """
    limit, low, high = _largest(values.dtype), values.min(), values.max()
    if np.isnan(low) or np.isnan(high):
        raise ValueError(f"{name}: contains NaN; see what makes it so, and pass finite numbers.")
    weighted = "" if weight is None or weight.max() <= 1 else " with these sample weights"
    if weighted:
        limit /= float(np.sqrt(float(weight.max())))  # type: ignore[union-attr]
    if max(high, -low) > limit and passed is not None:
        raise ValueError(
            f"{name}: got numbers from {passed.min():.3g} to {passed.max():.3g}, which are too far "
            f"from the first rows: in the units learned from those, squares overflow in "
            f"{values.dtype}. Leave them out, or fit again with all rows."
        )
    if max(high, -low) > limit:
        raise ValueError(
            f"{name}: got numbers from {low:.3g} to {high:.3g}; beyond {limit:.1g}{weighted} their "
            f"squares overflow in {values.dtype}. Pass them in other units."
        )


def check_representable(name: str, values: Array, dtype: Any) -> None:
    """Raise a ValueError if numbers, or a little larger ones, do not exist in a dtype."""
    largest, limit = float(np.abs(values).max()), 0.1 * float(np.finfo(dtype).max)
    if largest > limit:
        raise ValueError(
            f"{name}: got numbers up to {largest:.3g}, which {np.dtype(dtype)} cannot hold; pass X "
            f"in float64, or {name} in other units."
        )


def check_squares(name: str, value: float, dtype: Any) -> None:
    """Raise a ValueError if the square of a parameter overflows or drowns everything else."""
    if value > _largest(dtype):
        raise ValueError(
            f"{name}={value!r}: in {np.dtype(dtype)} its square overflows; pass one below "
            f"{_largest(dtype):.1g}."
        )


@cache
def largest_square(dtype: Any) -> float:
    """The sum of squares up to which nothing in an array is too large."""
    return _largest(dtype) ** 2


def _largest(dtype: Any) -> float:
    """What may be squared and summed a million million times."""
    return float(1e-6 * np.sqrt(np.finfo(dtype).max))


def _refuse_text(values: Any, advice: str = "Convert it to numbers first.") -> None:
    """Raise a ValueError for text, numeric text included, and for dates."""
    try:
        array = np.asarray(values)
    except TypeError as error:  # columns of kinds that do not go together
        raise ValueError(f"expected numbers ({error}). {advice}") from error
    if array.dtype.kind in "USTMm" and array.size:
        raise ValueError(f"expected numbers, got {array.dtype} such as {array.flat[0]!r}. {advice}")
    if array.dtype.kind == "O":
        for value in array.flat:
            if isinstance(value, (str, bytes, date)):
                raise ValueError(f"expected numbers, got {value!r} among them. {advice}")


class NotEnoughMemory(MemoryError):
    """What was asked for does not fit into the memory of this machine."""


def check_memory(what: str, needed: float, advice: str) -> None:
    """Raise a NotEnoughMemory, before anything is allocated, if so many bytes are not there."""
    there = _memory()
    if needed > there:
        raise NotEnoughMemory(
            f"{what}: this takes {_in_words(needed)} of memory, and the machine has "
            f"{_in_words(there)}; {advice}"
        )


@cache
def _memory() -> float:
    """The bytes of memory that this process may use, as far as that can be known."""
    limits = [2.0**47]
    with suppress(AttributeError, OSError, ValueError):
        limits.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError), open(name) as file:
            limits.append(float(file.read()))  # "max" is no number
    return min(limits)


def _in_words(n_bytes: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes / 1e6:,.0f} MB"


def check_something_counts(weight: Array | None) -> None:
    """Raise a ValueError if every row of a fit has weight zero."""
    if weight is not None and not weight.any():
        raise ValueError("sample_weight: all weights are zero; pass one that is positive.")


def check_length(name: str, got: int, n_rows: int) -> None:
    """Raise a ValueError unless there is one of something for each row."""
    if got != n_rows:
        raise ValueError(
            f"{name}: inconsistent numbers of samples: {got} of {name} for {n_rows} rows; "
            "pass one for each row."
        )
