"""Linear models: the estimators without a hidden layer, against a dense solution."""

import numpy as np
import pytest
from scipy import sparse

import greville
from greville import ELMClassifier, ELMRegressor, LinearClassifier, LinearRegressor, Opium


def problem(rng, n=200, outputs=0, far=True):
    X = rng.normal(size=(n, 5)) * ([1, 30, 0.01, 4, 900] if far else 1)
    X = X + np.array([0, 10, 5, -3, 1e4]) if far else X
    Y = X @ rng.normal(size=(5, max(outputs, 1))) + rng.normal(size=(n, max(outputs, 1))) + 7
    return X, Y if outputs else Y[:, 0]


def ridge(X, Y, weight, epsilon):
    """Weights and constant of the ridge solution with a free constant, from dense sums."""
    share = weight / weight.sum()
    x, y = share @ X, share @ Y
    A, B, weighted = X - x, Y - y, (weight[:, None] * (X - x)).T
    W = np.linalg.solve(weighted @ A + epsilon**2 * np.eye(X.shape[1]), weighted @ B)
    return W, y - x @ W


@pytest.mark.parametrize("outputs", [0, 3])
@pytest.mark.parametrize("route", ["fit", "chunks", "one by one"])
def test_the_weights_are_the_ridge_solution(rng, outputs, route, either_way):
    X, Y = problem(rng, outputs=outputs, far=False)
    model, weight = LinearRegressor(Opium(0.7, intercept=True), standardize=False), np.ones(200)
    if route == "fit":
        weight = rng.uniform(0.5, 2, size=200)
        model.fit(X, Y, weight)
    elif route == "chunks":
        for start in range(0, 200, 27):
            model.partial_fit(X[start : start + 27], Y[start : start + 27])
    else:
        for x, y in zip(X, Y, strict=True):
            model.learn_one(x, y)
    W, constant = ridge(X, Y.reshape(200, -1), weight, 0.7)
    np.testing.assert_allclose(model.coef_, W.T if outputs else W[:, 0], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, constant if outputs else constant[0], rtol=1e-9)
    np.testing.assert_allclose(model.predict_one(X[3]), model.predict(X[3:4])[0], rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, np.float32])
def test_weights_are_in_the_units_that_are_passed(rng, make):
    X, y = problem(rng)
    X = np.where(np.abs(X) > 1, X, 0)
    model = LinearRegressor().fit(make(X), y)
    rtol = 2e-3 if make is np.float32 else 1e-9
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(make(X)), rtol)


def test_the_classes_have_planes(rng):
    X, y = problem(rng)
    two, three = y > np.median(y), np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = LinearClassifier().fit(X, two)
    assert model.coef_.shape == (1, 5)
    scores = (X @ model.coef_.T + model.intercept_)[:, 0]
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)
    model = LinearClassifier().fit(X, three)
    assert model.coef_.shape == (3, 5)
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_rows_are_unlearned_and_models_merged(rng):
    X, y = problem(rng, far=False)
    whole = LinearRegressor(Opium(0.7, intercept=True)).fit(X, y)
    half = LinearRegressor(Opium(0.7, intercept=True)).fit(X[:120], y[:120])
    other = LinearRegressor(Opium(0.7, intercept=True)).fit(X[120:], y[120:])
    np.testing.assert_allclose((half + other).coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(whole.unlearn(X[120:], y[120:]).coef_, half.coef_, rtol=1e-9)


def test_leaving_a_row_out_is_the_model_without_it(rng):
    X, y = problem(rng, far=False)
    model = LinearRegressor(Opium(0.7, intercept=True)).fit(X, y)
    without = LinearRegressor(Opium(0.7, intercept=True)).fit(np.delete(X, 8, 0), np.delete(y, 8))
    np.testing.assert_allclose(model.loo_predict(X, y)[8], without.predict(X[8:9])[0], rtol=1e-9)
    _, std = model.predict(X, return_std=True)
    assert 0.8 < std.mean() < 1.2  # of noise with the deviation 1


def test_a_label_may_come_late(rng):
    X, y = problem(rng)
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    late = np.argsort(labels, kind="stable")
    model, knew = LinearClassifier(), LinearClassifier()
    knew.partial_fit(X[late[:90]], labels[late[:90]], classes=["a", "b", "c"])
    for m, start in ((model, 0), (knew, 90)):
        m.partial_fit(X[late[start:]], labels[late[start:]])
    np.testing.assert_allclose(model.decision_function(X), knew.decision_function(X), atol=1e-8)


def test_it_is_the_elm_without_a_layer(rng):
    X, y = problem(rng)
    for linear, elm in ((LinearRegressor, ELMRegressor), (LinearClassifier, ELMClassifier)):
        target = y if elm is ELMRegressor else y > 0
        model, same = linear().fit(X, target), elm(None).fit(X, target)
        np.testing.assert_array_equal(model.predict(X), same.predict(X))
        assert model.hidden_ is None


def test_a_file_holds_it(rng, tmp_path):
    X, y = problem(rng)
    for model, target in ((LinearRegressor("dynamic"), y), (LinearClassifier(), y > 0)):
        model.partial_fit(X[:90], target[:90])
        greville.save(model, tmp_path / "model.greville")
        loaded = greville.load(tmp_path / "model.greville")
        for m in (model, loaded):
            m.partial_fit(X[90:], target[90:])
        assert repr(loaded) == repr(model)
        np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_many_sparse_columns_are_refused_where_they_do_not_fit():
    X = sparse.eye_array(400_000, 400_000, format="csr")
    with pytest.raises(MemoryError, match="columns"):
        LinearClassifier(standardize=True).fit(X, np.arange(400_000) % 2)


def wide(rng, n=60):
    """Sparse rows of very many columns, of which some are copies, one is zero, and one short."""
    X = np.where(rng.random((n, 20_000)) < 0.004, rng.random((n, 20_000)), 0)
    X[5], X[40] = X[4], X[41]
    X[7] *= 1e-9
    X[9] = 0
    X = sparse.csr_array(X)
    return X, X @ rng.normal(size=20_000) + 0.1 * rng.normal(size=n) + 3


@pytest.mark.parametrize("route", ["fit", "chunks", "one by one"])
def test_many_sparse_columns_are_learned_exactly_in_the_span_of_the_rows(rng, route):
    X, y = wide(rng)
    model = LinearRegressor(Opium(0.7, intercept=True))
    if route == "fit":
        model.fit(X, y)
    elif route == "chunks":
        for start in range(0, 60, 17):
            model.partial_fit(X[start : start + 17], y[start : start + 17])
    else:
        model.partial_fit(X[:1], y[:1])
        for i in range(1, 60):
            model.learn_one(X[[i]].toarray()[0], y[i])
    # (K + 0.49 I) a = y around the means of the rows, and W = X'a
    centre = np.eye(60) - 1 / 60
    K = centre @ (X @ X.T).toarray() @ centre
    W = X.T @ (centre @ np.linalg.solve(K + 0.49 * np.eye(60), centre @ y))
    constant = y.mean() - X.mean(axis=0) @ W
    np.testing.assert_allclose(model.coef_, W, atol=1e-5 * np.abs(W).max())
    np.testing.assert_allclose(model.predict(X), X @ W + constant, rtol=1e-5)
    np.testing.assert_allclose(model.intercept_, constant, rtol=1e-5)


def test_a_model_of_many_sparse_columns_grows_unlearns_and_is_saved(rng, tmp_path):
    X, y = wide(rng)
    solver = Opium(0.7, intercept=True)
    half, whole = (LinearRegressor(solver).fit(X[:n], y[:n]) for n in (30, 60))
    greville.save(half, tmp_path / "model.greville")
    model = greville.load(tmp_path / "model.greville").partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-5)
    more, fewer = (m.predict(X[50:], return_std=True)[1] for m in (half, whole))
    assert (more > 1.2 * fewer).sum() >= 8  # of rows it has not seen
    model.unlearn(X[30:], y[30:])
    np.testing.assert_allclose(model.predict(X), half.predict(X), rtol=1e-5)
    left_out = LinearRegressor(solver).fit(X[1:], y[1:]).predict(X[:1])
    np.testing.assert_allclose(whole.loo_predict(X, y)[:1], left_out, rtol=1e-5)


def test_of_more_rows_than_there_is_room_for_projections_are_learned(rng, monkeypatch):
    monkeypatch.setattr("greville.layers.span.MOST_ROWS", 20)
    X, y = wide(rng)
    model = LinearRegressor(Opium(0.7, intercept=True)).fit(X, y).partial_fit(X[:3], y[:3])
    assert model.hidden_.n_hidden_ <= 20
    X = model.hidden_.transform(X)
    same = Opium(0.7, intercept=True).fit(X, y).partial_fit(X[:3], y[:3])
    np.testing.assert_allclose(model.fitted_.solver.weights(), same.fitted_.weights(), rtol=1e-9)


def test_numbers_that_are_too_large_are_those_of_X(rng):
    X, y = problem(rng, far=False)
    model = LinearRegressor(standardize=False)
    X[3, 2] = 1e200
    with pytest.raises(ValueError, match="^X: "):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_labels_are_for_the_classifier_of_the_same_kind():
    X = np.random.default_rng(0).normal(size=(9, 30))
    for kind in ("ELM", "Linear", "TimeSeries", "Table"):
        model = getattr(greville, f"{kind}Regressor")()
        with pytest.raises(ValueError, match=f"for labels use {kind}Classifier\\."):
            model.fit(X, ["a", "b", "c"] * 3)
        row = dict(enumerate(X[0])) if kind == "Table" else X[0]
        with pytest.raises(ValueError, match=f"for labels use {kind}Classifier\\."):
            model.learn_one(row, "a")
