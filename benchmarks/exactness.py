"""Differences of the weights from those of an SVD, and of prequential records from a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from greville import DynamicOpium, Greville, Opium, OpiumLight, RandomLayer

from .measure import Array, mnist, relative_error


def run() -> None:
    opium_on_mnist()
    greville_after_every_row()
    records()


def opium_on_mnist() -> None:
    """1000 hidden units, 10,000 rows, epsilon 1e-3, against the SVD of [epsilon·I; H]."""
    X, y, _, _ = mnist(np.float64)
    X, Y = X[:10_000], np.eye(10)[y[:10_000]]
    H = RandomLayer(1000, random_state=0).fit_transform(X)
    print("Opium(1e-3) on MNIST activations, M = 1000: relative error of the weights against SVD")
    print(f"{'rows':>8}{'chunks':>8}{'float64':>10}{'float32':>10}")
    wants = {n: _svd(H[:n], Y[:n], 1e-3) for n in (2_000, 10_000)}
    single = H.astype(np.float32)
    wants32 = {n: _svd(single[:n].astype(np.float64), Y[:n], 1e-3) for n in wants}
    for n, length in ((2_000, 1), (10_000, 64), (10_000, 1000), (10_000, 10_000)):
        errors = []
        for rows, want in ((H, wants[n]), (single, wants32[n])):
            model = Opium(1e-3)
            for start in range(0, n, length):
                stop = min(n, start + length)
                model.partial_fit(rows[start:stop], Y[start:stop])
            errors.append(relative_error(model.coef_.T, want))
        print(f"{n:8}{length:8}{errors[0]:10.1e}{errors[1]:10.1e}")
    printed = [
        relative_error(_printed(rows[:2_000], Y[:2_000].astype(rows.dtype), 1e-3), want)
        for rows, want in ((H, wants[2_000]), (single, wants32[2_000]))
    ]
    print(f"{2_000:8}{1:8}{printed[0]:10.1e}{printed[1]:10.1e}   the recursion as printed")


def greville_after_every_row() -> None:
    rng = np.random.default_rng(0)
    M, n = 200, 600
    H, Y = rng.normal(size=(n, M)), rng.normal(size=(n, 3))
    for k in rng.choice(np.arange(20, n), size=50, replace=False):
        H[k] = rng.normal(size=12) @ H[rng.choice(k, size=12)]
    model, worst = Greville(), 0.0
    for k in range(n):
        model.partial_fit(H[k : k + 1], Y[k : k + 1])
        worst = max(worst, relative_error(model.coef_.T, np.linalg.pinv(H[: k + 1]) @ Y[: k + 1]))
    print(f"Greville() against pinv after every one of {n} rows, M = {M}, 50 dependent rows:")
    print(f"  worst relative error {worst:.1e}")


def records() -> None:
    rng = np.random.default_rng(0)
    H, Y = np.tanh(rng.normal(size=(1500, 100))), rng.normal(size=(1500, 2))
    print("prequential against the loop of predict and partial_fit, 1500 rows, M = 100:")
    for solver in (Greville(), Opium(), OpiumLight(), DynamicOpium(1.003), DynamicOpium(1.03)):
        record = type(solver)(**solver.get_params()).prequential(H, Y)
        print(f"  {solver!s:45}{relative_error(record, _loop(solver, H, Y)):10.1e}")


def _loop(solver: Any, H: Array, Y: Array) -> Array:
    predicted = np.zeros_like(Y)
    for k in range(len(H)):
        if k:
            predicted[k] = solver.predict(H[k : k + 1])[0]
        solver.partial_fit(H[k : k + 1], Y[k : k + 1])
    return predicted


def _printed(H: Array, Y: Array, epsilon: float) -> Array:
    """Eqs. (12), (15) and (16) of the paper, in the dtype of H."""
    theta = np.eye(H.shape[1], dtype=H.dtype) / H.dtype.type(epsilon**2)
    W = np.zeros((H.shape[1], Y.shape[1]), H.dtype)
    with np.errstate(all="ignore"):
        for a, y in zip(H, Y, strict=True):
            theta_a = theta @ a
            b = theta_a / (1 + a @ theta_a)
            W += np.outer(b, y - a @ W)
            theta -= np.outer(theta_a, b)
    return W


def _svd(H: Array, Y: Array, epsilon: float) -> Array:
    M = H.shape[1]
    U, s, Vt = np.linalg.svd(np.vstack([epsilon * np.eye(M), H]), full_matrices=False)
    return (Vt.T / s) @ (U.T @ np.vstack([np.zeros((M, Y.shape[1])), Y]))
