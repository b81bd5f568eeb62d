"""A solver and a layer of one's own: a class each and one registration, and all else works."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated

import numpy as np
import pytest

import greville
from greville import ELMClassifier, ELMRegressor, RandomLayer
from greville.elm import set_direct_inputs
from greville.fields import count, finite, nothing, number
from greville.layers import Layer, stored_layer
from greville.solvers import Solver, WeightsState, stored_solver, stored_weights
from greville.solvers import registry as solvers
from greville.validation import check_number

from ..houses import houses, write
from ..runner import run
from .problems import classification, regression


@stored_weights
@dataclass(frozen=True, eq=False, kw_only=True)
class StepState(WeightsState):
    """Normalised least mean squares, row by row."""

    step: Annotated[float, finite]

    def innovated(self, H, Y, weight):
        b, W, errors = self.backend, self.W, []
        for i, w in enumerate(weight):
            h = H[i : i + 1, :]
            errors.append(Y[i : i + 1, :] - b.matmul(h, W))
            gain = float(w) * self.step / (1 + float(b.row_squares(h)[0]))
            W = W + gain * b.matmul(h.T, errors[-1])
        return replace(self, W=W), b.xp.concat(errors, axis=0)

    def with_outputs(self, n_outputs, old):
        base, wider = self.flushed(), np.zeros((self.shape.n_hidden, n_outputs), self.dtype)
        wider[:, old] = self.backend.to_numpy(base.W)
        return replace(base, W=self.backend.asarray(wider))


@stored_solver({"step": number}, StepState)
class Steps(Solver):
    """A solver of one's own."""

    state_class = StepState

    def __init__(self, step=0.5):
        self.step = step

    def settings(self):
        check_number("step", self.step, low=0, include_low=False)
        return {"step": float(self.step)}


solvers.register("steps", Steps)


@stored_layer()
@dataclass(eq=False, repr=False)
class SquareLayer(Layer):
    """A layer of one's own: squares of random sums, and the sums."""

    n_hidden: Annotated[int, count] = 10
    _: KW_ONLY
    scale: Annotated[float, number] = 0.5
    random_state: Annotated[int | None, nothing | count] = None

    def _set_weights(self, X, y, dtype):
        units = self._random().normal(0, self.scale, size=(self.n_hidden_, X.shape[1]))
        self.weights_ = np.ascontiguousarray(units.T, dtype=dtype)

    def _activated(self, H):
        H[:, ::2] *= H[:, ::2]
        return H


def steps_by_hand(H, Y, step):
    W, predicted = np.zeros((H.shape[1], Y.shape[1])), []
    for h, y in zip(H, Y, strict=True):
        predicted.append(h @ W)
        W = W + step * np.outer(h, y - h @ W) / (1 + h @ h)
    return W, np.array(predicted)


@pytest.mark.parametrize("solver", ["steps", Steps(0.5)], ids=["name", "object"])
def test_a_solver_in_a_regressor(rng, tmp_path, solver):
    X, Y = regression(rng)
    model = ELMRegressor(20, solver, random_state=0)
    recorded = model.prequential(X[:200], Y[:200])
    H = RandomLayer(20, bias=True, random_state=0).fit_transform(X)
    np.testing.assert_allclose(recorded, steps_by_hand(H[:200], Y[:200], 0.5)[1], atol=1e-12)
    greville.save(model, tmp_path / "model")
    loaded = greville.load(tmp_path / "model")
    assert isinstance(loaded.solver_, Steps)
    for each in (model, loaded):
        for x, y in zip(X[200:], Y[200:], strict=True):
            each.predict_one(x)
            each.learn_one(x, y)
        np.testing.assert_allclose(each.solver_.coef_.T, steps_by_hand(H, Y, 0.5)[0], atol=1e-12)
        assert each.n_samples_seen_ == len(X)
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))


def test_a_solver_in_a_classifier(rng, tmp_path):
    """With a class that comes late."""
    X, y = classification(rng)
    late = np.argsort(y == 3, kind="stable")
    X, y = X[late], y[late]
    model = ELMClassifier(30, "steps", random_state=0).partial_fit(X[:50], y[:50])
    assert len(model.classes_) == 3
    model.partial_fit(X[50:], y[50:])
    H = RandomLayer(30, bias=True, random_state=0).fit_transform(X)
    W, _ = steps_by_hand(H, np.eye(4)[y], 0.5)
    np.testing.assert_allclose(model.decision_function(X), H @ W, atol=1e-12)
    greville.save(model, tmp_path / "model")
    np.testing.assert_array_equal(greville.load(tmp_path / "model").predict(X), model.predict(X))


def test_a_solver_of_the_command(here):
    """`--solver` takes its name, and the model file holds it."""
    write(houses(300))
    run("train", "houses.csv", "--target", "price", "--solver", "steps", "-o", "m.greville", "-q")
    assert isinstance(greville.load("m.greville").estimator.solver_, Steps)
    run("predict", "m.greville", "houses.csv", "-o", "out.csv", "-q")
    assert len((here / "out.csv").read_text().splitlines()) == 301


def test_what_the_solver_cannot_do_is_not_there():
    for solver in ("steps", Steps()):
        model = ELMRegressor(5, solver)
        assert hasattr(model, "partial_fit")
        for method in ("merge", "unlearn", "loo_predict", "path"):
            assert not hasattr(model, method)
        with pytest.raises(AttributeError, match="^merge: Steps is not a sum over rows; use"):
            model + model
    X, y = np.eye(3), np.arange(3.0)
    with pytest.raises(ValueError, match="return_std.*Steps"):
        ELMRegressor(5, "steps").fit(X, y).predict(X, return_std=True)
    with pytest.raises(ValueError, match="step=-1"):
        ELMRegressor(5, Steps(-1)).fit(X, y)


def test_values_that_come_late_are_refused_in_a_sentence():
    model = ELMRegressor(8, Steps(0.5), random_state=0).partial_fit([[0.0], [1.0]], [0.0, 1.0])
    before = model.predict([[0.5]])
    with pytest.raises(ValueError, match="cannot learn a value that comes late"):
        set_direct_inputs(model, 1, [])
    assert np.array_equal(model.predict([[0.5]]), before)


def test_a_name_that_is_not_registered():
    with pytest.raises(ValueError, match="solver='stairs': choose one of .*'steps'"):
        ELMRegressor(5, "stairs").fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize("kind", [ELMRegressor, ELMClassifier])
def test_a_layer_in_estimators(rng, tmp_path, kind):
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] if kind is ELMRegressor else X[:, 0] * X[:, 1] > 0
    model = kind(SquareLayer(40, random_state=1)).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > (0.95 if kind is ELMRegressor else 0.7)
    greville.save(model, tmp_path / "model")
    loaded = greville.load(tmp_path / "model")
    assert isinstance(loaded.hidden_, SquareLayer)
    for each in (model, loaded):
        for x, target in zip(X[200:], y[200:], strict=True):
            each.learn_one(x, target)
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
    assert model.predict_one(X[0]) == pytest.approx(model.predict(X[:1])[0])


def test_every_named_solver_is_a_solver():
    assert all(isinstance(solvers.make(name), Solver) for name in solvers.names())
