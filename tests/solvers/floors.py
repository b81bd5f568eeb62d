"""What `DynamicOpium` adds to θ⁻¹ and when, as seen from outside: from `theta_` and `psi_`."""

from functools import cache
from typing import NamedTuple

import numpy as np

from greville import DynamicOpium


class Floor(NamedTuple):
    """Every `period` rows, share·floor²·I is added to θ⁻¹, and that times pull·W to ψ'."""

    period: int
    share: float
    pull: float


def steps(alpha, M, n, floor=1.0, seed=0):
    """For each of n rows: what is added to θ⁻¹ and ψ beside eqs. (29) and (30), and W before."""
    rng, keep = np.random.default_rng(seed), 2 - alpha
    model = DynamicOpium(alpha, 1.0, floor)
    precision, psi = np.eye(M) / alpha, np.zeros(M)
    for h, y in zip(rng.normal(size=(n, M)), rng.normal(size=n), strict=True):
        model.partial_fit(h[None], [y])
        paper_precision, paper_psi = keep * precision + np.outer(h, h), keep * psi + y * h
        precision = np.linalg.inv(alpha * model.theta_)
        psi = model.psi_ / alpha
        W = np.linalg.solve(paper_precision, paper_psi)
        yield precision - paper_precision, psi - paper_psi, W


@cache
def observed(alpha, M):
    """The floor of a model with this alpha and so many units."""
    if alpha == 1:
        return Floor(1 << 30, 0.0, 0.0)
    for k, (more, pulled, W) in enumerate(steps(alpha, M, 100_000), start=1):
        if np.abs(more).max() > 1e-6:
            share = float(np.trace(more)) / M
            return Floor(k, share, float(pulled @ W / (share * W @ W)))
    raise AssertionError("there is no floor")
