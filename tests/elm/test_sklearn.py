"""scikit-learn's own checks, on every estimator and solver, and life inside its tools."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from greville import (
    Batch,
    ClassLayer,
    ContrastLayer,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    Greville,
    LinearClassifier,
    LinearRegressor,
    MiniRocketLayer,
    Opium,
    OpiumLight,
    RandomLayer,
    SlidingOpium,
    StackedLayer,
    TableLayer,
    TimeSeriesClassifier,
    TimeSeriesRegressor,
)

# One of each kind for every change, and the others in the whole suite: each class once, and the
# solvers in an estimator whose checks they change
ONE_OF_EACH = [
    RandomLayer(20, random_state=0),
    Opium(),
    ELMRegressor(random_state=0),
    ELMClassifier(random_state=0),
]
OTHERS = [
    ContrastLayer(20, random_state=0),
    ClassLayer(20, random_state=0),
    FourierLayer(20, random_state=0),
    StackedLayer(RandomLayer(10, random_state=0), ContrastLayer(20, random_state=0)),
    TableLayer(20, random_state=0),
    Batch(),
    Greville(),
    Opium("auto", intercept=True),
    OpiumLight(),
    DynamicOpium(),
    DynamicOpium("auto"),
    SlidingOpium(),
    LinearRegressor(),
    LinearClassifier(),
    MiniRocketLayer(168, random_state=0),
    TimeSeriesRegressor(MiniRocketLayer(168), random_state=0),
    TimeSeriesClassifier(MiniRocketLayer(168), random_state=0),
    ELMClassifier(solver="light", random_state=0),
    ELMRegressor(FourierLayer(), DynamicOpium(1.01, "auto"), random_state=0, standardize=True),
]

WEIGHTS_DENSE = "check_sample_weight_equivalence_on_dense_data"
WEIGHTS_SPARSE = "check_sample_weight_equivalence_on_sparse_data"
ORDER = "a weight is not a repetition where the order of rows matters; see the docstring's Notes"


FITTED = "the layer is fitted to the rows, however much they count"


def expected_failures(estimator):
    """Every check that an estimator does not pass, with the reason."""
    if isinstance(estimator, (TimeSeriesClassifier, TimeSeriesRegressor)):
        return {WEIGHTS_DENSE: FITTED, WEIGHTS_SPARSE: FITTED}
    solver = getattr(estimator, "solver", None)
    if solver in ("light", "dynamic") or isinstance(solver, DynamicOpium):
        return {WEIGHTS_DENSE: ORDER, WEIGHTS_SPARSE: ORDER}
    if isinstance(estimator, DynamicOpium):
        alpha = "the check sets alpha to 0.01, which is not a rate of forgetting"
        weights = {} if estimator.alpha == "auto" else {WEIGHTS_DENSE: ORDER}
        return {**weights, "check_regressors_train": alpha}
    if isinstance(estimator, OpiumLight):
        return {WEIGHTS_DENSE: ORDER}
    return {}


@parametrize_with_checks(ONE_OF_EACH, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.full
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks_of_all_others(estimator, check):
    check(estimator)


def test_the_estimators_have_no_expected_failures():
    assert expected_failures(ELMRegressor()) == {}
    assert expected_failures(ELMClassifier()) == {}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600]


def test_grid_search_over_layer_and_solver(digits):
    grid = {"hidden": [20, 200], "solver__epsilon": [1e-3, 1.0]}
    search = GridSearchCV(ELMClassifier(solver=Opium(), random_state=0), grid, cv=3)
    search.fit(*digits)
    assert search.best_params_["hidden"] == 200
    assert search.best_score_ > 0.85
    assert search.best_estimator_.solver_.epsilon == search.best_params_["solver__epsilon"]


def test_at_the_end_of_a_pipeline(digits):
    pipeline = make_pipeline(StandardScaler(), ELMClassifier(hidden=200, random_state=0))
    assert cross_val_score(pipeline, *digits, cv=3).min() > 0.7


def test_a_pipeline_as_the_hidden_layer(digits):
    layer = make_pipeline(StandardScaler(), RandomLayer(200))
    model = ELMClassifier(hidden=layer, random_state=3).fit(*digits)
    again = ELMClassifier(hidden=layer, random_state=3).fit(*digits)
    other = ELMClassifier(hidden=layer, random_state=4).fit(*digits)
    assert model.score(*digits) > 0.95
    np.testing.assert_array_equal(model.solver_.coef_, again.solver_.coef_)
    assert not np.array_equal(model.solver_.coef_, other.solver_.coef_)
    assert layer.get_params()["randomlayer__random_state"] is None


def test_grid_search_over_a_parameter_of_a_solver_that_is_named(digits):
    grid = {"solver__epsilon": [1e-3, 1e3]}
    search = GridSearchCV(ELMClassifier(100, random_state=0), grid, cv=3).fit(*digits)
    assert search.best_params_ == {"solver__epsilon": 1e-3}
    assert search.best_estimator_.solver_.epsilon == 1e-3
    assert search.best_estimator_.solver_.intercept


@pytest.mark.parametrize("change", [{"solver": "dynamic"}, {"solver__epsilon": 3.0}])
def test_a_model_that_has_started_goes_on_with_its_solver_or_not_at_all(digits, change):
    X, y = digits
    model = ELMClassifier(50, random_state=0).partial_fit(X[:200], y[:200])
    model.learn_one(X[200], y[200])
    before = model.decision_function(X)
    model.set_params(**change)
    for learn in (lambda: model.partial_fit(X, y), lambda: model.learn_one(X[0], y[0])):
        with pytest.raises(ValueError, match="solver=.*call fit"):
            learn()
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.set_params(solver="opium").learn_one(X[201], y[201])
    assert model.n_samples_seen_ == 202
    assert type(model.set_params(**change).fit(X, y).solver_).__name__ in str(model.solver_)


def test_a_solver_that_is_set_as_an_attribute_is_no_more_ignored(rng, either_way):
    """Nor where kernels learn the rows."""
    X = rng.normal(size=(1300, 3))
    y = X[:, 0] * X[:, 1]
    model = ELMRegressor(20, random_state=0).partial_fit(X[:1100], y[:1100])
    for i in range(1100, 1300):
        model.learn_one(X[i], float(y[i]))
    model.solver = "light"
    with pytest.raises(ValueError, match="solver='light': this model has started with Opium"):
        model.learn_one(X[0], float(y[0]))
    assert model.n_samples_seen_ == 1300


@pytest.mark.parametrize("solver", ["opium", "greville", "light", "dynamic"])
def test_pickled_and_cloned_in_the_middle_of_a_stream(digits, solver):
    X, y = digits
    model = ELMClassifier(hidden=80, solver=solver, random_state=0)
    model.partial_fit(X[:200], y[:200]).partial_fit(X[200:250], y[200:250])
    other = pickle.loads(pickle.dumps(model))
    for m in (model, other):
        m.partial_fit(X[250:], y[250:])
    np.testing.assert_array_equal(model.solver_.coef_, other.solver_.coef_)
    assert not hasattr(clone(model), "solver_")
    assert clone(model).get_params() == model.get_params()
