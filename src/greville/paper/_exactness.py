"""The claim of section 2: the weights are those of a pseudoinverse by SVD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from .. import Greville, Opium, OpiumLight, RandomLayer
from ..backend import Array
from ..datasets import ecg as ecg_signal
from ..progress import Progress, silent
from ._workers import SEED, seed_range
from .printed import printed_opium
from .result import Block, Result, Table, Text, scientific

WIDTH, ROWS, CHUNK, EPSILON = 100, 400, 64, 1e-3
SETS = {"random": "random inputs", "ecg": "the electrocardiogram"}


def exactness(*, seed: int = SEED, progress: Progress = silent) -> ExactnessResult:
    """Weights of every method against ``numpy.linalg.pinv``, on 400 rows of 100 hidden units.

    Parameters
    ----------
    seed : int, default=22
    progress : callable, optional
        Called as the work goes on; see `greville.progress`.

    Returns
    -------
    ExactnessResult

    Examples
    --------
    >>> from greville import paper
    >>> difference = paper.exactness().numbers["difference"]
    >>> difference["random"]["opium_by_one"] < 1e-12
    True
    """
    seed_range(seed, 1)
    numbers: dict[str, Any] = {
        "seed": seed,
        "units": WIDTH,
        "rows": ROWS,
        "epsilon": EPSILON,
        "condition": {},
        "difference": {},
    }
    one_thread = threadpool_limits(1)  # NumPy's BLAS is slower with several threads here
    with progress("exactness", len(SETS) * len(METHODS)) as advance, one_thread:
        for name in SETS:
            H, y = _rows(name, seed)
            numbers["condition"][name] = float(np.linalg.cond(_with_prior(H)))
            numbers["difference"][name] = {}
            for method, (_, measure) in METHODS.items():
                numbers["difference"][name][method] = measure(H, y)
                advance(1)
    return ExactnessResult(numbers)


def _rows(name: str, seed: int) -> tuple[Array, Array]:
    if name == "ecg":
        X, y = ecg_signal(ROWS)
    else:
        rng = np.random.RandomState(seed)
        X = rng.normal(size=(ROWS, 10))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=ROWS)
    return RandomLayer(WIDTH, random_state=seed).fit_transform(X), y


def _greville(H: Array, y: Array) -> float:
    """Return Greville's largest difference after the first rows and every tenth later row."""
    model, worst = Greville(), 0.0
    for k in range(1, len(H) + 1):
        model.partial_fit(H[k - 1 : k], y[k - 1 : k])
        if k > 1.2 * WIDTH and k % 10:
            continue
        worst = max(worst, _difference(model.coef_, np.linalg.pinv(H[:k]) @ y[:k]))
    return worst


def _after_learning(solver: Any, length: int) -> Callable[[Array, Array], float]:
    def measure(H: Array, y: Array) -> float:
        model = clone(solver)
        for start in range(0, len(H), length):
            model.partial_fit(H[start : start + length], y[start : start + length])
        return _difference(model.coef_, _pinv(H, y))

    return measure


def _printed(H: Array, y: Array) -> float:
    return _difference(printed_opium(H, y, EPSILON)[0], _pinv(H, y))


def _pinv(H: Array, y: Array) -> Array:
    """Eq. (4) for rows that begin with A_0 = εI and Y_0 = 0, eqs. (23)-(24)."""
    return np.linalg.pinv(_with_prior(H)) @ np.concatenate([np.zeros(H.shape[1]), y])


def _with_prior(H: Array) -> Array:
    return np.vstack([EPSILON * np.eye(H.shape[1]), H])


def _difference(got: Array, want: Array) -> float:
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


METHODS: dict[str, tuple[str, Callable[[Array, Array], float]]] = {
    "greville": ("Greville's method, eqs. (8)-(22), the worst after any row", _greville),
    "opium_by_one": ("OPIUM, row by row", _after_learning(Opium(EPSILON), 1)),
    "opium_in_chunks": (f"OPIUM, in chunks of {CHUNK}", _after_learning(Opium(EPSILON), CHUNK)),
    "opium_at_once": ("OPIUM, all rows at once", _after_learning(Opium(EPSILON), ROWS)),
    "printed": ("the recursion as printed, eqs. (12), (15), (16)", _printed),
    "light": ("OPIUM light, eqs. (27)-(28)", _after_learning(OpiumLight(), 1)),
}


class ExactnessResult(Result):
    """The result of `exactness`."""

    name = "exactness"
    title = "The same weights as the pseudoinverse (section 2)"

    def summary(self) -> str:
        largest = max(
            self.numbers["difference"][name][method]
            for name in SETS
            for method in ("greville", "opium_by_one", "opium_in_chunks", "opium_at_once")
        )
        return (
            "Exactness: the weights of OPIUM and of Greville's method differ from those of a "
            f"singular value decomposition by at most {scientific(largest)}, relatively."
        )

    def blocks(self) -> list[Block]:
        n = self.numbers
        return [
            Text(
                "Section 2 says that Greville's method and OPIUM give the weights that a singular "
                f"value decomposition gives. The table compares {WIDTH} weights with those of "
                f"`numpy.linalg.pinv` after {ROWS} rows. For OPIUM the rows are stacked below the "
                "εI of eq. (23), with ε = 0.001. For Greville's method the number is the worst "
                f"after any of the first {int(1.2 * WIDTH)} rows and after every tenth row from "
                "there on. Rounding alone can change the weights by the condition number times "
                "1e-16. OPIUM light is an approximation and is not expected to be equal."
            ),
            Table(
                "Relative difference of the weights from numpy.linalg.pinv",
                [
                    "method",
                    *(
                        f"{what} (condition number {scientific(n['condition'][name])})"
                        for name, what in SETS.items()
                    ),
                ],
                [
                    [what, *(scientific(n["difference"][name][method]) for name in SETS)]
                    for method, (what, _) in METHODS.items()
                ],
            ),
        ]

    def figures(self) -> dict[str, Any]:
        return {}
