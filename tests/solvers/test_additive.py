"""Rows taken away, and models added: as if they had never been, or always been, together."""

import operator
from functools import reduce

import numpy as np
import pytest

from greville import ELMClassifier, ELMRegressor, Greville, Opium, OpiumLight, RandomLayer, datasets

from .. import oracles
from ..every_pair import every_pair
from ..oracles import relative_error
from ..problems import problem

EPSILONS = [0.0, 1e-3, 0.5]


def unchanged(model):
    """What a model must still be after an error."""
    solver = getattr(model, "solver_", model)
    loss = np.asarray(solver.loss_).tobytes()  # this learns rows that wait
    return loss, solver.coef_.tobytes(), model.n_samples_seen_


@pytest.mark.everywhere
@every_pair(epsilon=EPSILONS, shape=[(200, 20), (90, 60), (30, 60)], length=[1, 13, 1000])
def test_unlearning(rng, epsilon, shape, length):
    n, M = shape
    H, Y = problem(rng, n, M)
    weight = rng.uniform(0.5, 2, size=n)
    gone = rng.permutation(n)[: n // 4]
    left = np.setdiff1d(np.arange(n), gone)
    model = Opium(epsilon).partial_fit(H, Y, weight)
    if epsilon < 0.1 and len(left) < M:  # in some directions next to nothing is left
        before = unchanged(model)
        with pytest.raises(ValueError, match="cannot be unlearned"):
            model.unlearn(H[gone], Y[gone], weight[gone])
        assert unchanged(model) == before
        return
    for start in range(0, len(gone), length):
        some = gone[start : start + length]
        assert model.unlearn(H[some], Y[some], weight[some]) is model
    want = oracles.pseudoinverse_weights(H[left], Y[left], epsilon, weight[left])
    assert relative_error(model.coef_.T, want) < 1e-8
    assert model.n_samples_seen_ == len(left)
    fresh = Opium(epsilon).fit(H[left], Y[left], weight[left])
    np.testing.assert_allclose(model.loss_, fresh.loss_, rtol=1e-6, atol=1e-9)
    more, targets = problem(rng, 40, M)
    model.partial_fit(more, targets)
    assert relative_error(model.coef_, fresh.partial_fit(more, targets).coef_) < 1e-8


def test_unlearning_eight_hundred_of_two_thousand(rng):
    X = rng.normal(size=(2000, 20))
    H, Y = RandomLayer(200, random_state=0).fit_transform(X), rng.normal(size=(2000, 2))
    model = Opium().fit(H, Y)
    order = rng.permutation(2000)
    for chunk in np.split(order[:800], 10):
        model.unlearn(H[chunk], Y[chunk])
    want = oracles.pseudoinverse_weights(H[order[800:]], Y[order[800:]], 1e-3)
    assert relative_error(model.coef_.T, want) < 1e-8


def test_unlearning_everything(rng):
    H, Y = problem(rng, 50, 8)
    model = Opium(0.5).fit(H, Y).unlearn(H, Y)
    assert np.abs(model.coef_).max() < 1e-10
    assert model.n_samples_seen_ == 0


@pytest.mark.everywhere
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_were_never_learned(rng, dtype):
    H, Y = (a.astype(dtype) for a in problem(rng, 60, 20))
    model = Opium().partial_fit(H[:50], Y[:50])
    for rows, targets in (
        (100 * H[50:], Y[50:]),  # more than there is
        (H[:50], 3 * Y[:50]),  # the right rows, the wrong targets
        (np.vstack([H, H]), np.vstack([Y, Y])),  # more rows than were learned
    ):
        before = unchanged(model)
        with pytest.raises(ValueError, match="unlearn"):
            model.unlearn(rows, targets)
        assert unchanged(model) == before
    few = Opium(1e-12).partial_fit(H[:5], Y[:5])  # these span five directions
    with pytest.raises(ValueError, match="unlearn"):
        few.unlearn(H[5:7], Y[5:7])


def test_unlearning_checks_its_arguments(rng):
    H, Y = problem(rng, 30, 5)
    model = Opium().fit(H, Y)
    for bad, name in (((H[:, :4], Y), "X"), ((H, Y[:, :1]), "y"), ((H * np.nan, Y), "X")):
        before = unchanged(model)
        with pytest.raises(ValueError, match=name):
            model.unlearn(*bad)
        assert unchanged(model) == before
    assert not hasattr(OpiumLight(), "unlearn")
    with pytest.raises(AttributeError) as refused:
        ELMRegressor(solver="light").unlearn  # noqa: B018
    assert "use the solver Opium" in str(refused.value)


@pytest.mark.everywhere
@every_pair(
    solver=[Greville(), Opium(0), Opium(1e-3), Opium(1e-12), Opium(0.5)],
    shape=[(200, 20), (70, 60), (30, 60)],
    cuts=[[100], [20], [1, 5, 20]],
)
def test_merging(rng, solver, shape, cuts):
    n, M = shape
    H, Y = problem(rng, n, M)
    parts = np.split(np.arange(n), [c for c in cuts if c < n])
    models = [type(solver)(**solver.get_params()).fit(H[part], Y[part]) for part in parts]
    before = [unchanged(model) for model in models]
    U, s, Vt = np.linalg.svd(H, full_matrices=False)
    want = Vt.T * (s / (s**2 + getattr(solver, "epsilon", 0.0) ** 2)) @ U.T @ Y
    for merged in (sum(models), reduce(operator.add, models)):
        assert relative_error(merged.coef_.T, want) < 1e-10
        assert merged.n_samples_seen_ == n
    assert [unchanged(model) for model in models] == before  # addition makes a new one
    again = models[0].merge(*models[1:])
    assert again is models[0]
    assert relative_error(again.coef_.T, want) < 1e-10
    whole = type(solver)(**solver.get_params()).fit(H, Y)
    np.testing.assert_allclose(again.loss_, whole.loss_, rtol=1e-6, atol=1e-8)
    more, targets = problem(rng, 50, M)
    assert (
        relative_error(
            again.partial_fit(more, targets).coef_, whole.partial_fit(more, targets).coef_
        )
        < 1e-9
    )


def test_what_cannot_be_merged(rng):
    H, Y = problem(rng, 40, 5)
    model = Opium(0.1).fit(H, Y)
    for other, why in (
        (Opium(0.2).fit(H, Y), "epsilon is 0.2"),
        (Opium(0.1).fit(H[:, :4], Y), "units is 4"),
        (Opium(0.1).fit(H, Y[:, :1]), "outputs is 1"),
        (Opium(0.1).fit(H.astype(np.float32), Y), "dtype is float32"),
        (Greville().fit(H, Y), "expected Opium, got Greville"),
        (Opium(0.1), "not fitted"),
    ):
        before = unchanged(model)
        with pytest.raises(ValueError, match=why):
            model.merge(model + model, other)
        assert unchanged(model) == before
    with pytest.raises(TypeError):
        model + 1


# The estimators


@pytest.fixture
def classes(rng):
    X = rng.normal(size=(300, 4))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    return X, y


def test_regressors(rng):
    X = rng.normal(size=(300, 4))
    y = np.sin(X[:, 0]) + X[:, 1]
    whole = ELMRegressor(30, random_state=1).fit(X, y)
    parts = [ELMRegressor(30, random_state=1).fit(X[i::3], y[i::3]) for i in range(3)]
    merged = sum(parts)
    assert relative_error(merged.solver_.coef_, whole.solver_.coef_) < 1e-10
    assert np.allclose(merged.predict(X), whole.predict(X), atol=1e-9)
    without = ELMRegressor(30, random_state=1).fit(X[100:], y[100:])
    assert whole.unlearn(X[:100], y[:100]) is whole
    assert relative_error(whole.solver_.coef_, without.solver_.coef_) < 1e-8
    parts[0].merge(parts[1])
    assert parts[0].n_samples_seen_ == 200
    before = unchanged(parts[0])
    for other in (
        ELMRegressor(30, random_state=2).fit(X, y),
        ELMRegressor(31, random_state=1).fit(X, y),
        ELMRegressor(RandomLayer(30, activation="relu"), random_state=1).fit(X, y),
        ELMClassifier(30, random_state=1).fit(X, y > 0),
    ):
        with pytest.raises(ValueError, match="other"):
            parts[0].merge(other)
        assert unchanged(parts[0]) == before
    same = ELMRegressor(RandomLayer(30, bias=True, random_state=1)).fit(
        X, y
    )  # seeded in another place
    parts[1].merge(same)


def test_classifiers(classes):
    X, y = classes
    whole = ELMClassifier(30, Opium(0.1), random_state=1).fit(X, y)
    few = y != "c"
    first = ELMClassifier(30, Opium(0.1), random_state=1).fit(X[few][:80], y[few][:80])
    rest = np.setdiff1d(np.arange(300), np.flatnonzero(few)[:80])
    rest = rest[y[rest] != "a"]
    second = ELMClassifier(30, Opium(0.1), random_state=1).fit(X[rest], y[rest])
    third = np.setdiff1d(np.arange(300), np.concatenate([np.flatnonzero(few)[:80], rest]))
    assert set(first.classes_) == {"a", "b"}
    assert set(second.classes_) == {"b", "c"}
    merged = first + second
    assert set(second.classes_) == {"b", "c"}  # it is as it was
    merged.partial_fit(X[third], y[third])
    assert list(merged.classes_) == ["a", "b", "c"]
    assert relative_error(merged.solver_.coef_, whole.solver_.coef_) < 1e-10
    assert np.array_equal(merged.predict(X), whole.predict(X))
    corrected = np.where(np.arange(300) < 10, "b", y)
    whole.unlearn(X[:10], y[:10]).partial_fit(X[:10], corrected[:10])
    want = ELMClassifier(30, Opium(0.1), random_state=1).fit(X, corrected)
    assert relative_error(whole.solver_.coef_, want.solver_.coef_) < 1e-8
    before = unchanged(whole)
    with pytest.raises(ValueError, match="never learned"):
        whole.unlearn(X[:3], ["a", "b", "z"])
    assert unchanged(whole) == before
    assert list(whole.classes_) == ["a", "b", "c"]


@pytest.mark.full
def test_eight_shards_of_mnist(data_dir):
    X, y, _, _ = datasets.mnist(data_dir)
    X, y = X[:10_000].astype(float), y[:10_000]
    whole = ELMClassifier(1000, random_state=0).fit(X, y)
    shards = [ELMClassifier(1000, random_state=0).fit(X[i::8], y[i::8]) for i in range(8)]
    assert relative_error(sum(shards).solver_.coef_, whole.solver_.coef_) < 1e-10
