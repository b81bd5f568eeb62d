"""alpha="auto": the surprise sets the forgetting."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from greville import DynamicOpium, ELMClassifier, ELMRegressor, RandomLayer
from greville.datasets import ecg, sine_switch
from greville.solvers._forgetting import MEMORIES

from ..oracles import relative_error
from ..problems import learned, problem


def rms(errors):
    return np.sqrt(np.mean(errors**2))


@pytest.mark.full
@pytest.mark.parametrize(
    ("signal", "epsilon", "seeds"),
    [
        (ecg, 0.01, (0,)),
        pytest.param(sine_switch, 10.0, (0, 5, 22), marks=pytest.mark.full),
        pytest.param(sine_switch, 1e-3, (0, 5, 22), marks=pytest.mark.full),
    ],
)
def test_as_good_as_the_best_fixed_alpha(signal, epsilon, seeds):
    X, y = signal()
    whole, final = [], []
    for seed in seeds:
        H = RandomLayer(100, random_state=seed).fit_transform(X)
        fixed = [y - DynamicOpium(alpha, epsilon).prequential(H, y) for alpha in MEMORIES]
        auto = y - DynamicOpium("auto", epsilon).prequential(H, y)
        whole.append(rms(auto) / min(map(rms, fixed)))
        final.append(rms(auto[-1000:]) / min(rms(errors[-1000:]) for errors in fixed))
    assert np.mean(whole) < 1.1
    assert np.mean(final) < 1.1


def test_it_forgets_little_while_nothing_changes_and_quickly_after(rng):
    H = rng.normal(size=(3000, 10))
    W, V = rng.normal(size=(2, 10))
    y = np.where(np.arange(3000) < 2000, H @ W, H @ V) + 0.1 * rng.normal(size=3000)
    model = DynamicOpium("auto").partial_fit(H[:2000], y[:2000])
    assert model.alpha_ < 1.0005
    model.partial_fit(H[2000:2400], y[2000:2400])
    assert model.alpha_ > 1.0029
    error = rms(H[2500:] @ (model.coef_ - V))
    slow = DynamicOpium(1.0003).partial_fit(H[:2400], y[:2400])
    assert error < 0.5 * rms(H[2500:] @ (slow.coef_ - V))
    assert DynamicOpium(1.01).fit(H, y).alpha_ == 1.01


def test_cutting_changes_nothing(rng):
    H, Y = problem(rng, 600, 8)
    Y[300:] *= -1
    weight = rng.uniform(0.5, 2, size=600)
    weight[[7, 200]] = 0
    want, loop = np.zeros_like(Y), DynamicOpium("auto", 0.1)
    for k in range(600):
        if k:
            want[k] = loop.predict(H[k : k + 1])[0]
        loop.partial_fit(H[k : k + 1], Y[k : k + 1], weight[k : k + 1])
    whole = DynamicOpium("auto", 0.1).fit(H, Y)
    for cuts in ([], [100, 101], range(37, 600, 37)):
        model = DynamicOpium("auto", 0.1)
        got = [model.prequential(H[a:b], Y[a:b], weight[a:b]) for a, b in pairwise([0, *cuts, 600])]
        assert relative_error(np.vstack(got), want) < 1e-8
        assert relative_error(model.coef_, loop.coef_) < 1e-8
        unweighted = learned(DynamicOpium("auto", 0.1), H, Y, cuts)
        assert relative_error(unweighted.coef_, whole.coef_) < 1e-8


@pytest.mark.everywhere
def test_with_error_bars_pickling_and_float32(rng):
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = np.where(np.arange(400) < 200, X[:, 0], X[:, 1]) + 0.1 * rng.normal(size=400)
    model = ELMRegressor(20, DynamicOpium("auto"), random_state=0)
    predicted, std = model.prequential(X[:300], y[:300], return_std=True)
    assert predicted.dtype == std.dtype == np.float32
    assert np.isinf(std[0])
    assert np.isfinite(std[25:]).all()  # before that, 20 weights explain all rows
    assert (std > 0).all()
    again = pickle.loads(pickle.dumps(model))
    for m in (model, again):
        m.partial_fit(X[300:], y[300:])
    assert np.array_equal(model.predict(X), again.predict(X))
    assert model.solver_.theta_.shape == (20, 20)
    assert np.isfinite(model.solver_.loss_)


def test_classes_that_come_late(rng):
    X = rng.normal(size=(300, 3))
    y = np.repeat([0, 1, 2], 100)
    model = ELMClassifier(15, DynamicOpium("auto"), random_state=0)
    for start in range(0, 300, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert list(model.classes_) == [0, 1, 2]
    assert model.solver_.coef_.shape == (3, 15)


def test_bad_alpha(rng):
    H, Y = problem(rng, 20, 3)
    for before, after in (("auto", 1.01), (1.01, "auto")):
        model = DynamicOpium(before).fit(H, Y)
        coef = model.coef_
        model.set_params(alpha=after)
        with pytest.raises(ValueError, match="call fit to start again"):
            model.partial_fit(H, Y)
        assert np.array_equal(model.coef_, coef)
    with pytest.raises(ValueError, match="alpha='fast'"):
        DynamicOpium("fast").fit(H, Y)


@pytest.mark.parametrize("epsilon", [0.1, "auto"])
def test_it_unlearns_and_merges_what_its_memory_of_all_rows_can(rng, epsilon):
    H, Y = problem(rng, 900, 8)
    model = DynamicOpium("auto", epsilon).partial_fit(H, Y).unlearn(H[200:500], Y[200:500])
    kept = np.r_[:200, 500:900]
    want = DynamicOpium("auto", epsilon).partial_fit(H[kept], Y[kept])
    longest, other = (m.fitted_.members[0].weights() for m in (model, want))
    assert relative_error(longest, other) < 1e-6
    parts = [
        DynamicOpium("auto", epsilon).partial_fit(H[k], Y[k]) for k in (kept[:300], kept[300:])
    ]
    merged = parts[0] + parts[1]
    assert relative_error(merged.fitted_.members[0].weights(), other) < 1e-6
    assert merged.n_samples_seen_ == 600
    for learner in (model, merged):  # all memories know what the longest does, and go on
        assert relative_error(learner.fitted_.members[1].weights(), longest) < 0.05
        assert relative_error(learner.partial_fit(H, -Y).coef_.T, -other) < 0.5
    assert not hasattr(DynamicOpium(), "unlearn")
