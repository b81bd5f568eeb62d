"""What the errors of a forecast mean, in words."""

from __future__ import annotations

from math import isinf

# Errors that differ by less than this part are as good as equal.
_EQUAL = 0.015


def verdict(errors: dict[str, float], n: int, burn_in: int) -> str:
    """A sentence or two about mean absolute errors.

    Parameters
    ----------
    errors : dict
        Those of "greville", "persistence" and "linear".
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
            "Too short to say how good it is: errors count from sample "
            f"{burn_in + 1} on, and there is none."
        )
    if max(errors.values()) == 0:
        return "Nothing to predict: the series does not change."
    own = errors["greville"]
    ratios = {name: _ratio(own, errors[name]) for name in ("persistence", "linear")}
    names = {"persistence": "persistence", "linear": "a linear predictor"}
    compared = [
        _compared(ratio, names[name], own, errors[name], with_own=name == "persistence")
        for name, ratio in ratios.items()
    ]
    sentence = f"The mean absolute error is {compared[0]} and {compared[1]}."
    hardest = max(ratios, key=lambda name: ratios[name])
    if ratios[hardest] < 1 - _EQUAL:
        return sentence
    simple = {"persistence": "Repeating the last value", "linear": "A linear predictor"}[hardest]
    return f"{sentence} {simple} is {'as good' if ratios[hardest] <= 1 + _EQUAL else 'better'}."


def _ratio(error: float, other: float) -> float:
    return error / other if other > 0 else 1.0 if error == 0 else float("inf")


def _compared(ratio: float, name: str, own: float, other: float, with_own: bool) -> str:
    if abs(ratio - 1) <= _EQUAL:
        return f"as large as that of {name}"
    numbers = f"({f'{own:.3g} against ' if with_own else ''}{other:.3g})"
    if ratio < 1:
        return f"{100 * (1 - ratio):.0f} % smaller than that of {name} {numbers}"
    if ratio < 2:
        return f"{100 * (ratio - 1):.0f} % larger than that of {name} {numbers}"
    if isinf(ratio):
        return f"{own:.3g}, while that of {name} is zero,"
    return f"{ratio:.2g} times that of {name} {numbers}"
