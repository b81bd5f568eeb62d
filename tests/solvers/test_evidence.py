"""epsilon="auto": the choice, and the weights that go with it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from greville import (
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Opium,
    RandomLayer,
    backend,
    datasets,
)

from ..oracles import relative_error
from ..problems import learned, problem

AUTO = [Opium("auto"), Opium("auto", intercept=True)]
# More units than the whole curve is taken of
BY_CHOLESKY = pytest.param(700, 450, marks=pytest.mark.full)
SHAPES = [(1, 5), (2, 5), (5, 20), (40, 20), (300, 30), (150, 200), (1200, 30), (700, 450)]


def ridge(H, Y, epsilon, intercept, weight=None):
    """Weights, the intercept first where there is one, by least squares on augmented rows."""
    H, Y = np.asarray(H, float), np.asarray(Y, float)
    A = np.hstack([np.ones((len(H), 1)), H]) if intercept else H
    prior = epsilon * np.eye(A.shape[1])[int(intercept) :]
    root = np.ones((len(H), 1)) if weight is None else np.sqrt(weight)[:, None]
    zeros = np.zeros((len(prior), Y.shape[1]))
    return np.linalg.lstsq(np.vstack([root * A, prior]), np.vstack([root * Y, zeros]), rcond=None)[
        0
    ]


def weights(model):
    if model.intercept:
        return np.vstack([model.intercept_, model.coef_.T])
    return model.coef_.T


def log_evidence(H, Y, epsilon, intercept):
    """The density of Y as a whole, from its covariance, up to a constant; s² integrated out."""
    n = len(H)
    total = 0.0
    centring = np.eye(n) - np.ones((n, n)) / n if intercept else np.eye(n)
    basis = np.linalg.svd(centring)[0][:, : n - int(intercept)]
    A, B = basis.T @ H, basis.T @ Y
    covariance = np.eye(len(A)) + A @ A.T / epsilon**2
    _, log_determinant = np.linalg.slogdet(covariance)
    for y in B.T:
        square = y @ np.linalg.solve(covariance, y)
        total += -0.5 * (log_determinant + len(A) * np.log(square))
    return total / Y.shape[1]


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", AUTO, ids=repr)
@pytest.mark.parametrize(("n", "M"), SHAPES)
def test_weights_are_those_of_the_epsilon_that_was_chosen(rng, solver, n, M):
    H, Y = problem(rng, n, M)
    model = clone(solver).fit(H, Y)
    W = ridge(H, Y, model.epsilon_, solver.intercept)
    assert relative_error(weights(model), W) < 1e-9
    assert relative_error(model.predict(H), _predictions(H, W, solver.intercept)) < 1e-9
    expected = ((Y - _predictions(H, W, solver.intercept)) ** 2).sum(axis=0)
    expected += model.epsilon_**2 * (W[int(solver.intercept) :] ** 2).sum(axis=0)
    np.testing.assert_allclose(model.loss_, expected, rtol=1e-6, atol=1e-9)


def _predictions(H, W, intercept):
    return H @ W[1:] + W[0] if intercept else H @ W


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", AUTO, ids=repr)
@pytest.mark.parametrize(("n", "M"), [(5, 20), (60, 20), (150, 200), BY_CHOLESKY])
def test_the_path_is_the_evidence_and_the_choice_its_top(rng, solver, n, M):
    H, Y = problem(rng, n, M)
    path = clone(solver).fit(H, Y).path()
    assert path.chosen == path.epsilon[path.evidence.argmax()]
    assert (np.diff(path.epsilon) > 0).all()
    shrinkage = np.log10(path.epsilon**2 / (0.01 * _square_length(H, solver.intercept)))
    known = path.evidence + 0.5 * (shrinkage / 2) ** 2
    some = slice(None, None, 8) if len(path.epsilon) > 20 else slice(None)
    oracle = [log_evidence(H, Y, epsilon, solver.intercept) for epsilon in path.epsilon[some]]
    difference = known[some] - oracle
    steady = path.epsilon[some] > 1e-4  # below, the oracle has lost its digits
    np.testing.assert_allclose(difference[steady], difference[steady][0], atol=1e-3)


def _square_length(H, intercept):
    centred = H - H.mean(axis=0) if intercept else H
    return (centred**2).sum() / len(H)


def test_large_layers_search_with_few_factors_and_find_the_top(rng, monkeypatch):
    H, Y = problem(rng, 300, 60)
    whole = Opium("auto").fit(H, Y)
    b = backend.default()
    monkeypatch.setattr(b, "tuning", replace(b.tuning, svd_units=1, svd_units_in_stream=1))
    few = Opium("auto").fit(H, Y)
    assert len(few.path().epsilon) < 10
    assert abs(np.log10(few.epsilon_ / whole.epsilon_)) < 0.26
    best = whole.path()
    at = best.evidence[np.argmin(abs(best.epsilon - few.epsilon_))]
    assert best.evidence.max() - at < 1.0


@pytest.mark.parametrize("solver", [*AUTO, DynamicOpium(1.01, "auto")], ids=repr)
@pytest.mark.parametrize(("n", "M"), [(3, 8), (50, 20), (150, 30), (60, 90)])
def test_how_rows_are_cut_changes_nothing(rng, solver, n, M):
    H, Y = problem(rng, n, M)
    whole = learned(solver, H, Y)
    for cuts in (range(1, n), range(7, n, 7), [n // 3]):
        assert relative_error(learned(solver, H, Y, cuts).coef_, whole.coef_) < 1e-10
    looked = clone(solver)
    for i in range(n):
        looked.partial_fit(H[i : i + 1], Y[i : i + 1])
        looked.predict(H[:1])
    assert relative_error(looked.coef_, whole.coef_) < 1e-10
    assert looked.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-12)


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", [*AUTO, DynamicOpium(1.01, "auto")], ids=repr)
def test_prequential_is_the_loop(rng, solver):
    H, Y = problem(rng, 200, 20)
    loop, record = clone(solver), []
    for h, y in zip(H, Y, strict=True):
        record.append(loop.predict([h])[0] if record else np.zeros(2))
        loop.partial_fit([h], [y])
    at_once = clone(solver)
    np.testing.assert_allclose(at_once.prequential(H, Y), record, atol=1e-10)
    assert relative_error(at_once.coef_, loop.coef_) < 1e-10
    spread = clone(solver)
    predicted, std = spread.prequential(H, Y, return_std=True)
    np.testing.assert_allclose(predicted, record, atol=1e-10)
    assert np.isfinite(std[5:]).all()


@pytest.mark.parametrize("solver", AUTO, ids=repr)
def test_sample_weights_are_precisions(rng, solver):
    """A weight multiplies the squared error of its row; as many rows as before say what ε is."""
    H, Y = problem(rng, 200, 30)
    weight = rng.integers(0, 4, size=200)
    weighted = clone(solver).fit(H, Y, sample_weight=weight)
    W = ridge(
        np.repeat(H, weight, axis=0),
        np.repeat(Y, weight, axis=0),
        weighted.epsilon_,
        solver.intercept,
    )
    assert relative_error(weights(weighted), W) < 1e-9
    larger = clone(solver).fit(H, Y, sample_weight=100.0 * weight)
    assert larger.epsilon_ == pytest.approx(10 * weighted.epsilon_)
    assert relative_error(weights(larger), weights(weighted)) < 1e-9
    std, same = (m.predict(H[:5], return_std=True)[1] for m in (weighted, larger))
    np.testing.assert_allclose(same, std, rtol=1e-9)


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", AUTO, ids=repr)
@pytest.mark.parametrize("M", [20, 90])
def test_merging_and_unlearning_choose_again_from_all_rows(rng, solver, M):
    H, Y = problem(rng, 400, M)
    whole = clone(solver).fit(H, Y)
    merged = sum(clone(solver).fit(H[i::4], Y[i::4]) for i in range(4))
    assert merged.epsilon_ == whole.epsilon_
    assert relative_error(weights(merged), weights(whole)) < 1e-9
    fewer = merged.unlearn(H[::4], Y[::4])
    left = np.arange(400) % 4 != 0
    assert fewer.epsilon_ == clone(solver).fit(H[left], Y[left]).epsilon_
    W = ridge(H[left], Y[left], fewer.epsilon_, solver.intercept)
    assert relative_error(weights(fewer), W) < 1e-8


def test_unlearning_down_to_fewer_rows_than_weights(rng):
    H, Y = problem(rng, 60, 40)
    model = Opium("auto", intercept=True).fit(H, Y).unlearn(H[:50], Y[:50])
    W = ridge(H[50:], Y[50:], model.epsilon_, True)
    assert relative_error(weights(model), W) < 1e-7


def test_forgetting_chooses_for_the_rows_as_they_count(rng):
    H, Y = problem(rng, 900, 25)
    model = DynamicOpium(1.02, "auto").partial_fit(H, Y)
    faded = 0.98 ** np.arange(899, -1, -1.0)
    assert relative_error(model.coef_.T, ridge(H, Y, model.epsilon_, False, faded)) < 1e-9
    assert model.path().chosen >= model.epsilon_
    exact, kept = Opium("auto").partial_fit(H, Y), DynamicOpium(1.0, "auto").partial_fit(H, Y)
    assert kept.epsilon_ == exact.epsilon_
    assert relative_error(kept.coef_, exact.coef_) < 1e-10


def test_more_noise_asks_for_a_larger_epsilon(rng):
    H = rng.normal(size=(200, 50))
    signal = H @ rng.normal(size=50)
    chosen = [
        Opium("auto").fit(H, signal + noise * rng.normal(size=200)).epsilon_
        for noise in (0.0, 0.1, 1.0, 10.0, 100.0)
    ]
    assert chosen == sorted(chosen)
    assert chosen[0] < 1e-2
    assert chosen[-1] > 1


def test_the_choice_is_near_the_best_there_is(rng):
    H, H_new = rng.normal(size=(2, 150, 100))
    W = rng.normal(size=(100, 3))
    Y = H @ W + 5 * rng.normal(size=(150, 3))

    def error(model):
        return np.mean((model.predict(H_new) - H_new @ W) ** 2)

    best = min(error(Opium(10 ** (k / 8)).fit(H, Y)) for k in range(-16, 24))
    assert error(Opium("auto").fit(H, Y)) < 1.1 * best


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_units_of_rows_and_targets_do_not_matter(rng, scale):
    H, Y = problem(rng, 300, 30)
    plain, other = Opium("auto").fit(H, Y), Opium("auto").fit(scale * H, 7 * Y)
    assert other.epsilon_ == pytest.approx(scale * plain.epsilon_, rel=0.4)
    again = Opium("auto", intercept=True).fit(H, Y + 1e6)
    assert again.epsilon_ == Opium("auto", intercept=True).fit(H, Y).epsilon_


@pytest.mark.everywhere
def test_targets_and_rows_without_anything_in_them(rng):
    H, Y = problem(rng, 50, 10)
    for solver in AUTO:
        constant = clone(solver).fit(H, np.zeros((50, 2)))
        np.testing.assert_allclose(constant.predict(H), 0, atol=1e-12)
        nothing = clone(solver).fit(np.zeros((5, 10)), Y[:5])
        assert np.isfinite(nothing.predict(H)).all()
        late = clone(solver).partial_fit(np.zeros((5, 10)), Y[:5]).partial_fit(H, Y)
        together = np.vstack([np.zeros((5, 10)), H]), np.vstack([Y[:5], Y])
        W = ridge(*together, late.epsilon_, solver.intercept)
        assert relative_error(weights(late), W) < 1e-9
    seven = Opium("auto", intercept=True).fit(H, np.full(50, 7.0))
    assert seven.intercept_ == pytest.approx(7)
    np.testing.assert_allclose(seven.predict(10 * H), 7)
    with pytest.raises(ValueError, match="path"):
        Opium(1.0).fit(H, Y).path()


def test_rows_that_grow_by_orders_of_magnitude(rng):
    H, Y = problem(rng, 300, 15)
    H[100:] *= 1e4
    H[200:] *= 1e4
    model = learned(Opium("auto"), H, Y, range(10, 300, 10))
    assert relative_error(model.coef_.T, ridge(H, Y, model.epsilon_, False)) < 1e-6


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float32_and_tall_chunks(rng, intercept, dtype):
    H, Y = problem(rng, 3000, 60)
    model = Opium("auto", intercept).fit(H.astype(dtype), Y.astype(dtype))
    assert model.coef_.dtype == dtype
    W = ridge(H.astype(dtype), Y.astype(dtype), model.epsilon_, intercept)
    assert relative_error(weights(model), W) < (1e-9 if dtype == np.float64 else 2e-3)


@pytest.mark.everywhere
@pytest.mark.parametrize("epsilon", ["auto", 0.3, 1e-6])
def test_an_intercept_is_not_held_back(rng, epsilon):
    H, Y = problem(rng, 100, 12)
    model = Opium(epsilon, intercept=True).fit(H, Y + 1000)
    W = ridge(H, Y + 1000, model.epsilon_, True)
    assert relative_error(weights(model), W) < 1e-9
    assert relative_error(model.psi_.T, H.T @ (Y + 1000)) < 1e-9
    centred = H - H.mean(axis=0)
    theta = np.linalg.inv(centred.T @ centred + model.epsilon_**2 * np.eye(12))
    assert relative_error(model.theta_, theta) < 1e-6
    both = Opium(epsilon, intercept=True).fit(H[:50], Y[:50] + 1000)
    both.merge(Opium(epsilon, intercept=True).fit(H[50:], Y[50:] + 1000))
    W = ridge(H, Y + 1000, both.epsilon_, True)
    assert relative_error(weights(both), W) < 1e-8
    with pytest.raises(ValueError, match="epsilon"):
        Opium(0, intercept=True).fit(H, Y)
    with pytest.raises(ValueError, match="intercept"):
        Opium(intercept="yes").fit(H, Y)
    with pytest.raises(ValueError, match="start again"):
        model.set_params(intercept=False).partial_fit(H, Y)


@pytest.mark.everywhere
@pytest.mark.parametrize("solver", [Opium(0.2), Opium(0.2, intercept=True), *AUTO], ids=repr)
def test_leaving_one_out(rng, solver):
    H, Y = problem(rng, 40, 15)
    weight = rng.uniform(0.5, 2, size=40)
    model = clone(solver).fit(H, Y, sample_weight=weight)
    left_out = model.loo_predict(H, Y, sample_weight=weight)
    for i in range(40):
        others = np.arange(40) != i
        W = ridge(H[others], Y[others], model.epsilon_, solver.intercept, weight[others])
        expected = _predictions(H[i : i + 1], W, solver.intercept)[0]
        np.testing.assert_allclose(left_out[i], expected, atol=1e-8)
    flat = clone(solver).fit(H, Y[:, 0])
    assert flat.loo_predict(H, Y[:, 0]).shape == (40,)


def test_leaving_one_out_of_an_estimator(rng):
    X = rng.normal(size=(30, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    model = ELMRegressor(RandomLayer(20), random_state=0).fit(X, y)
    solver = Opium(model.epsilon_, intercept=True)
    for i in range(30):
        others = np.arange(30) != i
        one = ELMRegressor(model.hidden_, solver).fit(X[others], y[others])
        expected = ELMRegressor(RandomLayer(20), solver, random_state=0).fit(X[others], y[others])
        np.testing.assert_allclose(
            model.loo_predict(X, y)[i], expected.predict(X[i : i + 1])[0], atol=1e-8
        )
        assert one.n_features_in_ == 3
    labels = np.where(y > 0, "up", "down")
    classifier = ELMClassifier(20, random_state=0).fit(X, labels)
    assert set(classifier.loo_predict(X, labels)) <= {"up", "down"}
    scores = classifier.loo_predict(X, labels, method="decision_function")
    assert scores.shape == (30,)
    with pytest.raises(ValueError, match="never learned"):
        classifier.loo_predict(X, np.full(30, "left"))
    assert list(classifier.classes_) == ["down", "up"]
    assert not hasattr(ELMRegressor(solver="light"), "loo_predict")


def test_a_class_that_comes_late_does_not_change_the_choice(rng):
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
    early = ELMClassifier(30, random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    late = ELMClassifier(30, random_state=0).partial_fit(X, y)
    assert early.epsilon_ == late.epsilon_
    X_more, y_more = rng.normal(size=(40, 4)), np.full(40, 2)
    early.partial_fit(X_more, y_more)
    late.partial_fit(X_more, y_more)
    assert relative_error(late.solver_.coef_, early.solver_.coef_) < 1e-10


@pytest.mark.full
def test_the_sum_of_many_models(rng):
    H, Y = problem(rng, 2000, 5)
    for solver in (Opium(10.0, intercept=True), Opium("auto", intercept=True)):
        parts = [clone(solver).fit(H[i : i + 20], Y[i : i + 20]) for i in range(0, 2000, 20)]
        whole = clone(solver).fit(H, Y)
        assert sum(parts).epsilon_ == pytest.approx(whole.epsilon_)
        assert relative_error(weights(sum(parts)), weights(whole)) < 1e-9


def test_a_large_epsilon_is_not_for_ever(rng):
    H, w = rng.normal(size=(3000, 30)), rng.normal(size=30)
    noise, clean = rng.normal(size=200), H[200:] @ w
    model = Opium("auto").fit(H[:200], noise)
    large = model.epsilon_
    model.partial_fit(H[200:], clean).unlearn(H[:200], noise)
    assert model.epsilon_ < 0.02 < large
    np.testing.assert_allclose(model.coef_, w, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_cuts_of_rows_far_from_zero(seed):
    rng = np.random.default_rng(seed)
    H = 100 + rng.normal(size=(400, 12))
    y = H @ rng.normal(size=12) + 0.3 * rng.normal(size=400)
    cut = Opium("auto")
    for start in range(0, 400, 8):
        cut.partial_fit(H[start : start + 8], y[start : start + 8])
        cut.predict(H[:1])
    whole = Opium("auto").partial_fit(H, y)
    assert cut.epsilon_ == whole.epsilon_
    assert relative_error(cut.coef_, whole.coef_) < 1e-8


def test_rows_of_weight_zero_change_nothing(rng):
    H, Y = problem(rng, 300, 5)
    weight = np.ones(300)
    weight[3] = 0
    without = Opium("auto", intercept=True).fit(np.delete(H, 3, axis=0), np.delete(Y, 3, axis=0))
    H[3] = 1e12
    model = Opium("auto", intercept=True).fit(H, Y, sample_weight=weight)
    assert model.epsilon_ == without.epsilon_
    assert relative_error(weights(model), weights(without)) < 1e-9


@pytest.mark.full
def test_mnist_without_tuning(data_dir):
    X, y, X_test, y_test = datasets.mnist(data_dir)
    few = np.random.RandomState(0).permutation(len(X))[:2000]
    X, y, X_test = X[few].astype(np.float32), y[few], X_test.astype(np.float32)
    errors = [
        1 - ELMClassifier(RandomLayer(1500), solver, random_state=0).fit(X, y).score(X_test, y_test)
        for solver in ("opium", Opium(1e-3))
    ]
    assert errors[0] < 0.09
    assert errors[1] > 0.15
