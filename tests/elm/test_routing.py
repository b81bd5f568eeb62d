"""Metadata routing: weights and classes on their way through scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import StackingRegressor, VotingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greville
from greville import (
    Batch,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Greville,
    Opium,
    OpiumLight,
    SlidingOpium,
    TableClassifier,
    TableRegressor,
)

SOLVERS = [Batch(), Greville(), Opium(), OpiumLight(), DynamicOpium(), SlidingOpium(50)]
LEARNERS = [ELMRegressor(20, random_state=0), ELMClassifier(20, random_state=0), *SOLVERS]
each_learner = pytest.mark.parametrize("model", LEARNERS, ids=lambda model: type(model).__name__)


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def data(rng):
    X = rng.normal(0.5, 2.0, size=(120, 4))
    weight = rng.integers(0, 3, size=120).astype(float)
    return X, X[:, 0] + np.abs(X[:, 1]), weight


def targets(model, y):
    return np.where(y > 1.5, "high", "low") if isinstance(model, ELMClassifier) else y


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@each_learner
def test_weights_arrive_at_the_end_of_a_pipeline(model, data):
    X, y, weight = data
    y = targets(model, y)
    pipeline = make_pipeline(StandardScaler(), clone(model).set_fit_request(sample_weight=True))
    with pytest.raises(UnsetMetadataPassedError):
        make_pipeline(StandardScaler(), clone(model)).fit(X, y, sample_weight=weight)
    # The scaler has not asked for weights: it refuses to guess.
    pipeline[0].set_fit_request(sample_weight=False)
    pipeline.fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    by_hand = clone(model).fit(scaled, y, sample_weight=weight)
    without = clone(model).fit(scaled, y)
    np.testing.assert_array_equal(outputs(pipeline, X), outputs(by_hand, scaled))
    assert np.abs(outputs(by_hand, scaled) - outputs(without, scaled)).max() > 1e-4


def test_a_weight_of_two_is_two_rows(data):
    X, y, weight = data
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    model = ELMRegressor(20, Opium(0.1), random_state=0, standardize=False)
    pipeline = make_pipeline(clone(model).set_fit_request(sample_weight=True))
    found = pipeline.fit(X, y, sample_weight=weight).predict(X)
    expected = model.fit(X[repeated], y[repeated]).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@each_learner
def test_requests(model):
    own = type(model).__name__
    routed = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight="w")
    assert routed.get_metadata_routing().fit.requests == {"sample_weight": True}, own
    assert routed.get_metadata_routing().score.requests == {"sample_weight": "w"}, own
    if hasattr(model, "partial_fit"):
        wanted = {"sample_weight": True}
        if isinstance(model, ELMClassifier):
            wanted["classes"] = True
        routed.set_partial_fit_request(**wanted)
        assert routed.get_metadata_routing().partial_fit.requests == wanted
    copied = clone(routed).get_metadata_routing().fit.requests
    assert copied == {"sample_weight": True}


def test_partial_fit_through_a_tool_that_routes(data):
    X, y, weight = data
    Y = np.column_stack([y, y**2])
    model = ELMRegressor(20, Opium(0.1), random_state=0, standardize=False)
    routed = MultiOutputRegressor(clone(model).set_partial_fit_request(sample_weight=True))
    routed.partial_fit(X, Y, sample_weight=weight)
    expected = [
        clone(model).partial_fit(X, column, sample_weight=weight).predict(X) for column in Y.T
    ]
    np.testing.assert_array_equal(routed.predict(X), np.transpose(expected))
    without = clone(model).partial_fit(X, y).predict(X)
    assert np.abs(without - expected[0]).max() > 1e-4


def test_cross_validation_cuts_the_weights_as_the_rows(data):
    X, y, weight = data
    model = ELMRegressor(20, random_state=0)
    routed = clone(model).set_fit_request(sample_weight=True)
    scorer = make_scorer(mean_squared_error).set_score_request(sample_weight=True)
    found = cross_validate(
        routed, X, y, cv=KFold(3), scoring=scorer, params={"sample_weight": weight}
    )["test_score"]
    expected = []
    for train, test in KFold(3).split(X):
        fitted = clone(model).fit(X[train], y[train], sample_weight=weight[train])
        expected.append(
            mean_squared_error(y[test], fitted.predict(X[test]), sample_weight=weight[test])
        )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "model", [ELMRegressor(20, Opium(), random_state=0), ELMClassifier(20, Opium(), random_state=0)]
)
def test_grid_search_fits_and_scores_with_weights(model, data):
    X, y, weight = data
    y = targets(model, y)
    routed = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(routed, {"solver__epsilon": [0.1, 10.0]}, cv=KFold(2))
    search.fit(X, y, sample_weight=weight)
    for epsilon, found in zip([0.1, 10.0], search.cv_results_["mean_test_score"], strict=True):
        scores = []
        for train, test in KFold(2).split(X):
            fitted = clone(model).set_params(solver__epsilon=epsilon)
            fitted.fit(X[train], y[train], sample_weight=weight[train])
            scores.append(fitted.score(X[test], y[test], sample_weight=weight[test]))
        assert found == pytest.approx(np.mean(scores), rel=1e-12)
    best = clone(model).set_params(**search.best_params_).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(outputs(search, X), outputs(best, X))


def test_in_a_stack(data):
    X, y, weight = data
    routed = ELMRegressor(20, random_state=0).set_fit_request(sample_weight=True)
    last = LinearRegression().set_fit_request(sample_weight=True)
    stack = StackingRegressor([("units", routed)], last, cv=KFold(2))
    stack.fit(X, y, sample_weight=weight)
    by_hand = ELMRegressor(20, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(stack.named_estimators_["units"].predict(X), by_hand.predict(X))


def test_in_a_vote(data):
    X, y, weight = data
    y = np.where(y > 1.5, "high", "low")
    routed = ELMClassifier(20, random_state=0).set_fit_request(sample_weight=True)
    vote = VotingClassifier([("units", routed)], voting="soft")
    vote.fit(X, y, sample_weight=weight)
    places = np.unique(y, return_inverse=True)[1]  # which the vote passes on
    by_hand = ELMClassifier(20, random_state=0).fit(X, places, sample_weight=weight)
    np.testing.assert_array_equal(vote.predict_proba(X), by_hand.predict_proba(X))


@pytest.mark.parametrize("model", [TableRegressor(20), TableClassifier(20)], ids=str)
def test_scores_of_tables_have_weights(model, data):
    """What learns tables takes weights in fit and in score, and says so by its requests."""
    X, y, weight = data
    y = np.where(y > 1.5, "high", "low") if isinstance(model, TableClassifier) else y
    frame = pd.DataFrame(X, columns=list("abcd"))
    routed = clone(model).set_score_request(sample_weight=True)
    routed.set_fit_request(sample_weight=True)
    if isinstance(model, TableClassifier):
        routed.set_partial_fit_request(classes=True)
    pipeline = make_pipeline(routed).fit(frame, y, sample_weight=weight)
    by_hand = clone(model).fit(frame, y, sample_weight=weight)
    np.testing.assert_array_equal(pipeline.predict(frame), by_hand.predict(frame))
    found = pipeline.score(frame, y, sample_weight=weight)
    assert found == pipeline[-1].score(frame, y, sample_weight=weight)
    assert found != pipeline.score(frame, y)


def test_models_with_requests_can_be_saved(data, tmp_path):
    X, y, weight = data
    solver = Opium(0.1).set_fit_request(sample_weight=True)
    model = ELMRegressor(20, solver, random_state=0).set_fit_request(sample_weight=True)
    for fitted in (model.fit(X, y, weight), clone(solver).fit(X, y, weight)):
        greville.save(fitted, tmp_path / "model.greville")
        loaded = greville.load(tmp_path / "model.greville")
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
        assert loaded.get_metadata_routing().fit.requests == {"sample_weight": None}
