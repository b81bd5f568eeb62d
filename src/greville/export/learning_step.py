"""The step that learns one row, for programs in C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .. import backend
from ..anatomy import anatomy_of, root_of
from ..backend import Array
from ..solvers import Opium, OpiumLight
from .exported import table_model_of
from .sequential import number


class LearningStep(ABC):
    """What a solver has learned, as arrays that change, and the lines that learn a row."""

    description: str

    @abstractmethod
    def declare(self, writer: Any) -> tuple[str, str]:
        """Write the arrays; the names of the weights and of what is added to outputs."""

    @abstractmethod
    def lines(self, units: str) -> list[str]:
        """The body of the function that learns the targets `y`, for a call that gives units."""

    def before_reading(self) -> list[str]:
        """Lines that bring the weights up to date."""
        return []


def learning_step(model: Any) -> LearningStep:
    """The step of a fitted estimator or solver, or of a table's model.

    Raises
    ------
    ValueError
        If its solver is not one that is small enough.
    """
    table = table_model_of(model)
    estimator = model if table is None else table.settle().estimator
    solver = getattr(estimator, "solver_", estimator)
    parts = anatomy_of(estimator)
    if isinstance(solver, OpiumLight):
        return _Light(parts.weights, parts.intercept, float(solver.gain))
    if isinstance(solver, Opium) and not isinstance(solver.epsilon, str) and solver.epsilon > 0:
        root, targets = _root(estimator, solver, parts)
        offset = np.zeros_like(parts.intercept) if solver.intercept else parts.intercept
        return _Root(root, targets, offset, bool(solver.intercept))
    raise ValueError(
        f"learn=True: {type(solver).__name__} cannot learn in C; use the solver OpiumLight, or "
        "Opium with a number for epsilon, such as Opium(1e-3)."
    )


class _Light(LearningStep):
    description = "OPIUM light, in time and memory of one number for each unit and output"

    def __init__(self, weights: Array, offset: Array, gain: float) -> None:
        self.weights, self.offset, self.gain = weights, offset, gain

    def declare(self, writer: Any) -> tuple[str, str]:
        self.W = writer.array(self.weights, changes=True)
        self.added = writer.constant(self.offset)
        return self.W, self.added

    def lines(self, units: str) -> list[str]:
        M, K = self.weights.shape
        return [
            f"const REAL *h = {units};",
            f"REAL length = {number(1 / self.gain)};",
            f"for (INT j = 0; j < {M}; j++) length += h[j] * h[j];",
            f"for (INT k = 0; k < {K}; k++) {{",
            f"    REAL error = y[k] - {self.added}[k];",
            f"    for (INT j = 0; j < {M}; j++) error -= h[j] * {self.W}[j * {K} + k];",
            f"    for (INT j = 0; j < {M}; j++) {self.W}[j * {K} + k] += h[j] * error / length;",
            "}",
        ]


class _Root(LearningStep):
    """R'R = epsilon²·I + H'H and R'Z = H'Y, R triangular; rows are rotated into both.

    With an intercept the first unit is a constant, and has no epsilon.
    """

    description = "OPIUM, recursive least squares; weights are computed when they are read"

    def __init__(self, root: Array, targets: Array, offset: Array, intercept: bool) -> None:
        self.root, self.targets, self.offset, self.intercept = root, targets, offset, intercept

    def declare(self, writer: Any) -> tuple[str, str]:
        size, K = self.targets.shape
        self.R = writer.array(self.root[np.triu_indices(size)], changes=True)
        self.Z = writer.array(self.targets, changes=True)
        self.W, self.a, self.t = (writer.buffer(n) for n in (size * K, size, K))
        self.stale = f"{writer.name}_stale"
        writer.constants.append(f"static int {self.stale} = 1;")
        self.added = writer.constant(self.offset)
        if not self.intercept:
            return self.W, self.added
        return f"({self.W} + {K})", self.W  # the first unit is the constant

    def lines(self, units: str) -> list[str]:
        size, K = self.targets.shape
        first = int(self.intercept)
        R, Z, a, t = self.R, self.Z, self.a, self.t
        return [
            f"const REAL *h = {units};",
            *([f"{a}[0] = 1;"] if first else []),
            f"for (INT j = {first}; j < {size}; j++) {a}[j] = h[j - {first}];",
            f"for (INT k = 0; k < {K}; k++) {t}[k] = y[k] - {self.added}[k];",
            f"for (INT i = 0, row = 0; i < {size}; row += {size} - i, i++) {{",
            f"    if ({a}[i] == 0) continue;",
            f"    REAL *r = {R} + row - i;",
            f"    REAL length = sqrt(r[i] * r[i] + {a}[i] * {a}[i]);",
            f"    REAL c = r[i] / length, s = {a}[i] / length;",
            f"    for (INT j = i; j < {size}; j++) {{",
            f"        REAL above = r[j], below = {a}[j];",
            "        r[j] = c * above + s * below;",
            f"        {a}[j] = c * below - s * above;",
            "    }",
            f"    for (INT k = 0; k < {K}; k++) {{",
            f"        REAL above = {Z}[i * {K} + k], below = {t}[k];",
            f"        {Z}[i * {K} + k] = c * above + s * below;",
            f"        {t}[k] = c * below - s * above;",
            "    }",
            "}",
            f"{self.stale} = 1;",
        ]

    def before_reading(self) -> list[str]:
        size, K = self.targets.shape
        return [
            f"if ({self.stale}) {{",
            f"    for (INT i = {size} - 1, row = {size * (size + 1) // 2 - 1}; i >= 0;",
            f"         i--, row -= {size} - i) {{",
            f"        const REAL *r = {self.R} + row - i;",
            f"        for (INT k = 0; k < {K}; k++) {{",
            f"            REAL sum = {self.Z}[i * {K} + k];",
            f"            for (INT j = i + 1; j < {size}; j++)",
            f"                sum -= r[j] * {self.W}[j * {K} + k];",
            f"            {self.W}[i * {K} + k] = r[i] != 0 ? sum / r[i] : 0;",
            "        }",
            "    }",
            f"    {self.stale} = 0;",
            "}",
        ]


def _root(estimator: Any, solver: Any, parts: Any) -> tuple[Array, Array]:
    """R and Z over all units, and over the constant where there is an intercept.

    A root around the mean of the rows, of which n count, is that of all rows without its first row
    √n·[1, mean], whose first column is the constant.
    """
    sums = root_of(estimator)
    b = backend.get("scipy")
    R, Z = sums.backend.to_numpy(sums.R), sums.backend.to_numpy(sums.Z)
    if sums.basis is not None:  # and ε in all directions that no row has reached
        basis = sums.backend.to_numpy(sums.basis)
        R = np.vstack([R @ basis, sums.prior * (np.eye(sums.n_hidden) - basis.T @ basis)])
        Z = np.vstack([Z, np.zeros((sums.n_hidden, Z.shape[1]))])
    R, Z = R.astype(np.float64), Z.astype(np.float64) * parts.target_unit
    if sums.mean is not None:
        mean, n = sums.mean, np.sqrt(sums.mean.count)
        row, target = (sums.backend.to_numpy(A) for A in (mean.row, mean.target))
        target = target * parts.target_unit + parts.target_centre
        R = np.vstack([np.r_[n, n * row], np.c_[np.zeros(len(R)), R]])
        Z = np.vstack([n * target, Z])
    n = R.shape[1]
    both = b.triangularise(np.asfortranarray(np.hstack([R, Z])))[:n]
    return both[:, :n], both[:, n:]
