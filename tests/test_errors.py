"""Bad input: a ValueError that names the argument, and a model that is as it was to the bit."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer

import greville
from greville import (
    Batch,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Greville,
    Opium,
    OpiumLight,
    RandomLayer,
    SlidingOpium,
)

ONLINE = [
    Greville(),
    Opium(),
    Opium(0),
    OpiumLight(),
    DynamicOpium(),
    DynamicOpium("auto"),
    SlidingOpium(20),
]
NAMES = ["greville", "opium", "light", "dynamic"]
MODELS = [
    *ONLINE,
    *(ELMRegressor(8, name, random_state=0) for name in NAMES),
    *(ELMClassifier(8, name, random_state=0) for name in NAMES),
]

rng = np.random.default_rng(0)
GOOD_X = rng.normal(size=(30, 5))
GOOD_Y = rng.integers(0, 3, size=30)


def with_one(value):
    X = GOOD_X.copy()
    X[29, 4] = value  # the last number of the last row
    return X


# name, X, y, what the message says
BAD = [
    ("nan in X", with_one(np.nan), GOOD_Y, "X.*NaN"),
    ("inf in X", with_one(np.inf), GOOD_Y, "X.*infinity"),
    ("too many columns", np.hstack([GOOD_X, GOOD_X]), GOOD_Y, "X.*10 features.*expecting 5"),
    ("too few columns", GOOD_X[:, :4], GOOD_Y, "X.*4 features.*expecting 5"),
    ("no rows", GOOD_X[:0], GOOD_Y[:0], "X.*0 sample"),
    ("1-d X", GOOD_X[0], GOOD_Y[:1], "X.*Expected 2D array.*Reshape"),
    ("3-d X", GOOD_X[None], GOOD_Y, "X.*dim 3"),
    ("too few targets", GOOD_X, GOOD_Y[:29], "y.*29.*30"),
    ("too many targets", GOOD_X[:29], GOOD_Y, "y.*30.*29"),
    ("complex X", GOOD_X * 1j, GOOD_Y, "X.*Complex data not supported"),
    ("text in X", np.full((30, 5), "a"), GOOD_Y, "X.*expected numbers.*Convert"),
    ("None for y", GOOD_X, None, "y.*y to be passed"),
    ("nan in y", GOOD_X, np.where(GOOD_Y == 2, np.nan, GOOD_Y), "y.*NaN"),
    ("inf in y", GOOD_X, np.where(GOOD_Y == 2, np.inf, GOOD_Y), "y.*infinity"),
    ("3-d y", GOOD_X, np.zeros((30, 2, 2)), "y.*"),
    ("complex y", GOOD_X, GOOD_Y * 1j, "y.*"),
]
ONLY_REGRESSION = [
    ("text for y", GOOD_X, np.full(30, "yes"), "y.*expected numbers.*ELMClassifier"),
    ("numeric text for y", GOOD_X, GOOD_Y.astype(str), "y.*expected numbers.*ELMClassifier"),
    ("text objects for y", GOOD_X, GOOD_Y.astype(str).astype(object), "y.*expected numbers"),
    ("dates for y", GOOD_X, GOOD_Y.astype("datetime64[D]"), "y.*expected numbers"),
    ("sparse y", GOOD_X, sparse.csr_array(GOOD_Y[:, None]), "y.*sparse"),
    ("numbers too large for y", GOOD_X, [10**400] * 30, "y.*too large"),
    ("a scalar for y", GOOD_X, 3.0, r"y.*expected shape \(n,\)"),
    ("two outputs", GOOD_X, np.zeros((30, 2)), "y.*2 outputs.*1"),
    ("huge y", GOOD_X, 1e160 * GOOD_Y, "y.*overflow.*other units"),
    ("no outputs", GOOD_X, np.zeros((30, 0)), "y.*"),
]
ONLY_CLASSIFICATION = [
    ("continuous labels", GOOD_X, GOOD_Y + 0.5, "y.*Unknown label type"),
    ("text after numbers", GOOD_X, np.full(30, "yes"), "y.*text.*numbers"),
    ("labels of two kinds", GOOD_X, np.array([1, "a"] * 15, dtype=object), "y.*one kind"),
    ("None among labels", GOOD_X, np.array([1, None] * 15, dtype=object), "y.*one kind"),
    ("bytes for labels", GOOD_X, np.full(30, b"yes"), "y.*one kind"),
    ("two columns of labels", GOOD_X, np.full((30, 2), 3), "y.*"),
]
WEIGHTS = [
    ("negative", -np.ones(30), "sample_weight.*negative.*>= 0"),
    ("nan", np.full(30, np.nan), "sample_weight.*NaN"),
    ("short", np.ones(7), "sample_weight.*7.*30"),
    ("2-d", np.ones((30, 1)), "sample_weight.*shape"),
    ("text", np.full(30, "w"), "sample_weight.*expected numbers"),
    ("huge", np.full(30, 1e300), "sample_weight.*overflows"),
    ("sparse", sparse.csr_array(np.ones((30, 1))), "sample_weight.*sparse"),
]


def is_classifier(model):
    return isinstance(model, ELMClassifier)


def raises(message):
    return pytest.raises(ValueError, match="(?s)" + message)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_bad_rows(model):
    model = pickle.loads(pickle.dumps(model)).partial_fit(GOOD_X, GOOD_Y)
    model.partial_fit(GOOD_X[:3], GOOD_Y[:3])  # these wait
    before = pickle.dumps(model)
    for _, X, y, message in BAD + (
        ONLY_CLASSIFICATION if is_classifier(model) else ONLY_REGRESSION
    ):
        for method in (model.partial_fit, model.prequential):
            with raises(message):
                method(X, y)
            assert pickle.dumps(model) == before
        if not message.startswith("y"):
            with raises(message):
                model.predict(X)
        if "expecting" not in message and "outputs" not in message and "after" not in _:
            with raises(message):
                model.fit(X, y)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_bad_weights(model):
    model = pickle.loads(pickle.dumps(model)).partial_fit(GOOD_X, GOOD_Y)
    before = pickle.dumps(model)
    for _, weight, message in WEIGHTS:
        for method in (model.fit, model.partial_fit, model.prequential):
            with raises(message):
                method(GOOD_X, GOOD_Y, sample_weight=weight)
            assert pickle.dumps(model) == before
    with raises("sample_weight.*zero"):
        model.fit(GOOD_X, GOOD_Y, sample_weight=np.zeros(30))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_bad_first_rows_leave_a_new_model_new(model):
    model = pickle.loads(pickle.dumps(model))
    for method in (model.fit, model.partial_fit, model.prequential):
        with pytest.raises(ValueError, match="NaN"):
            method(with_one(np.nan), GOOD_Y)
        with pytest.raises(ValueError, match="y"):
            method(GOOD_X, GOOD_Y[:5])
        with pytest.raises(NotFittedError):
            model.predict(GOOD_X)
    model.partial_fit(GOOD_X[:, :3], GOOD_Y)  # and free to learn something else


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Opium(-1e-3), "epsilon=-0.001.*>= 0"),
        (Opium(np.nan), "epsilon=nan"),
        (Opium(np.inf), "epsilon=inf"),
        (Opium("small"), "epsilon='small'"),
        (Opium(1e160), r"epsilon=1e\+160.*overflows"),
        (DynamicOpium(floor=1e160), r"floor=1e\+160.*overflows"),
        (OpiumLight(1e50), r"gain=1e\+50.*< 1e\+15"),
        (Batch(-1), "epsilon=-1"),
        (Greville(-1e-9), "tol=-1e-09"),
        (Greville(1.0), "tol=1.0"),
        (OpiumLight(0), "gain=0.*> 0"),
        (OpiumLight(-2.0), "gain=-2.0"),
        (DynamicOpium(0.99), "alpha=0.99.*>= 1 and < 2"),
        (DynamicOpium(2.0), "alpha=2.0"),
        (DynamicOpium(np.nan), "alpha=nan"),
        (DynamicOpium(epsilon=-1), "epsilon=-1"),
        (DynamicOpium(floor=-1), "floor=-1"),
        (DynamicOpium(floor="low"), "floor='low'.*'auto', None"),
    ],
    ids=str,
)
def test_bad_parameters(solver, message):
    with pytest.raises(ValueError, match=message):
        solver.fit(GOOD_X, GOOD_Y)
    for elm in (ELMRegressor(8, solver), ELMClassifier(8, solver)):
        with pytest.raises(ValueError, match=message):
            elm.fit(GOOD_X, GOOD_Y)
        assert not hasattr(elm, "solver_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden": 0}, "hidden=0"),
        ({"hidden": "lots"}, "hidden='lots'.*'auto'"),
        ({"hidden": RandomLayer}, "hidden=<class.*transformer object"),
        ({"random_state": np.random.default_rng(0)}, "random_state.*Generator.*RandomState"),
        ({"solver": "sgd"}, "solver='sgd'.*'opium'"),
        ({"solver": None}, "solver=None"),
        ({"solver": Opium}, "solver=<class.*solver object"),
    ],
)
def test_bad_estimator_parameters(parameters, message):
    for elm in (ELMRegressor, ELMClassifier):
        model = elm(**parameters)
        for method in (model.fit, model.partial_fit, model.prequential):
            with pytest.raises(ValueError, match=message):
                method(GOOD_X, GOOD_Y)


def test_parameters_changed_for_the_worse():
    model = OpiumLight().partial_fit(GOOD_X, GOOD_Y).set_params(gain=-0.1)
    with pytest.raises(ValueError, match="gain=-0.1"):
        model.partial_fit(GOOD_X, GOOD_Y)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 1, np.nan], "classes.*NaN"),
        ([0, np.inf], "classes.*infinity"),
        ([[0, 1], [2, 3]], "classes"),
        (5, "classes"),
        (["a", "b"], "classes.*text.*numbers"),
        ([None, 1], "classes.*one kind"),
    ],
)
def test_bad_classes(classes, message):
    model = ELMClassifier(8, random_state=0).partial_fit(GOOD_X, GOOD_Y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(GOOD_X, GOOD_Y, classes=classes)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("classes", [{0, 1, 2, 9}, (9,), range(10), np.array([9])], ids=repr)
def test_good_classes(classes):
    model = ELMClassifier(8, random_state=0).partial_fit(GOOD_X, GOOD_Y, classes=classes)
    assert set(model.classes_) == {*GOOD_Y, *classes}


def test_labels_that_cannot_be_told_apart():
    y = np.where(GOOD_Y > 0, 2**60 + 1, 2**60 + 2)
    model = ELMClassifier(8, random_state=0).partial_fit(GOOD_X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="y: labels of int64 and uint64.*told apart"):
        model.partial_fit(GOOD_X, (y + 3).astype(np.uint64))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("column", "message"),
    [("text", "X: expected numbers, got 'text'"), (pd.Timestamp("2020"), "X: expected numbers")],
)
def test_frames_with_other_than_numbers(column, message):
    frame = pd.DataFrame(GOOD_X, columns=list("abcde")).assign(f=column)
    with pytest.raises(ValueError, match=message):
        ELMRegressor(8).fit(frame, GOOD_Y)
    if column == "text":
        with pytest.raises(ValueError, match="y: expected numbers, got text such as 'text'"):
            ELMRegressor(8).fit(GOOD_X, np.full(len(GOOD_X), column))


def test_batch_says_why_it_has_no_partial_fit():
    for solver in ("batch", Batch(0.1)):
        model = ELMRegressor(8, solver)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(AttributeError) as error:
            model.partial_fit(GOOD_X, GOOD_Y)
        assert "needs all rows at once" in str(error.value)


def test_bad_prequential_method():
    with pytest.raises(ValueError, match="method='guess'.*'predict_proba'"):
        ELMClassifier(8).prequential(GOOD_X, GOOD_Y, method="guess")


@pytest.mark.parametrize("elm", [ELMRegressor, ELMClassifier])
@pytest.mark.parametrize("solver", NAMES)
def test_a_layer_that_breaks_in_a_later_block(small_blocks, elm, solver):
    """All blocks or none: the layer overflows on the last of 2000 rows."""
    small_blocks()
    X = np.tile(GOOD_X, (67, 1))[:2000]
    y = np.arange(2000) % 3
    model = elm(FunctionTransformer(np.square), solver).partial_fit(X, y)
    before = pickle.dumps(model)
    X = X.copy()
    X[1999, 2] = 1e120
    for method in (model.fit, model.partial_fit, model.prequential):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            with pytest.raises(ValueError, match=r"hidden.transform\(X\).*overflow"):
                method(X, y + 1)
        assert pickle.dumps(model) == before


def test_an_interrupted_chunk_is_not_learned(small_blocks):
    calls = []

    def interrupted(X):
        calls.append(len(X))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return X

    small_blocks()
    model = ELMRegressor(FunctionTransformer(interrupted), "opium")
    model.fit(GOOD_X, GOOD_Y.astype(float))
    before, calls[:] = model.solver_.coef_, [0, 0]
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(np.tile(GOOD_X, (30, 1)), np.tile(GOOD_Y, 30))
    np.testing.assert_array_equal(model.solver_.coef_, before)
    assert model.n_samples_seen_ == 30


def test_sparse_activations_are_refused_by_solvers():
    with pytest.raises(ValueError, match="X: got a sparse matrix; pass a dense array"):
        Opium().fit(sparse.csr_array(GOOD_X), GOOD_Y)


def test_too_large_numbers():
    with pytest.raises(ValueError, match="X: got numbers.*overflow in float64.*other units"):
        Opium().fit(1e160 * GOOD_X, GOOD_Y)
    with pytest.raises(ValueError, match="X: got numbers.*overflow in float32"):
        Opium().fit(1e20 * GOOD_X.astype(np.float32), GOOD_Y)
    with pytest.raises(ValueError, match="X: got numbers.*with these sample weights.*overflow"):
        Opium().fit(1e140 * GOOD_X, GOOD_Y, sample_weight=np.full(30, 1e30))
    wild = ELMRegressor(FunctionTransformer(lambda X: X * np.nan))
    with pytest.raises(ValueError, match=r"hidden.transform\(X\): contains NaN"):
        wild.fit(GOOD_X, GOOD_Y)


def test_probabilities_of_large_scores():
    identity = RandomLayer(8, activation="identity", random_state=0)
    for labels in (GOOD_Y, np.zeros(30, int)):
        p = ELMClassifier(identity).fit(GOOD_X, labels).predict_proba(1e20 * GOOD_X)
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_gaps_are_for_models_of_tables(kind):
    model = getattr(greville, f"ELM{kind}")(10)
    with pytest.raises(ValueError, match="contains NaN") as caught:
        model.fit([[1.0, np.nan], [2.0, 3.0]], [0, 1])
    assert f"greville.Table{kind}" in str(caught.value)
    assert f"make_pipeline(SimpleImputer(), ELM{kind}())" in str(caught.value)
    assert "Hist" not in str(caught.value)
    with pytest.raises(ValueError, match=r"^X: Input X contains NaN.*SimpleImputer\(\), Opium"):
        greville.Opium().fit([[1.0, np.nan], [2.0, 3.0]], [0, 1])


def test_no_error_is_its_own_cause():
    """Programs that walk along the causes of an error, as Dask does, would never end."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    for bad in (X[:, :2], np.where(X > 0, np.nan, X), X.astype(str), [[1]], X[0]):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            ELMRegressor(5).fit(X, X[:, 0]).predict(bad)
        error, seen = caught.value, []
        while error is not None:
            assert all(error is not each for each in seen)
            seen.append(error)
            error = error.__cause__


def test_rows_as_dicts_are_for_models_of_tables():
    model = ELMRegressor(5)
    with pytest.raises(ValueError, match="x: .* got a dict; TableRegressor"):
        model.learn_one({"a": 1.0}, 2.0)
    model.fit(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="x: .* got a dict; TableRegressor"):
        model.predict_one({"a": 1.0})
