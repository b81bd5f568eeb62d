"""Estimators and layers on a device: the same weights, and what NumPy's answer is."""

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

import greville
from greville import (
    ClassLayer,
    ContrastLayer,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    MiniRocketLayer,
    Opium,
    PatchLayer,
    RandomLayer,
    ReceptiveFieldLayer,
    StackedLayer,
    TableLayer,
    TimeSeriesClassifier,
    image_layer,
)
from greville.elm import set_direct_inputs
from greville.layers import Layer, runs_on_device

from ..every_pair import in_turn

LAYERS = [
    RandomLayer(40, bias=True, random_state=0),
    *(RandomLayer(40, activation=a, random_state=0) for a in ("sigmoid", "relu", "sin", "cos")),
    RandomLayer(40, activation="hard-limit", random_state=0),
    TableLayer(80, random_state=0),
    FourierLayer(41, random_state=0),
    FourierLayer(40, gamma=0.1, orthogonal=False, random_state=0),
    ReceptiveFieldLayer((4, 4), 40, border=0, min_area=4, random_state=0),
    ContrastLayer(40, random_state=0),
    ContrastLayer(40, receptive_fields=(4, 4), border=0, min_area=4, random_state=0),
    ClassLayer(40, random_state=0),
    PatchLayer((4, 4), 5, random_state=0),
    PatchLayer((2, 4, 2), 5, threshold=0.1, random_state=0),
    image_layer((4, 4), 40, n_filters=5, random_state=0),
    StackedLayer(RandomLayer(30, random_state=0), FourierLayer(40, random_state=0)),
]


def problem(rng, n=400, n_inputs=16):
    X = rng.normal(size=(n, n_inputs))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2], (X[:, 0] + X[:, 1] > 0) + 2 * (X[:, 2] > 1)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_layers(rng, tensor, same, layer, dtype):
    X, _, labels = problem(rng)
    X = X.astype(dtype)
    here = clone(layer).fit(X, labels)
    there = clone(layer).fit(tensor(X), tensor(labels))
    for mine, theirs in zip(here.parts or [here], there.parts or [there], strict=True):
        np.testing.assert_array_equal(mine.weights_, theirs.weights_)  # to the bit
        assert mine.weights_.dtype == theirs.weights_.dtype == dtype
    kind = torch.float64 if dtype is np.float64 else torch.float32
    same(
        there.transform(tensor(X)),
        here.transform(X),
        1e-12 if dtype is np.float64 else 1e-4,
        dtype=kind,
    )


class _Own(Layer):
    """A layer that says what happens on the host alone."""

    def __init__(self, n_hidden=5):
        self.n_hidden = n_hidden
        self.random_state = 0

    def _set_weights(self, X, y, dtype):
        self.weights_ = np.ones((X.shape[1], self.n_hidden_), dtype)

    def _activated(self, H):
        return np.abs(H)


def test_a_layer_of_ones_own(rng, tensor, same):
    X, y, _ = problem(rng)
    assert not runs_on_device(_Own())
    assert runs_on_device(FourierLayer())
    layer = _Own().fit(X)
    same(layer.transform(tensor(X)), layer.transform(X))
    here, there = (ELMRegressor(_Own()).fit(X, y), ELMRegressor(_Own()).fit(tensor(X), tensor(y)))
    same(there.predict(tensor(X)), here.predict(X), 1e-6)


def test_an_activation_of_ones_own(rng, tensor, same):
    X, _, _ = problem(rng)
    layer = RandomLayer(20, activation=lambda H: H * H, random_state=0)
    same(layer.fit(tensor(X)).transform(tensor(X)), layer.fit(X).transform(X))
    layer = RandomLayer(20, activation=lambda H: H[:, :3], random_state=0)
    with pytest.raises(ValueError, match="activation: it returned"):
        layer.fit(tensor(X)).transform(tensor(X))


ESTIMATORS = [
    {"hidden": 50},
    {"hidden": 50, "solver": Opium(0.1)},
    {"hidden": 50, "standardize": True},
    {"hidden": 50, "solver": "dynamic"},
    {"hidden": 50, "solver": "sliding"},
    {"hidden": 50, "solver": "light"},
    {"hidden": FourierLayer(50)},
    {"hidden": 50, "solver": DynamicOpium("auto", 0.1)},
]


def in_chunks(model, X, y, length):
    for start in range(0, len(X), length):
        model.partial_fit(X[start : start + length], y[start : start + length])
    return model


@in_turn(parameters=[ESTIMATORS[0], *ESTIMATORS], far=[0.0, 100.0])
def test_regressor(rng, tensor, same, parameters, far):
    """The rows in chunks are more than a warm-up; three memories take long on each."""
    n = 400 if isinstance(parameters.get("solver"), DynamicOpium) else 1500
    X, y, _ = problem(rng, n)
    X = X * (1 + far) + far
    here, there = (ELMRegressor(**clone_of(parameters), random_state=0) for _ in range(2))
    T, S = tensor(X), tensor(y)
    here.fit(X, y)
    same(there.fit(T, S).predict(T), here.predict(X), 1e-5)
    assert there.score(T, S) == pytest.approx(here.score(X, y), abs=1e-5)
    here = in_chunks(clone(here), X, y, 70)
    there = in_chunks(clone(there), T, S, 70)
    same(there.predict(T), here.predict(X), 1e-5)
    same(there.prequential(T[:200], S[:200]), here.prequential(X[:200], y[:200]), 1e-5)
    here.learn_one(X[0], y[0])
    there.learn_one(T[0], S[0])
    same(there.predict_one(T[1]), here.predict_one(X[1]), 1e-5)
    if here.solver_.capabilities.tells_spread:
        same(there.predict(T, return_std=True)[1], here.predict(X, return_std=True)[1], 1e-4)
    assert there.n_samples_seen_ == n + 201


def clone_of(parameters):
    return {k: clone(v) if hasattr(v, "get_params") else v for k, v in parameters.items()}


@in_turn(parameters=ESTIMATORS, labels=["tensor", "array", "text"])
def test_classifier(rng, tensor, same, parameters, labels):
    X, _, y = problem(rng, 600)
    if labels == "text":
        y = np.array(["a", "b", "c", "d"])[y]
    S = tensor(y) if labels == "tensor" else y
    T = tensor(X)
    here, there = (ELMClassifier(**clone_of(parameters), random_state=0) for _ in range(2))
    here.fit(X, y)
    there.fit(T, S)
    same(there.predict_proba(T), here.predict_proba(X), 1e-4)
    same(there.decision_function(T), here.decision_function(X), 1e-4)
    predicted = there.predict(T)
    if labels == "text":
        assert isinstance(predicted, np.ndarray)
        assert (predicted == here.predict(X)).mean() > 0.99
    else:
        assert (predicted.cpu().numpy() == here.predict(X)).mean() > 0.99
    assert there.score(T, S) == pytest.approx(here.score(X, y), abs=0.01)
    here, there = in_chunks(clone(here), X, y, 50), in_chunks(clone(there), T, S, 50)
    same(there.decision_function(T), here.decision_function(X), 1e-4)
    same(
        there.prequential(T, S, method="decision_function")[1:],
        here.prequential(X, y, method="decision_function")[1:],
        1e-4,
    )
    there.learn_one(T[0], S[0])
    assert there.n_samples_seen_ == 1201


def test_sums(rng, tensor, same):
    X, y, _ = problem(rng, 600)
    T, S = tensor(X), tensor(y)
    here, there = (ELMRegressor(40, Opium(0.1), random_state=0) for _ in range(2))
    here.fit(X, y)
    there.fit(T, S)
    same(there.loo_predict(T, S), here.loo_predict(X, y), 1e-7)
    same(there.unlearn(T[:99], S[:99]).predict(T), here.unlearn(X[:99], y[:99]).predict(X), 1e-7)
    other = clone(here).fit(X[:99], y[:99])
    same(there.merge(other).predict(T), here.merge(other).predict(X), 1e-7)
    model = ELMRegressor(40, random_state=0).fit(T, S)
    assert model.path().chosen == model.epsilon_


@pytest.mark.parametrize("kind", ["array", "float32", "integers", "csr", "frame"])
def test_arrays_that_are_moved(rng, tensor, device, kind):
    """device=... takes what NumPy takes, and answers in NumPy."""
    X, y, labels = problem(rng, 500)
    X = {
        "array": lambda: X,
        "float32": lambda: X.astype(np.float32),
        "integers": lambda: np.round(20 * X).astype(np.int32),
        "csr": lambda: sparse.csr_array(np.where(X > 0.5, X, 0)),
        "frame": lambda: pytest.importorskip("pandas").DataFrame(
            X, columns=list("abcdefghijklmnop")
        ),
    }[kind]()
    for solver in ("opium", Opium(0.1)):
        here = ELMRegressor(40, solver, random_state=0).fit(X, y)
        there = ELMRegressor(40, solver, random_state=0, device=device).fit(X, y)
        assert there.fitted_.solver.shape.backend.name.startswith("torch:")
        predicted = there.predict(X)
        assert isinstance(predicted, np.ndarray)
        tol = 1e-2 if kind == "float32" else 1e-5
        np.testing.assert_allclose(predicted, here.predict(X), atol=tol)
        assert there.score(X, y) == pytest.approx(here.score(X, y), abs=tol)
        here.partial_fit(X[:100], y[:100])
        there.partial_fit(X[:100], y[:100])
        np.testing.assert_allclose(there.predict(X), here.predict(X), atol=tol)
    model = ELMClassifier(40, random_state=0, device=device).fit(X, labels)
    assert isinstance(model.predict(X), np.ndarray)
    if kind == "array":
        model = Opium(0.1, device=device).fit(X, y)
        assert isinstance(model.predict(X), np.ndarray)
        np.testing.assert_allclose(model.coef_, Opium(0.1).fit(X, y).coef_)
        model.learn_one(X[0], y[0])
        assert model.predict_one(X[0]) == pytest.approx(model.predict(X[:1])[0])


def test_series(rng, tensor, same):
    X, y = rng.normal(size=(120, 2, 40)).cumsum(axis=2), np.arange(120) % 2
    X[y == 1] *= np.linspace(1, 3, 40)
    T, labels = tensor(X), tensor(y)
    here, there = (TimeSeriesClassifier(MiniRocketLayer(420), random_state=0) for _ in range(2))
    here.fit(X[:80], y[:80])
    there.fit(T[:80], labels[:80])
    same(there.decision_function(T), here.decision_function(X), atol=1e-4)
    here.partial_fit(X[80:], y[80:])
    there.partial_fit(T[80:], labels[80:])
    same(there.decision_function(T), here.decision_function(X), atol=1e-4)
    assert there.score(T, labels) > 0.9


def test_many_blocks(rng, tensor, device, same, monkeypatch):
    """Rows that do not fit on the device at once are moved block after block."""
    from dataclasses import replace

    X, y, _ = problem(rng, 3000)
    model = ELMRegressor(40, Opium(0.1), random_state=0, device=device)
    want = model.fit(X, y).predict(X)
    b = model.fitted_.solver.shape.backend
    monkeypatch.setattr(b, "tuning", replace(b.tuning, block_bytes=(1, 1)))
    np.testing.assert_allclose(model.fit(X, y).predict(X), want, rtol=1e-8, atol=1e-9)


def test_rows_that_are_no_round_number(rng, tensor, same, monkeypatch):
    from dataclasses import replace

    X, y, _ = problem(rng, 500)
    model = ELMRegressor(40, Opium(0.1), random_state=0).fit(tensor(X), tensor(y))
    want, b = model.predict(tensor(X)).cpu().numpy(), model.fitted_.solver.shape.backend
    tuning = replace(b.tuning, block_multiple=32, pending_rows=16)
    monkeypatch.setattr(b, "tuning", tuning)
    same(model.fit(tensor(X), tensor(y)).predict(tensor(X[:77])), want[:77], 1e-9)


def test_bad_rows(rng, tensor):
    X, y, labels = problem(rng, 1500)
    model = ELMRegressor(40, random_state=0).fit(tensor(X), tensor(y))
    before = model.predict(tensor(X))
    for number in (np.nan, np.inf):
        bad = X.copy()
        bad[1, 2] = number
        with pytest.raises(ValueError, match="X: contains NaN"):
            model.predict(tensor(bad))
        with pytest.raises(ValueError, match="X: contains NaN"):
            model.fit(tensor(bad), tensor(y))
        assert torch.equal(model.predict(tensor(X)), before)
        with pytest.raises(ValueError, match="X: contains NaN"):
            model.partial_fit(tensor(bad[:50]), tensor(y[:50]))
        assert torch.equal(model.predict(tensor(X)), before)
        with pytest.raises(ValueError, match="X: contains NaN"):
            ELMClassifier(40, random_state=0).fit(tensor(bad), labels)


def test_files(rng, tensor, same, device, tmp_path):
    """What is saved on a device is loaded without one, and the other way round."""
    X, y, _ = problem(rng, 600)
    T, S = tensor(X), tensor(y)
    for model in (
        ELMRegressor(40, random_state=0),
        ELMRegressor(40, "sliding", random_state=0),
        ELMRegressor(40, "dynamic", random_state=0),
        ELMRegressor(40, "light", random_state=0, device=device),
    ):
        model.fit(T, S).partial_fit(T[:30], S[:30])
        greville.save(model, tmp_path / "model.greville")
        again = greville.load(tmp_path / "model.greville")
        assert again.device is None
        assert again.fitted_.solver.shape.backend.name == "scipy"
        np.testing.assert_allclose(again.predict(X), model.predict(T).cpu().numpy(), atol=1e-6)
        there = greville.load(tmp_path / "model.greville", device=device)
        same(there.predict(T), again.predict(X), 1e-6)
        again.partial_fit(X, y)
        there.partial_fit(T, S)
        same(there.predict(T), again.predict(X), 1e-5)
    solver = Opium(0.1, device=device).fit(X, y)
    greville.save(solver, tmp_path / "solver.greville")
    np.testing.assert_allclose(
        greville.load(tmp_path / "solver.greville").predict(X), solver.predict(X)
    )


def test_wide_stream_with_direct_units(rng, tensor, device):
    """Inputs that are units themselves, as table models have them."""
    X, y, _ = problem(rng, 2000)
    here = ELMRegressor(40, random_state=0)
    there = ELMRegressor(40, random_state=0, device=device)
    for model in (here, there):
        set_direct_inputs(model.partial_fit(X[:1500], y[:1500]), 2, [])
        wide = np.hstack([X[1500:], np.eye(2)[rng.integers(2, size=500) * 0]])
        model.partial_fit(wide, y[1500:])
    np.testing.assert_allclose(there.predict(wide), here.predict(wide), atol=1e-5)


def test_models_of_two_dtypes_do_not_merge(rng, tensor):
    X, y, _ = problem(rng)
    model = ELMRegressor(20, Opium(0.1), random_state=0, standardize=False)
    wide = clone(model).fit(tensor(X), tensor(y))
    narrow = clone(model).fit(tensor(X).float(), tensor(y).float())
    with pytest.raises(ValueError, match="learned in float32, and this model in float64"):
        wide.merge(narrow)
