"""What the errors of a forecast mean, in words."""

from __future__ import annotations

from math import isinf

# The simple predictors, in the order in which they are shown.
SIMPLE = ("persistence", "seasonal", "linear")

_NAMES = {
    "persistence": ("persistence", "Repeating the last value"),
    "seasonal": ("repeating the last season", "Repeating the last season"),
    "linear": ("a linear predictor", "A linear predictor"),
}

# Errors that differ by less than this part are as good as equal.
_EQUAL = 0.015


def verdict(errors: dict[str, float], n: int, burn_in: int) -> str:
    """A sentence or two about mean absolute errors.

    Parameters
    ----------
    errors : dict
        Those of "greville", "persistence", "linear" and, where a season was found, "seasonal".
    n : int
        The samples that they are means of.
    burn_in : int
        The number of the first of them, counted from 0.

    Examples
    --------
    >>> print(verdict({"greville": 0.84, "persistence": 0.92, "linear": 0.84}, 500, 40))
    The mean absolute error is 9 % smaller than that of persistence (0.84 against 0.92) and as \
large as that of a linear predictor. A linear predictor is as good.
    """
    if n == 0:
        return (
            "The series is too short to measure the error, which counts from sample "
            f"{burn_in + 1} on."
        )
    if max(errors.values()) == 0:
        return "Nothing to predict: the series does not change."
    own = errors["greville"]
    others = [name for name in SIMPLE if name != "seasonal" or _has_season(errors)]
    ratios = {name: _ratio(own, errors[name]) for name in others}
    compared = [
        _compared(ratio, _NAMES[name][0], own, errors[name], with_own=name == "persistence")
        for name, ratio in ratios.items()
    ]
    listed = f"{', '.join(compared[:-1])} and {compared[-1]}"
    sentence = f"The mean absolute error is {listed}."
    hardest = max(ratios, key=lambda name: ratios[name])
    if ratios[hardest] < 1 - _EQUAL:
        return sentence
    better = "as good" if ratios[hardest] <= 1 + _EQUAL else "better"
    return f"{sentence} {_NAMES[hardest][1]} is {better}."


def _has_season(errors: dict[str, float]) -> bool:
    """Tell whether there is a season: without one, its errors are those of persistence."""
    return errors.get("seasonal", errors["persistence"]) != errors["persistence"]


def _ratio(error: float, other: float) -> float:
    return error / other if other > 0 else 1.0 if error == 0 else float("inf")


def _compared(ratio: float, name: str, own: float, other: float, with_own: bool) -> str:
    if abs(ratio - 1) <= _EQUAL:
        return f"as large as that of {name}"
    numbers = f"({f'{_short(own)} against ' if with_own else ''}{_short(other)})"
    if ratio < 1:
        return f"{100 * (1 - ratio):.0f} % smaller than that of {name} {numbers}"
    if ratio < 2:
        return f"{100 * (ratio - 1):.0f} % larger than that of {name} {numbers}"
    if isinf(ratio):
        return f"{_short(own)}, while that of {name} is zero,"
    return f"{ratio:.2g} times that of {name} {numbers}"


def _short(error: float) -> str:
    return f"{error:,.0f}" if 1000 <= error < 1e9 else f"{error:.3g}"
