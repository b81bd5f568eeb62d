"""The step that learns one row, for programs in C."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import backend
from ..anatomy import Anatomy, anatomy_of, root_of
from ..backend import Array
from ..solvers import Opium, OpiumLight
from .program import exported_estimator
from .sequential import Writer, number


class LearningStep(NamedTuple):
    """The arrays of the weights and of what is added to outputs, and lines that change them.

    Attributes
    ----------
    weights, added : str
        Their names.
    learns : list of str
        The body of a function that learns the targets `y`.
    reads : list of str
        Lines that bring the weights up to date.
    description : str
    """

    weights: str
    added: str
    learns: list[str]
    reads: list[str]
    description: str


def learning_step(model: Any, writer: Writer, units: str) -> LearningStep:
    """The step of a fitted estimator or solver, or of a table's model; `units` is a call.

    Raises
    ------
    ValueError
        If its solver is not one that is small enough.
    """
    estimator, _ = exported_estimator(model)
    solver = getattr(estimator, "solver_", estimator)
    parts = anatomy_of(estimator)
    if isinstance(solver, OpiumLight):
        return _light(parts, float(solver.gain), writer, units)
    if isinstance(solver, Opium) and not isinstance(solver.epsilon, str) and solver.epsilon > 0:
        R, Z = _root(estimator, parts)
        offset = 0 * parts.intercept if solver.intercept else parts.intercept
        return _recursive(R, Z, offset, int(solver.intercept), writer, units)
    raise ValueError(
        f"learn=True: {type(solver).__name__} cannot learn in C; use the solver OpiumLight, or "
        "Opium with a number for epsilon, such as Opium(1e-3)."
    )


def _light(parts: Anatomy, gain: float, writer: Writer, units: str) -> LearningStep:
    M, K = parts.weights.shape
    W, added = writer.array(parts.weights, changes=True), writer.array(parts.intercept)
    learns = [
        f"const REAL *h = {units};",
        f"REAL length = {number(1 / gain)};",
        f"for (INT j = 0; j < {M}; j++) length += h[j] * h[j];",
        f"for (INT k = 0; k < {K}; k++) {{",
        f"    REAL error = y[k] - {added}[k];",
        f"    for (INT j = 0; j < {M}; j++) error -= h[j] * {W}[j * {K} + k];",
        f"    for (INT j = 0; j < {M}; j++) {W}[j * {K} + k] += h[j] * error / length;",
        "}",
    ]
    what = "OPIUM light, in time and memory of one number for each unit and output"
    return LearningStep(W, added, learns, [], what)


def _recursive(
    root: Array, targets: Array, offset: Array, n_constant: int, writer: Writer, units: str
) -> LearningStep:
    """Rotate rows into R and Z, where R'R = epsilon²·I + H'H and R'Z = H'Y, R triangular.

    With an intercept, for which `n_constant` is one, the first unit is a constant without epsilon.
    """
    size, K = targets.shape
    R = writer.array(root[np.triu_indices(size)], changes=True)
    Z, added = writer.array(targets, changes=True), writer.array(offset)
    W, a, t = (writer.buffer(n) for n in (size * K, size, K))
    stale = f"{W}_stale"
    writer.constants.append(f"static int {stale} = 1;")
    learns = [
        f"const REAL *h = {units};",
        *[f"{a}[0] = 1;"] * n_constant,
        f"for (INT j = {n_constant}; j < {size}; j++) {a}[j] = h[j - {n_constant}];",
        f"for (INT k = 0; k < {K}; k++) {t}[k] = y[k] - {added}[k];",
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
        f"{stale} = 1;",
    ]
    reads = [
        f"if ({stale}) {{",
        f"    for (INT i = {size} - 1, row = {size * (size + 1) // 2 - 1}; i >= 0;",
        f"         i--, row -= {size} - i) {{",
        f"        const REAL *r = {R} + row - i;",
        f"        for (INT k = 0; k < {K}; k++) {{",
        f"            REAL sum = {Z}[i * {K} + k];",
        f"            for (INT j = i + 1; j < {size}; j++) sum -= r[j] * {W}[j * {K} + k];",
        f"            {W}[i * {K} + k] = r[i] != 0 ? sum / r[i] : 0;",
        "        }",
        "    }",
        f"    {stale} = 0;",
        "}",
    ]
    names = (f"({W} + {K})", W) if n_constant else (W, added)
    what = "OPIUM, recursive least squares; weights are computed when they are read"
    return LearningStep(*names, learns, reads, what)


def _root(estimator: Any, parts: Anatomy) -> tuple[Array, Array]:
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
