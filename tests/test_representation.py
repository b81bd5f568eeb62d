"""What notebooks show of a model is true, and looking at it changes nothing."""

from html import escape

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import VotingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greville import (
    Batch,
    ClassLayer,
    ContrastLayer,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    Greville,
    Opium,
    OpiumLight,
    PatchLayer,
    RandomLayer,
    ReceptiveFieldLayer,
    SlidingOpium,
    StackedLayer,
    TableClassifier,
    TableLayer,
    TableRegressor,
    compiled,
    representation,
)
from greville.solvers import Solver

HEADING = "What was learned"
SOLVERS = [
    Batch(),
    Greville(),
    Opium(0.1),
    Opium("auto", intercept=True),
    OpiumLight(),
    DynamicOpium(),
    DynamicOpium("auto"),
    DynamicOpium(1.01, "auto"),
    SlidingOpium(50),
]
LAYERS = [
    RandomLayer(5, activation=np.tanh),
    TableLayer(80),
    FourierLayer(7),
    ReceptiveFieldLayer((4, 4), 5, border=0, min_area=4),
    ContrastLayer(6),
    ClassLayer(6),
    PatchLayer((4, 4), 3),
    StackedLayer(RandomLayer(5), FourierLayer(4)),
]
MODELS = [
    ELMRegressor(20),
    ELMClassifier(20),
    TableRegressor(20),
    TableClassifier(20),
    ELMRegressor(StandardScaler()),
]
ONLINE = [solver for solver in SOLVERS if not isinstance(solver, Batch)]


@pytest.fixture
def data(rng):
    X = rng.normal(1.0, 2.0, size=(300, 16))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300)


def fitted(model, X, y):
    needs_classes = isinstance(model, (ContrastLayer, ClassLayer)) or "Classifier" in str(model)
    return clone(model).fit(X, y > 1 if needs_classes else y)


def html(model):
    """What a notebook shows."""
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    return bundle["text/html"]


@pytest.mark.parametrize("model", [*SOLVERS, *LAYERS, *MODELS], ids=lambda model: str(model)[:40])
def test_fitted_and_not(model, data):
    assert HEADING not in html(model)
    assert model.summary() == {}
    assert "Not fitted" in html(model)
    shown = fitted(model, *data)
    text, summary = html(shown), shown.summary()
    assert text.count(HEADING) == 1
    for name, value in summary.items():
        assert escape(name) in text
        assert escape(value) in text
    assert "memory" in summary
    if not hasattr(model, "transform"):
        assert summary["rows"] == "300"
        assert summary["device"] == "cpu"


@pytest.mark.parametrize("model", [ELMRegressor(20, Opium()), TableRegressor(20), RandomLayer(5)])
def test_parts_of_pipelines(model, data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), model)
    assert HEADING not in html(pipeline)
    assert html(pipeline.fit(X, y)).count(HEADING) == 1
    if hasattr(model, "predict"):
        vote = VotingRegressor([("one", clone(model)), ("two", ELMRegressor(5))])
        assert HEADING not in html(vote)
        html(vote.fit(X, y))


def test_inside_a_grid_search_and_beside_the_model(data):
    X, y = data
    search = GridSearchCV(ELMRegressor(20, Opium()), {"solver__epsilon": [0.1, 1.0]}, cv=2)
    assert HEADING not in html(search)
    html(search.fit(X, y))
    model = ELMRegressor(20, random_state=0).fit(X, y)
    for made in (model.frozen(), model + model):
        assert "hidden layer" in made.summary()
        assert HEADING in html(made)


def test_as_text_where_that_is_wanted(data):
    model = ELMRegressor(20).fit(*data)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


# Nothing changes


def state_of(model):
    """All that is kept of a model, but for numbers of locks."""
    return {k: id(v) for k, v in vars(model).items()}


KERNELS = [False, pytest.param(True, marks=pytest.mark.full)]  # numba compiles them


@pytest.mark.parametrize("solver", ONLINE, ids=str)
@pytest.mark.parametrize("kernels", KERNELS, ids=["plain", "compiled"])
def test_looking_changes_nothing(solver, kernels, data):
    """Not a bit, while rows wait or are learned in place."""
    X, y = data
    make = ELMRegressor(12, solver, random_state=0, standardize=False)
    live = {False: 0, True: 0}
    with compiled.use(kernels):
        seen, unseen, alone, other = map(clone, (make, make, solver, solver))
        for i in range(120):
            for model in (seen, unseen, alone, other):
                model.learn_one(X[i], y[i])
            for model in (seen, alone):
                before = state_of(model)
                if i % 40 == 20:
                    html(model)
                assert model.summary()["rows"] == f"{i + 1}"
                assert state_of(model) == before
            assert (seen._live is None) == (unseen._live is None)
            live[seen._live is not None] += 1
            if i % 11 == 0:
                assert seen.predict_one(X[0]) == unseen.predict_one(X[0])
                assert alone.predict_one(X[0]) == other.predict_one(X[0])
        np.testing.assert_array_equal(seen.solver_.coef_, unseen.solver_.coef_)
        np.testing.assert_array_equal(alone.coef_, other.coef_)
    if isinstance(solver, Opium):
        assert (live[True] > 0) == kernels


@pytest.mark.parametrize("model", [ELMRegressor(30), ELMClassifier(30), TableRegressor(30)])
def test_looking_between_chunks_changes_nothing(model, data):
    X, y = data
    y = y > 1 if isinstance(model, ELMClassifier) else y
    model = clone(model).set_params(random_state=0)
    seen, unseen = clone(model), clone(model)
    for start in range(0, 300, 20):
        part = slice(start, start + 20)
        for each in (seen, unseen):
            each.partial_fit(X[part], y[part])
        html(seen)
    np.testing.assert_array_equal(seen.predict(X), unseen.predict(X))
    if not isinstance(model, TableRegressor):
        np.testing.assert_array_equal(seen.solver_.coef_, unseen.solver_.coef_)


def test_rows_of_a_table_that_wait(data):
    X, y = data
    model = TableRegressor(20).partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert model.summary()["rows"].startswith("300, which are learned when")
    html(model)
    assert model.model_.n_waiting == 300
    model.predict(X)
    assert model.summary()["rows"] == "300"


def test_nothing_expensive_is_read(data, monkeypatch):
    """scikit-learn itself would read every attribute."""

    def refused(self):
        raise AssertionError

    for name in ("theta_", "psi_", "loss_"):
        monkeypatch.setattr(Solver, name, property(refused))
    for name in ("solver_", "epsilon_"):
        monkeypatch.setattr(ELMRegressor, name, property(refused))
    X, y = data
    for model in (Opium(), ELMRegressor(20), make_pipeline(ELMRegressor(20))):
        html(model.fit(X, y))


# Nothing is untrue


@pytest.mark.parametrize("n", [1, 33, 64, 100])
@pytest.mark.parametrize("solver", ["opium", "dynamic", Opium(0.3), SlidingOpium(50)], ids=str)
@pytest.mark.parametrize("kernels", KERNELS, ids=["plain", "compiled"])
def test_epsilon_is_the_one_in_use_or_none(solver, n, kernels, data):
    X, y = data
    with compiled.use(kernels):
        model = ELMRegressor(12, solver, random_state=0)
        for i in range(n):
            model.learn_one(X[i], y[i])
        shown = model.summary().get("epsilon")
        if isinstance(solver, SlidingOpium):
            assert shown == f"{solver.epsilon:.4g}"
        elif shown is not None:
            assert float(shown.split(",")[0]) == pytest.approx(model.epsilon_, rel=1e-3)
        fresh = ELMRegressor(12, solver, random_state=0).fit(X, y)
        if not isinstance(solver, SlidingOpium):
            shown = fresh.summary()["epsilon"]
            assert float(shown.split(",")[0]) == pytest.approx(fresh.epsilon_, rel=1e-3)
            assert shown.endswith("chosen from the rows") == isinstance(solver, str)


def test_forgetting():
    X = np.eye(3)
    found = {
        str(solver): clone(solver).fit(X, X[0]).summary().get("forgetting") for solver in SOLVERS
    }
    assert found["Opium(epsilon=0.1)"] == found["Batch()"] == "none: all rows count alike"
    assert found["SlidingOpium(window=50)"] == "only the last 50 rows count"
    weight = (2 - 1.003) ** 231
    assert abs(weight - 0.5) < 1e-3
    assert found["DynamicOpium()"] == "a row counts half as much after 231 others (alpha=1.003)"
    assert found["OpiumLight()"] is None  # it forgets in a way that has no such number


# Names from data


def test_names_are_escaped(data):
    X, y = data
    evil = "<script>alert('1')</script>"
    frame = pd.DataFrame({evil: X[:, 0], "<b>bold</b>": X[:, 1], "x" * 500: X[:, 2]})
    labels = np.where(y > 1, "<img src=x onerror=alert(2)>", "&amp;")
    for model in (ELMClassifier(20), TableClassifier(20)):
        model.fit(frame, labels)
        for shown in (model, make_pipeline(StandardScaler(), clone(model)).fit(X, labels)):
            text = html(shown)
            for name in ("<script>alert", "<b>bold", "<img"):
                assert name not in text
            assert "&lt;img src=x onerror=alert(2)" in text
            assert "&amp;amp;" in text
        assert "x" * 31 not in model.summary().get("inputs", "")
    layer = RandomLayer(5).fit(frame)
    assert "<b>bold" not in html(layer)


def test_many_names_are_cut():
    assert representation.named_list(range(10_000), 10_000) == "10,000: 0, 1, 2, 3, 4, 5, 6, 7, ..."
    assert representation.named_list((), 5) == "5"
    many = representation.named_list(["a" * 100], 1)
    assert len(many) < 40


def test_it_never_raises(data, monkeypatch):
    model = ELMRegressor(20).fit(*data)

    def broken(self):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(ELMRegressor, "summary", broken)
        text = html(model)
        assert "ELMRegressor" in text
        assert HEADING not in text
    with monkeypatch.context() as patch:
        patch.setattr(BaseEstimator, "_html_repr", broken)
        assert html(model).startswith("<pre>&lt;greville.elm.regressor.ELMRegressor object")
