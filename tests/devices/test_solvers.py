"""Solvers on a device: what NumPy's answer is, as tensors."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from greville import (
    Batch,
    DynamicOpium,
    Greville,
    Opium,
    OpiumLight,
    SlidingOpium,
    backend,
)

from .. import oracles

SOLVERS = [
    Greville(),
    Opium(0.1),
    Opium(1e-3, intercept=True),
    Opium("auto"),
    Opium("auto", intercept=True),
    OpiumLight(0.7),
    DynamicOpium(1.01, 0.1),
    DynamicOpium(1.01, "auto"),
    DynamicOpium("auto", 0.1),
    SlidingOpium(100, 0.1),
]
ROOTS = [s for s in SOLVERS if not isinstance(s, OpiumLight)]
EXACT = [Opium(0.1), Opium(1e-3, intercept=True), Opium("auto", intercept=True)]
named = pytest.mark.parametrize("solver", SOLVERS, ids=str)


def problem(rng, n=400, M=30, outputs=2, dtype=np.float64):
    H = rng.normal(size=(n, M)) + 0.5
    Y = H @ rng.normal(size=(M, outputs)) + 0.3 * rng.normal(size=(n, outputs))
    return H.astype(dtype), Y.astype(dtype)


def learned(solver, H, Y, stops, weight=None):
    start = 0
    for stop in (*stops, len(H)):
        w = None if weight is None else weight[start:stop]
        solver.partial_fit(H[start:stop], Y[start:stop], w)
        start = stop
    return solver


@named
@pytest.mark.parametrize(
    "stops", [[], [1, 2, 50, 51, 200], range(1, 60)], ids=["one", "few", "many"]
)
def test_chunks(rng, tensor, same, solver, stops):
    H, Y = problem(rng)
    here = learned(clone(solver), H, Y, stops)
    there = learned(clone(solver), tensor(H), tensor(Y), stops)
    assert there.fitted_.shape.backend.name.startswith("torch:")
    same(there.predict(tensor(H)), here.predict(H), 1e-8, dtype=torch.float64)
    assert isinstance(there.coef_, np.ndarray)
    assert there.n_samples_seen_ == len(H)


@pytest.mark.parametrize("solver", [*SOLVERS, Batch(0.1)], ids=str)
def test_fit_weights_and_flat_targets(rng, tensor, same, solver):
    H, Y = problem(rng)
    weight = rng.uniform(0.5, 2, size=len(H))
    for y in (Y, Y[:, 0]):
        here = clone(solver).fit(H, y, weight)
        there = clone(solver).fit(tensor(H), tensor(y), tensor(weight))
        same(there.predict(tensor(H[:7])), here.predict(H[:7]), 1e-8)
        assert there.score(tensor(H), tensor(y)) == pytest.approx(here.score(H, y))


@named
def test_record_and_single_rows(rng, tensor, same, solver):
    H, Y = problem(rng, 300)
    here, there = clone(solver), clone(solver)
    same(there.prequential(tensor(H), tensor(Y)), here.prequential(H, Y), 1e-7)
    for h, y in zip(H[:5], Y[:5], strict=True):
        here.learn_one(h, y)
        there.learn_one(tensor(h), tensor(y))
        same(there.predict_one(tensor(h)), here.predict_one(h), 1e-7)
    assert there.n_samples_seen_ == 305


@pytest.mark.parametrize(
    "solver", [Opium(1.0), Opium("auto"), Opium("auto", intercept=True)], ids=str
)
def test_a_long_record(rng, tensor, same, solver):
    """By Gram matrices, which are kept."""
    H, Y = problem(rng, 2500, 150, 1)
    here, there = clone(solver), clone(solver)
    same(there.prequential(tensor(H), tensor(Y)), here.prequential(H, Y), 1e-6)
    same(there.predict(tensor(H)), here.predict(H), 1e-6)


@pytest.mark.parametrize("solver", ROOTS, ids=str)
def test_standard_deviations(rng, tensor, same, solver):
    H, Y = problem(rng, 300)
    here, there = clone(solver).fit(H, Y), clone(solver).fit(tensor(H), tensor(Y))
    for a, b in zip(
        there.predict(tensor(H), return_std=True), here.predict(H, return_std=True), strict=True
    ):
        same(a, b, 1e-6)
    for a, b in zip(
        there.prequential(tensor(H), tensor(Y), return_std=True),
        here.prequential(H, Y, return_std=True),
        strict=True,
    ):
        same(a, b, 1e-6)


@pytest.mark.parametrize("solver", EXACT, ids=str)
def test_sums(rng, tensor, same, device, solver):
    """Unlearning, merging and leaving out; also between devices."""
    H, Y = problem(rng)
    T, S = tensor(H), tensor(Y)
    here = clone(solver).fit(H, Y)
    there = clone(solver).fit(T, S)
    same(there.loo_predict(T, S), here.loo_predict(H, Y), 1e-7)
    same(there.unlearn(T[:50], S[:50]).predict(T), here.unlearn(H[:50], Y[:50]).predict(H), 1e-6)
    there.merge(clone(solver).fit(T[:50], S[:50]))
    here.merge(clone(solver).fit(H[:50], Y[:50]))
    same(there.predict(T), here.predict(H), 1e-6)
    other = clone(solver).fit(H[:20], Y[:20])  # of another place
    same((there + other).predict(T), (here + other).predict(H), 1e-6)
    if solver.epsilon == "auto":
        assert there.path().chosen == pytest.approx(here.path().chosen)
        assert there.epsilon_ == pytest.approx(here.epsilon_)
    np.testing.assert_allclose(there.theta_, here.theta_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(there.psi_, here.psi_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(there.loss_, here.loss_, rtol=1e-6)


@named
def test_moving(rng, tensor, same, device, solver):
    H, Y = problem(rng, 300)
    model = clone(solver).fit(H[:100], Y[:100])
    model.partial_fit(H[100:120], Y[100:120])  # some are pending
    want = learned(clone(solver).fit(H[:100], Y[:100]), H[100:], Y[100:], [20])
    assert model.to(device) is model
    model.partial_fit(tensor(H[120:]), tensor(Y[120:]))
    same(model.predict(tensor(H)), want.predict(H), 1e-6)
    np.testing.assert_allclose(model.predict(H), want.predict(H), rtol=1e-6, atol=1e-7)  # moved
    model.fitted_  # noqa: B018
    model = model.to(device)  # where it is
    same(model.predict(tensor(H)), want.predict(H), 1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "M"), [(3000, 200), (150, 200), (200, 200)])
def test_digits(rng, tensor, n, M, dtype):
    """Chunks shorter than the units lose none: 1e-11 of the SVD's solution."""
    H = rng.normal(size=(n, M)).astype(dtype)
    Y = (H @ rng.normal(size=(M, 3)) + rng.normal(size=(n, 3))).astype(dtype)
    want = oracles.pseudoinverse_weights(H.astype(float), Y.astype(float), 1.0)
    for length in (n, 128, 37, 1):
        model = Opium(1.0)
        for start in range(0, n if length > 1 else min(n, 200), length):
            model.partial_fit(tensor(H[start : start + length]), tensor(Y[start : start + length]))
            if length > 1:
                model.predict(tensor(H[:1]))
        if length == 1:
            k = min(n, 200)
            want = oracles.pseudoinverse_weights(H[:k].astype(float), Y[:k].astype(float), 1.0)
        error = np.abs(model.coef_.T - want).max() / np.abs(want).max()
        assert error < (1e-11 if dtype is np.float64 else 2e-4), (length, error)
        assert model.coef_.dtype == dtype


@pytest.mark.parametrize("solver", [s for s in SOLVERS if not isinstance(s, OpiumLight)], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_ends_in_nan(rng, tensor, solver, dtype):
    """Dependent columns, constant columns, zeros, and huge and tiny numbers."""
    H = rng.normal(size=(200, 20))
    H[:, 1], H[:, 2], H[:, 3] = H[:, 0], 1.0, 0.0
    H[:, 4] *= 1e-6
    H[:, 5] *= 1e4
    Y = H[:, :1] + 0.1
    model = clone(solver)
    for start in range(0, 200, 25):
        model.partial_fit(
            tensor(H[start : start + 25].astype(dtype)), tensor(Y[start : start + 25].astype(dtype))
        )
        assert torch.isfinite(model.predict(tensor(H.astype(dtype)))).all()


def test_bad_numbers_on_a_device_are_refused(rng, tensor):
    """At once, in short chunks and in long ones, and the model stays as it was."""
    H, Y = problem(rng, 100, 5)
    bad = H[:10].copy()
    bad[3, 2] = np.nan
    model, want = Opium(0.1).partial_fit(tensor(H[:20]), tensor(Y[:20])), Opium(0.1)
    with pytest.raises(ValueError, match="X: contains NaN"):
        model.partial_fit(tensor(bad), tensor(Y[:10]))
    model.partial_fit(tensor(H[20:40]), tensor(Y[20:40]))
    want.partial_fit(H[:40], Y[:40])
    with pytest.raises(ValueError, match="y: contains infinity"):
        model.partial_fit(tensor(H), tensor(np.full_like(Y, np.inf)))
    long = np.repeat(H, 30, axis=0)
    long[2000, 1] = 1e200
    with pytest.raises(ValueError, match="X: got numbers.*overflow"):
        model.partial_fit(tensor(long), tensor(np.repeat(Y, 30, axis=0)))
    np.testing.assert_allclose(model.coef_, want.coef_, rtol=1e-9)
    assert model.n_samples_seen_ == 40
    with pytest.raises(ValueError, match="X: contains NaN"):
        Opium(0.1).fit(tensor(bad), tensor(Y[:10]))


def test_integers_gradients_and_half(rng, tensor, same):
    H, Y = problem(rng, 60, 5)
    whole = np.round(10 * H).astype(np.int64)
    same(
        Opium(0.1).fit(tensor(whole), tensor(Y)).predict(tensor(whole)),
        Opium(0.1).fit(whole, Y).predict(whole),
        dtype=torch.float64,
    )
    model = Opium(0.1).fit(tensor(H).requires_grad_(), tensor(Y).requires_grad_())
    same(model.predict(tensor(H)), Opium(0.1).fit(H, Y).predict(H))
    assert not model.predict(tensor(H).requires_grad_()).requires_grad
    with pytest.raises(ValueError, match="X: got torch.complex64; pass real numbers"):
        Opium(0.1).fit(tensor(H).to(torch.complex64), tensor(Y))
    with pytest.raises(ValueError, match="sparse tensor"):
        Opium(0.1).fit(tensor(H).to_sparse(), tensor(Y))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_learned_as_float32(rng, tensor, same, kind):
    H, Y = problem(rng, 60, 5)
    halves = tensor(H).to(kind), tensor(Y).to(kind)
    singles = halves[0].float(), halves[1].float()
    model, want = Opium(0.1).fit(*halves), Opium(0.1).fit(*singles)
    assert model.coef_.dtype == np.float32
    np.testing.assert_array_equal(model.coef_, want.coef_)
    same(
        model.predict(halves[0]), want.predict(singles[0]).cpu().numpy(), 1e-6, dtype=torch.float32
    )
    model.partial_fit(*(A[:7] for A in halves))
    model.learn_one(halves[0][0], halves[1][0])
    want.partial_fit(*(A[:7] for A in singles))
    want.learn_one(singles[0][0], singles[1][0])
    np.testing.assert_array_equal(model.coef_, want.coef_)
    mixed = Opium(0.1).fit(tensor(H), halves[1])  # float64, as its rows are
    np.testing.assert_array_equal(mixed.coef_, Opium(0.1).fit(tensor(H), singles[1]).coef_)
    assert mixed.coef_.dtype == np.float64
    with pytest.raises(ValueError, match="X: contains NaN"):
        Opium(0.1).fit(halves[0] * torch.nan, halves[1])


def test_shapes_that_do_not_fit(rng, tensor):
    H, Y = problem(rng, 60, 5)
    model = Opium(0.1).fit(tensor(H), tensor(Y))
    before = model.coef_
    for args, message in (
        ((tensor(H[:, :4]), tensor(Y)), "X has 4 features"),
        ((tensor(H[0]), tensor(Y)), "X: expected a 2-d tensor"),
        ((tensor(H[:0]), tensor(Y[:0])), "X: got shape"),
        ((tensor(H), tensor(Y[:3])), "y: inconsistent numbers"),
        ((tensor(H), tensor(Y[:, :1])), "y: got 1 outputs"),
        ((tensor(H), tensor(Y[None])), "y: expected shape"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*args)
        np.testing.assert_array_equal(model.coef_, before)


def test_targets_may_be_arrays_or_lists(rng, tensor, same):
    H, Y = problem(rng, 60, 5, 1)
    want = Opium(0.1).fit(H, Y[:, 0]).predict(H)
    same(Opium(0.1).fit(tensor(H), Y[:, 0]).predict(tensor(H)), want)
    same(Opium(0.1).fit(tensor(H), Y[:, 0].tolist()).predict(tensor(H)), want)


def test_backends_are_pickled_by_name(rng, tensor, same, device):
    import pickle

    H, Y = problem(rng, 60, 5)
    model = Opium(0.1).fit(tensor(H), tensor(Y))
    again = pickle.loads(pickle.dumps(model))
    same(again.predict(tensor(H)), model.predict(tensor(H)).cpu().numpy())
    b = model.fitted_.shape.backend
    assert again.fitted_.shape.backend is b
    assert backend.get(b.name) is b
