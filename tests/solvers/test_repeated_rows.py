"""Rows that say the same again, and weights: no evidence that there is no noise."""

import numpy as np
import pytest

from greville import ELMRegressor, Opium

TARGETS = 4.0  # all targets below are smaller


def noisy(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("door", ["learn_one", "partial_fit", "fit"])
def test_a_sensor_that_is_stuck(door):
    """The same input row again and again, with noisy targets; then another input."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=3), rng.normal(size=200)
        model = ELMRegressor(random_state=seed)
        if door == "learn_one":
            for target in y:
                model.learn_one(x, float(target))
        elif door == "partial_fit":
            for start in range(0, 200, 40):
                model.partial_fit(np.tile(x, (40, 1)), y[start : start + 40])
        else:
            model.fit(np.tile(x, (200, 1)), y)
        assert abs(model.predict_one(x) - y.mean()) < 0.5
        assert abs(model.predict_one(x + 0.5)) < TARGETS


@pytest.mark.parametrize("weight", [0.01, 3.0, "drawn"])
def test_weights_do_not_ruin_a_fit(weight):
    for seed in range(5):
        X, y = noisy(seed, 20)
        new = np.random.default_rng(100 + seed).normal(size=(500, 1))
        plain = ELMRegressor(random_state=0).fit(X, y)
        w = np.random.default_rng(seed).uniform(1, 5, 20) if weight == "drawn" else weight
        model = ELMRegressor(random_state=0).fit(X, y, sample_weight=np.full(20, w))
        assert model.score(new, np.sin(new[:, 0])) > plain.score(new, np.sin(new[:, 0])) - 0.1


@pytest.mark.parametrize(("units", "n", "copies"), [(30, 3, 13), (30, 10, 13), (200, 20, 20)])
def test_copies_of_few_rows(units, n, copies):
    """As if each had come once, whichever way the copies come."""
    X, y = noisy(0, n)
    new = np.linspace(-2, 2, 100)[:, None]
    whole = ELMRegressor(units, random_state=0).fit(np.repeat(X, copies, 0), np.repeat(y, copies))
    chunks = ELMRegressor(units, random_state=0)
    rows = ELMRegressor(units, random_state=0)
    for _ in range(copies):
        chunks.partial_fit(X, y)
        for x, target in zip(X, y, strict=True):
            rows.learn_one(x, target)
    for model in (whole, chunks, rows):
        assert np.abs(model.predict(new)).max() < TARGETS
        assert model.epsilon_ > 1e-2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("n", "units"), [(400, 600), (300, 2000)])
def test_copies_of_some_hundred_rows(rng, n, units, dtype):
    """Fewer than units, so that copies would be taken for rows without noise."""
    H = rng.normal(size=(n, units)).astype(dtype)
    y = H[:, 0] + rng.normal(size=n).astype(dtype)
    once = Opium("auto", intercept=True).fit(H, y)
    twice = Opium("auto", intercept=True).fit(np.repeat(H, 2, axis=0), np.repeat(y, 2))
    assert twice.epsilon_ > 0.5 * once.epsilon_


@pytest.mark.parametrize("intercept", [False, True])
def test_copies_and_weights_choose_the_same(intercept):
    rng = np.random.default_rng(3)
    H, y = rng.normal(size=(40, 12)), rng.normal(size=40)
    weight = rng.integers(1, 5, size=40)
    weighted = Opium("auto", intercept).fit(H, y, weight)
    copied = Opium("auto", intercept).fit(np.repeat(H, weight, axis=0), np.repeat(y, weight))
    assert weighted.epsilon_ == copied.epsilon_
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-9)


def test_no_standard_deviation_is_zero():
    """After one row nothing is known about the noise."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    for model in (ELMRegressor(10, random_state=0), Opium("auto", True), Opium(0.1, True)):
        assert (model.fit(X[:1], y[:1]).predict(X, return_std=True)[1] == np.inf).all()
    std = ELMRegressor(10, random_state=0).prequential(X, y, return_std=True)[1]
    assert (std[:2] == np.inf).all()
    assert (std > 0).all()
    assert np.isfinite(std[30:]).all()
