"""Checks of arguments, with errors that name them, and models that are unchanged after an error."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .backend import Array

FLOATS = (np.float64, np.float32)  # anything else is converted to the first
Seed = int | np.random.RandomState | None  # scikit-learn's random_state
NUMBERS = (float, int, np.floating, np.integer)  # types that learn_one accepts as a number
_LARGEST_INTEGER = 10**308  # larger ones are no float

# Before 1.9, scikit-learn reads column names through a protocol that polars 2 has dropped, and
# would accept columns in another order without an error.
_READS_ALL_FRAMES = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


@contextmanager
def unchanged_on_error(*objects: Any) -> Iterator[None]:
    """Restore the attributes of `objects` if the block raises, those of each by one assignment.

    They are restored as references: code in the block replaces attributes instead of changing
    their values in place.
    """
    for o in objects:
        if hasattr(o, "leave_live"):  # a model that learns single rows in place
            o.leave_live()
    before = [dict(vars(o)) for o in objects]
    try:
        yield
    except BaseException:
        for o, attributes in zip(objects, before, strict=True):
            o.__dict__ = attributes
        raise


def warn(message: str) -> None:
    """Issue a RuntimeWarning that points to the line which called into this package."""
    level, frame = 1, inspect.currentframe()
    while frame and frame.f_globals.get("__name__", "").startswith("greville."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Prefix the message of an error in the block with the name of the argument."""
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
    requirement = "a whole number" if whole else "a number"
    limits = f"{'>=' if include_low else '>'} {low:g}"
    limits += f" and < {high:g}" if high < np.inf else ""
    raise ValueError(
        f"{name}={value!r}: it must be {requirement} {limits}; pass one in that range."
    )


def check_switch(name: str, value: Any) -> None:
    """Raise a ValueError unless value is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: pass True or False.")


def check_rows(
    estimator: Any, X: Any, name: str, *, reset: bool, dtype: Any, **options: Any
) -> Any:
    """X as a 2-d array of finite numbers with the number of columns the estimator knows."""
    with naming(name):
        if not (sparse.issparse(X) and options.get("accept_sparse")):
            _refuse_sparse_and_text(X, name)
        named = hasattr(X, "columns") and all(isinstance(column, str) for column in X.columns)
        if named and not (_READS_ALL_FRAMES or hasattr(X, "iloc") or hasattr(X, "__dataframe__")):
            raise ValueError(
                f"scikit-learn {sklearn.__version__} cannot read the column names of this frame; "
                f"install scikit-learn 1.9, or pass {name}.to_pandas()."
            )
        try:
            return validate_data(estimator, X, reset=reset, dtype=dtype, **options)
        except ValueError as error:
            problem = str(error).partition("\n")[0]
            if "contains NaN" not in problem:
                raise
            table = "TableClassifier" if is_classifier(estimator) else "TableRegressor"
            raise ValueError(
                f"{problem} Missing values are not numbers: pass the table to greville.{table}, "
                "which accepts them, or fill them first, as in make_pipeline(SimpleImputer(), "
                f"{type(estimator).__name__}()) of scikit-learn."
            ) from error


def check_tensor_rows(estimator: Any, X: Any, name: str, *, reset: bool) -> Any:
    """A tensor on a device as a 2-d one of floats with as many columns as the estimator knows.

    Its numbers are not looked at: that would make the program wait for the device.
    """
    if X.ndim != 2:
        raise ValueError(
            f"{name}: expected a 2-d tensor, (n_samples, n_features), got shape {tuple(X.shape)}; "
            f"for one row pass {name}[None]."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"{name}: got shape {tuple(X.shape)}; pass at least one row and column.")
    n = X.shape[1]
    if not reset and n != estimator.n_features_in_:
        raise ValueError(
            f"{name} has {n} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    if reset:
        estimator.n_features_in_ = n
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    return X if X.is_floating_point() else X.double() if X.device.type != "mps" else X.float()


def check_tensor_targets(Y: Any, name: str, n_rows: int) -> Any:
    """A tensor on a device, if it has one row of targets for each of n rows."""
    if Y.ndim not in (1, 2) or (Y.ndim == 2 and Y.shape[1] == 0):
        raise ValueError(f"{name}: expected shape (n,) or (n, n_outputs), got {tuple(Y.shape)}.")
    check_length(name, Y.shape[0], n_rows)
    return Y


def check_one(x: Any, name: str, n: int | None, dtype: Any) -> Array:
    """x as a 1-d array of n finite numbers."""
    with naming(name):
        if isinstance(x, Mapping):
            raise ValueError(
                "expected one row as a 1-d array of numbers, got a dict; TableRegressor and "
                "TableClassifier take dicts."
            )
        _refuse_sparse_and_text(x, name)
        array = np.asarray(x)
        if array.ndim != 1:
            raise ValueError(
                f"expected one row as a 1-d array, got shape {array.shape}; for several rows "
                "use partial_fit and predict."
            )
        if n is not None and len(array) != n:
            raise ValueError(
                f"got {len(array)} numbers, but this model was started with {n}; pass as many, or "
                "call fit to start again."
            )
        return check_array(array[None], dtype=dtype, input_name=name, order="C")[0]


def check_one_target(y: Any, name: str, n: int, flat: bool, dtype: Any) -> Any:
    """y as a number or, for several outputs, as an array of them."""
    if isinstance(y, int):
        y = min(max(y, -_LARGEST_INTEGER), _LARGEST_INTEGER)
    if flat and isinstance(y, NUMBERS):
        y = float(y)
        if y * y < largest_square(dtype):
            return y
    usual = type(y) is np.ndarray and y.dtype == dtype and y.shape == (n,) and not flat
    if usual and y.dot(y) < largest_square(dtype):
        return y
    if flat and np.ndim(y) != 0:
        raise ValueError(f"{name}: expected one number, got shape {np.shape(y)}.")
    if not flat and np.shape(y) != (n,):
        raise ValueError(
            f"{name}: expected one number for each of {n} outputs, got shape {np.shape(y)}."
        )
    with np.errstate(over="ignore"):
        checked = check_targets([y] if flat else np.asarray(y)[None], name, 1, dtype)
    check_magnitude(name, checked)
    return checked[0]


def check_targets(
    Y: Any,
    name: str,
    n_rows: int,
    dtype: Any,
    classifier: str = "a classifier, such as ELMClassifier",
) -> Array:
    """Y as a finite 1-d or 2-d array of numbers with one row per sample.

    `classifier` is what to use for labels.
    """
    with naming(name):
        if Y is None:
            raise ValueError("requires y to be passed, but the target y is None.")
        advice = f"A regression target is numeric; for labels use {classifier}."
        _refuse_sparse_and_text(Y, name, advice)
        if np.asarray(Y).ndim not in (1, 2):
            raise ValueError(f"expected shape (n,) or (n, n_outputs), got {np.shape(Y)}.")
        try:
            Y = check_array(Y, ensure_2d=False, dtype=dtype, input_name=name, order="C")
        except ValueError as error:
            if f"Input {name} contains" not in str(error):
                raise
            raise ValueError(f"{str(error).partition(chr(10))[0]} Leave such rows out.") from error
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
        _refuse_sparse_and_text(sample_weight, name)
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

    Where `values` are in learned units, `passed` are the same numbers as they were passed.
    """
    limit, low, high = _largest_number(values.dtype), values.min(), values.max()
    if np.isnan(low) or np.isnan(high):
        raise ValueError(f"{name}: contains NaN; pass finite numbers.")
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


def check_size(name: str, size: float, dtype: Any, weight: Array | None) -> None:
    """`check_magnitude` for numbers of which the largest absolute value is known."""
    if np.isnan(size):
        raise ValueError(f"{name}: contains NaN or infinity; leave such rows out.")
    if size == np.inf:
        raise ValueError(f"{name}: contains infinity; leave such rows out, or clip them.")
    check_magnitude(name, np.array([size], dtype), weight)


def check_representable(name: str, values: Array, dtype: Any) -> None:
    """Raise a ValueError if numbers, or ones ten times as large, overflow in a dtype."""
    largest, limit = float(np.abs(values).max()), 0.1 * float(np.finfo(dtype).max)
    if largest > limit:
        raise ValueError(
            f"{name}: got numbers up to {largest:.3g}, which {np.dtype(dtype)} cannot hold; pass X "
            f"in float64, or {name} in other units."
        )


def check_squares(name: str, value: float, dtype: Any) -> None:
    """Raise a ValueError if sums of squares of a parameter may overflow."""
    if value > _largest_number(dtype):
        raise ValueError(
            f"{name}={value!r}: in {np.dtype(dtype)} its square overflows; pass one below "
            f"{_largest_number(dtype):.1g}."
        )


@cache
def largest_square(dtype: Any) -> float:
    """Return a limit: an array whose sum of squares is below has no number that is too large."""
    return _largest_number(dtype) ** 2


def _largest_number(dtype: Any) -> float:
    """The largest number of which 10^12 squares can be summed up."""
    return float(1e-6 * np.sqrt(np.finfo(dtype).max))


def _refuse_sparse_and_text(
    values: Any, name: str, advice: str = "Convert it to numbers first."
) -> None:
    """Raise a ValueError for sparse matrices, for text, numeric text included, and for dates."""
    if sparse.issparse(values):
        raise ValueError(f"got a sparse matrix; pass a dense array, {name}.toarray().")
    try:
        array = np.asarray(values)
    except TypeError as error:  # columns of types without a common one
        raise ValueError(f"expected numbers ({error}). {advice}") from error
    if array.dtype.kind in "USTMm" and array.size:
        what = "times" if array.dtype.kind in "Mm" else "text"
        raise ValueError(f"expected numbers, got {what} such as {str(array.flat[0])!r}. {advice}")
    if array.dtype.kind == "O":
        for value in array.flat:
            if isinstance(value, (str, bytes, date)):
                raise ValueError(f"expected numbers, got {value!r} among them. {advice}")


class NotEnoughMemory(MemoryError):
    """The requested computation does not fit into the memory of this machine."""


def check_memory(what: str, needed: float, advice: str) -> None:
    """Raise NotEnoughMemory, before anything is allocated, if `needed` bytes are not available."""
    available = _memory()
    if needed > available:
        raise NotEnoughMemory(
            f"{what}: this takes {readable(needed)} of memory, and the machine has "
            f"{readable(available)}; {advice}"
        )


@cache
def _memory() -> float:
    """The bytes of memory that this process may use, as far as the system reports it."""
    limits = [2.0**47]
    with suppress(AttributeError, OSError, ValueError):
        limits.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError), open(name, encoding="ascii") as file:
            limits.append(float(file.read()))  # "max" is no number
    return min(limits)


def readable(n_bytes: float) -> str:
    """A number of bytes, as people say it."""
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes / 1e6:,.0f} MB"


def check_something_counts(weight: Array | None) -> None:
    """Raise a ValueError if every row of a fit has weight zero."""
    if weight is not None and not weight.any():
        raise ValueError("sample_weight: all weights are zero; pass one that is positive.")


def check_length(name: str, got: int, n_rows: int) -> None:
    """Raise a ValueError unless `got`, the length of an argument, is the number of rows."""
    if got != n_rows:
        raise ValueError(
            f"{name}: inconsistent numbers of samples: {got} of {name} for {n_rows} rows; "
            "pass one for each row."
        )
