"""What a case returns, as JSON: numbers to six digits, text without times, paths and versions."""

import math
import re
from collections.abc import Mapping
from numbers import Integral, Real

import numpy as np

DIGITS = 6
# Of numbers in one list. A case takes a few numbers and a norm of a larger array: see `few`.
LONGEST = 16
# What is smaller counts as zero: it is the rounding of a sum of numbers of order one.
TINY = 1e-9


def plain(value):
    """The value as JSON has it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return steady(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return rounded(float(value))
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, BaseException):
        return {"type": type(value).__name__, "message": steady(str(value))}
    if isinstance(value, np.ndarray):
        value = value.tolist()
        if not isinstance(value, list):
            return plain(value)
    if isinstance(value, (list, tuple)):
        if len(value) > LONGEST and all(isinstance(each, Real) for each in value):
            raise TypeError(f"{len(value)} numbers are too many to record")
        return [plain(each) for each in value]
    return f"<{type(value).__name__}>"


def rounded(number, digits=DIGITS):
    """The number to so many digits; what JSON cannot say as text."""
    if not math.isfinite(number):
        return str(number)
    return 0.0 if abs(number) < TINY else float(f"{number:.{digits - 1}e}")


def few(array, n=4):
    """Some numbers of an array, evenly spread, with its dtype, shape and norm."""
    array = np.asarray(array)
    shape = " x ".join(map(str, array.shape))
    if array.dtype.kind not in "fiub":
        return {"of": shape, "some": _spread(array, n)}
    norm = float(np.sqrt(np.sum(np.asarray(array, dtype=float) ** 2)))
    return {"of": f"{shape} {array.dtype}", "some": _spread(array, n), "norm": norm}


def _spread(array, n):
    flat = np.ravel(array)
    places = np.unique(np.linspace(0, len(flat) - 1, min(n, len(flat))).round().astype(int))
    return flat[places].tolist()


def about(number):
    """A number of which three digits are compared: where rounding changes the others."""
    return {"about": rounded(float(number), 4)}


def attempt(function, *arguments, **options):
    """What a call returns, or the error that it raises."""
    try:
        return function(*arguments, **options)
    except Exception as error:
        return error


_CHANGING = [
    (r"\b\d[\d,.]*e?-?\d* ?(ms|µs|s|seconds|minutes|min)\b(?! ago)", "<time>"),
    (r"\b[\d,.]+ (rows|lines|samples)/s", r"<rate> \1/s"),
    (r"\b\d[\d,.]* ?(bytes|kB|KB|MB|GB|KiB|MiB|GiB)\b", "<size>"),
    (r"\bgreville \d+\.\d+\.\d+\S*", "greville <version>"),
    (r"127\.0\.0\.1:\d+", "<address>"),
]


def steady(text):
    """The text with placeholders for what is different in every run."""
    for pattern, instead in _CHANGING:
        text = re.sub(pattern, instead, text)
    return text


def without_paths(value, *folders):
    """The value with a placeholder for the folder in which a case ran."""
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(folder, "<folder>")
        return value
    if isinstance(value, list):
        return [without_paths(each, *folders) for each in value]
    if isinstance(value, dict):
        return {key: without_paths(each, *folders) for key, each in value.items()}
    return value
