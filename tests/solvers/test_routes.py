"""Gram matrix or QR: the same weights, whatever the conditioning, the dtype and the scale."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from greville import Batch, DynamicOpium, Greville, Opium, linalg
from greville.solvers import _gram, _ridge

from .. import oracles
from ..oracles import relative_error
from ..problems import learned, problem
from .floors import observed


def tune(monkeypatch, backend, **numbers):
    """Let routes change at other sizes."""
    monkeypatch.setattr(backend, "tuning", replace(backend.tuning, **numbers))


@pytest.mark.everywhere
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-6])
def test_opium_on_ill_conditioned_rows(rng, epsilon, condition):
    H, _, Y = oracles.known_answer(rng, 120, 40, 2, condition)
    want = Batch(epsilon).fit(H, Y).coef_
    oracle = oracles.pseudoinverse_weights(H, Y, epsilon)
    effective = min(condition, 1 / epsilon)
    assert relative_error(want.T, oracle) < 1e-13 * effective
    by_gram = min(5e-9, 10 * np.finfo(float).eps * effective**2)  # what the Gram route may cost
    for cuts in ([], [60], range(0, 120, 7), range(120)):
        model = learned(Opium(epsilon), H, Y, cuts)
        assert relative_error(model.coef_.T, oracle) < max(by_gram, 1e-13 * effective)
    few = learned(Opium(epsilon), H[:30], Y[:30], [10, 20])
    oracle = oracles.pseudoinverse_weights(H[:30], Y[:30], epsilon)
    assert relative_error(few.coef_.T, oracle) < max(1e-9, 1e-13 * effective)


@pytest.mark.everywhere
def test_huge_and_tiny_numbers_neither_overflow_nor_vanish(rng):
    H, Y = problem(rng, 400, 6)
    for scale in (1e-180, 1e-100, 1e100, 1e140):
        for solver in (Greville(), Opium(0), Batch()):
            got = clone(solver).fit(scale * H, Y).coef_ * scale
            assert relative_error(got.T, oracles.pseudoinverse_weights(H, Y)) < 1e-9
        got = learned(Opium(1e-3 * scale), scale * H, Y, [30, 200]).coef_ * scale
        assert relative_error(got.T, oracles.pseudoinverse_weights(H, Y, 1e-3)) < 1e-9


@pytest.mark.host
@pytest.mark.parametrize(("n", "tall"), [(1000, True), (400, False), (40, False)])
def test_tall_chunks_go_through_the_gram_and_short_ones_do_not(rng, monkeypatch, n, tall):
    calls, real = [], _gram.sums_by_gram
    monkeypatch.setattr(_gram, "sums_by_gram", lambda *args: calls.append(1) or real(*args))
    H, Y = problem(rng, 1000, 100)
    model = Opium().partial_fit(H, Y)
    calls.clear()
    model.partial_fit(H[:n], Y[:n]).predict(H[:1])
    assert bool(calls) == tall


def test_a_large_prior_keeps_the_gram_route_for_few_rows(rng):
    H, Y = problem(rng, 150, 400)
    for epsilon in (1e-3, 30.0):
        got = Opium(epsilon).fit(H, Y).coef_
        assert relative_error(got.T, oracles.pseudoinverse_weights(H, Y, epsilon)) < 1e-10


@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e-6), (np.float32, 0.1)])
@pytest.mark.parametrize("taps", [[1, 2, 1], [1, 4, 6, 4, 1]])
def test_smooth_signals(rng, dtype, limit, taps):
    """Lags of a smoothed signal: ill-conditioned, though no Cholesky pivot is small."""
    x = np.convolve(rng.normal(size=1500), taps, "valid")
    H = np.lib.stride_tricks.sliding_window_view(x, 100)[:1000].astype(dtype)
    Y = (H @ rng.normal(size=(100, 1)) + 0.1 * rng.normal(size=(1000, 1))).astype(dtype)
    kappa = np.linalg.cond(H.astype(float))
    own = np.finfo(dtype).eps * kappa  # what rounding H alone does
    want = oracles.pseudoinverse_weights(H, Y)
    for solver in (Greville(), Opium(0)):
        assert relative_error(clone(solver).fit(H, Y).coef_.T, want) < min(limit, 1e3 * own)


@pytest.mark.everywhere
@pytest.mark.parametrize(
    ("condition", "large", "grams"),
    [(30, False, "f"), (3e3, False, "fd"), (3e6, False, "fd"), (500, True, "f"), (3e6, True, "fd")],
)
def test_float32_rows_that_need_float64(rng, backend, monkeypatch, condition, large, grams):
    """Too ill-conditioned for a Gram matrix in float32: refined, float64, and in the end a QR."""
    tune(monkeypatch, backend, gram_operations=0, refined_units=10 if large else 1000)
    monkeypatch.setattr(linalg, "_SAFE_IF_WIDE", 0.01)
    U, _ = np.linalg.qr(rng.normal(size=(600, 50)))
    V, _ = np.linalg.qr(rng.normal(size=(50, 50)))
    H = (U * np.logspace(0, -np.log10(condition), 50) @ V.T * 100).astype(np.float32)
    Y = (H @ rng.normal(size=(50, 2)) + 0.1 * rng.normal(size=(600, 2))).astype(np.float32)
    tried, real = [], _gram.sums_by_gram

    def spy(state, blocks, n_rows, precision, decay=1.0):
        tried.append(precision.char)
        return real(state, blocks, n_rows, precision, decay)

    monkeypatch.setattr(_gram, "sums_by_gram", spy)
    model = Opium(1e-2).fit(H, Y)
    assert "".join(tried) == grams
    assert model.coef_.dtype == np.float32
    eps = np.finfo(np.float32).eps
    bound = 10 * eps * min(condition, 1e4)
    if grams == "f" and not large:  # not refined: the Gram matrix has the condition number squared
        bound = max(bound, 5 * eps * condition**2)
    want = oracles.pseudoinverse_weights(H, Y, 1e-2)
    assert relative_error(model.coef_.T, want) < bound
    for model in (Opium(1e-2), Opium(30)):
        want = oracles.pseudoinverse_weights(H, Y, model.epsilon)
        assert relative_error(learned(model, H, Y, [300]).coef_.T, want) < 10 * bound


@pytest.mark.full
@pytest.mark.host
def test_refinement_after_rows_learned_before(rng, backend, monkeypatch):
    """The gradient counts what the root holds, faded, and the floor."""
    tune(monkeypatch, backend, refined_units=10)
    monkeypatch.setattr(linalg, "_SAFE_IF_WIDE", 0.0)
    steps, real = [], _gram._refinement
    monkeypatch.setattr(_gram, "_refinement", lambda *args: steps.append(real(*args)) or steps[-1])
    monkeypatch.setattr(_ridge, "gram_pays", lambda known, n, choosing: n > 50)
    H, Y = (a.astype(np.float32) for a in problem(rng, 900, 30))
    model = DynamicOpium(1.001, 1e-2, floor=1.0)
    for stop in (300, 600, 900):
        model.partial_fit(H[stop - 300 : stop], Y[stop - 300 : stop])
    want = oracles.forgetting_ridge(H, Y, 1e-2, 1.001, 1.0, observed(1.001, 30))
    assert relative_error(model.coef_.T, want) < 1e-5
    assert len(steps) == 4  # the floor is due after 692 rows
    assert all(step is not None for step in steps)


@pytest.mark.everywhere
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("epsilon", [1e-2, 1e-3, 1e-6, 1e-9, 1e-15])
def test_a_small_prior_and_few_rows(rng, dtype, epsilon):
    H, Y = (a.astype(dtype) for a in problem(rng, 20, 50))
    U, s, Vt = np.linalg.svd(H.astype(float), full_matrices=False)
    want = Vt.T * (s / (s**2 + epsilon**2)) @ U.T @ Y
    tol = 1e-8 if dtype == np.float64 else 1e-2
    for cuts in ([], [5, 9], range(20)):
        model = learned(Opium(epsilon), H, Y, cuts)
        assert relative_error(model.coef_.T, want) < tol
        assert relative_error(clone(model).prequential(H, Y), learned_loop(model, H, Y)) < tol
    grown = learned(Opium(epsilon), np.vstack([H, 3 * H[:, ::-1], H + 1]), np.vstack([Y, Y, Y]))
    assert np.isfinite(grown.coef_).all()


def learned_loop(solver, H, Y):
    model, predicted = clone(solver), np.zeros_like(Y)
    for k in range(len(H)):
        if k:
            predicted[k] = model.predict(H[k : k + 1])[0]
        model.partial_fit(H[k : k + 1], Y[k : k + 1])
    return predicted


@pytest.mark.everywhere
def test_zeros_come_first(rng):
    """They say nothing about whether a tiny prior would drown."""
    H, Y = problem(rng, 5, 10)
    model = Opium(1e-12).partial_fit(np.zeros((200, 10)), np.zeros((200, 2))).partial_fit(H, Y)
    assert relative_error(model.coef_.T, oracles.pseudoinverse_weights(H, Y)) < 1e-10
