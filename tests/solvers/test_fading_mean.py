"""DynamicOpium with an intercept: means that forget as the rows do, and a chosen epsilon."""

import pickle

import numpy as np
import pytest

import greville
from greville import DynamicOpium, ELMRegressor, Opium
from greville.compiled import loading

from ..every_pair import every_pair
from ..oracles import relative_error

ALPHA = 1.02


def shifted(rng, n=400, M=8, n_outputs=2):
    """Rows and targets far from zero."""
    H = 30 + rng.normal(size=(n, M))
    Y = H @ rng.normal(size=(M, n_outputs)) + 500 + 0.1 * rng.normal(size=(n, n_outputs))
    return H, Y


def weighted_ridge(H, Y, counts, epsilon):
    """W and the intercept of a ridge on rows around their weighted means."""
    mean, target = counts @ H / counts.sum(), counts @ Y / counts.sum()
    A, B = H - mean, Y - target
    G = A.T @ (counts[:, None] * A) + epsilon**2 * np.eye(H.shape[1])
    W = np.linalg.solve(G, A.T @ (counts[:, None] * B))
    return W, target - mean @ W


@pytest.mark.everywhere
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("epsilon", "floor"), [(0.3, None), ("auto", "auto")])
def test_it_is_the_ridge_of_rows_around_fading_means(rng, epsilon, floor, weighted):
    H, Y = shifted(rng)
    weight = rng.uniform(0.5, 2, size=len(H)) if weighted else None
    if weighted:
        weight[[0, 7, 200]] = 0
    model = DynamicOpium(ALPHA, epsilon, floor, intercept=True).partial_fit(H, Y, weight)
    counts = (2 - ALPHA) ** np.arange(len(H) - 1, -1, -1.0) * (1 if weight is None else weight)
    W, constant = weighted_ridge(H, Y, counts, model.epsilon_)
    assert relative_error(model.coef_.T, W) < 1e-8
    np.testing.assert_allclose(model.intercept_, constant, rtol=1e-8)
    np.testing.assert_allclose(model.predict(H), H @ W + constant, rtol=1e-8)


@every_pair(
    alpha=[1.0, ALPHA, "auto"],
    epsilon=[0.3, "auto"],
    kernels=[False, pytest.param(True, marks=pytest.mark.full)],
    n_outputs=[1, 2],
)
def test_all_ways_to_learn_are_one(rng, alpha, epsilon, kernels, n_outputs):
    H, Y = shifted(rng, n_outputs=n_outputs)
    Y[250:] -= 20
    Y = Y[:, 0] if n_outputs == 1 else Y
    make = lambda: DynamicOpium(alpha, epsilon, intercept=True)  # noqa: E731
    whole, spread = make(), make()
    want = whole.prequential(H, Y)
    predicted, std = spread.prequential(H, Y, return_std=True)
    parts, chunks, single = make(), make(), make()
    cuts = np.array_split(np.arange(len(H)), 9)
    found = np.concatenate([parts.prequential(H[cut], Y[cut]) for cut in cuts])
    for cut in cuts:
        chunks.partial_fit(H[cut], Y[cut])
    alone = np.zeros_like(want)
    with loading.use(kernels):
        for k, (h, y) in enumerate(zip(H, Y, strict=True)):
            if k and k % 5:
                alone[k] = single.predict_one(h)
            single.learn_one(h, y)
    asked = np.arange(len(H)) % 5 > 0
    scale = np.abs(Y).max()
    for other in (found[20:], predicted[20:]):
        np.testing.assert_allclose(other / scale, want[20:] / scale, atol=1e-9)
    np.testing.assert_allclose(
        alone[20:][asked[20:]] / scale, want[20:][asked[20:]] / scale, atol=1e-9
    )
    for model in (spread, parts, chunks, single):
        np.testing.assert_allclose(model.predict(H) / scale, whole.predict(H) / scale, atol=1e-9)
    again = make()
    for k in (100, 350):
        again.partial_fit(H[again_n(again) : k], Y[again_n(again) : k])
        np.testing.assert_allclose(
            again.predict(H[k : k + 1], return_std=True)[1][0], std[k], rtol=1e-6
        )


def again_n(model):
    return model.n_samples_seen_ if hasattr(model, "fitted_") else 0


def test_without_forgetting_it_is_opium(rng):
    H, Y = shifted(rng)
    kept, exact = (m.partial_fit(H, Y) for m in (
        DynamicOpium(1.0, "auto", intercept=True), Opium("auto", intercept=True)
    ))  # fmt: skip
    assert kept.epsilon_ == exact.epsilon_
    np.testing.assert_allclose(kept.predict(H), exact.predict(H), rtol=1e-9)


@pytest.mark.parametrize("alpha", [ALPHA, "auto"])
@pytest.mark.parametrize("epsilon", [0.3, "auto"])
def test_it_goes_on_from_files_to_the_bit(rng, alpha, epsilon, tmp_path):
    H, Y = shifted(rng)
    model = DynamicOpium(alpha, epsilon, intercept=True)
    for h, y in zip(H[:200], Y[:200], strict=True):
        model.learn_one(h, y)
    greville.save(model, tmp_path / "m")
    loaded, pickled = greville.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))
    for each in (model, loaded, pickled):
        each.partial_fit(H[200:330], Y[200:330])
        for h, y in zip(H[330:], Y[330:], strict=True):
            each.predict_one(h)
            each.learn_one(h, y)
    assert np.array_equal(model.predict(H), loaded.predict(H))
    np.testing.assert_allclose(pickled.predict(H), model.predict(H), rtol=1e-9)


def test_what_cannot_be_changed(rng):
    H, Y = shifted(rng)
    model = DynamicOpium(1.01, 0.1).fit(H, Y).set_params(intercept=True)
    with pytest.raises(ValueError, match="intercept=True.*has started with other parameters"):
        model.partial_fit(H, Y)
    model = DynamicOpium("auto", 0.1).fit(H, Y).set_params(epsilon="auto")
    with pytest.raises(ValueError, match="epsilon='auto'.*has started with other parameters"):
        model.partial_fit(H, Y)
    with pytest.raises(ValueError, match="intercept="):
        DynamicOpium(1.01, intercept="yes").fit(H, Y)
    with pytest.raises(ValueError, match="epsilon"):
        DynamicOpium(1.01, 0.0, intercept=True).fit(H, Y)


def test_long_gaps_of_zeros_leave_it_usable(rng):
    H, Y = shifted(rng)
    model = DynamicOpium(1.1, "auto", intercept=True).partial_fit(H, Y)
    model.partial_fit(np.zeros((20_000, H.shape[1])), np.zeros((20_000, 2)))
    assert np.isfinite(model.predict(H)).all()
    model.partial_fit(H, Y)
    fresh = DynamicOpium(1.1, "auto", intercept=True).partial_fit(H, Y)
    scale = np.abs(Y).max()
    np.testing.assert_allclose(model.predict(H) / scale, fresh.predict(H) / scale, atol=1e-2)


def test_the_default_of_the_estimators_learns_targets_far_from_zero(rng):
    X = rng.normal(size=(1000, 3))
    y = 40 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=1000)
    model = ELMRegressor(solver="dynamic", random_state=0)
    predicted = model.prequential(X, y)
    solver = model.solver_
    assert (solver.epsilon, solver.intercept) == ("auto", True)
    assert np.mean((y - predicted)[200:] ** 2) < 0.1 * y.var()
