"""A saved model and its copy from the file go on alike, to the last bit."""

import copy
from threading import Thread

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from greville import (
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    FourierLayer,
    Opium,
    RandomLayer,
    SlidingOpium,
)
from greville.monitor import DriftMonitor
from greville.tables import RowErrors, Stream, TableModel

from ..every_pair import every_pair
from ..problems import ONLINE_SOLVERS
from .models import content, is_fitted, rows, there_and_back


def act(model, rng, X, y):
    """Do one thing with a model, chosen at random; what it says."""
    kind, i = rng.integers(9), rng.integers(len(X) - 200)
    few, weight = int(rng.integers(1, 20)), rng.random(200).astype(X.dtype)
    weight = weight[:few] if few % 2 else None
    target = y[i]
    if y.ndim == 1 and y.dtype.kind == "f":
        target = float(target) * 1.000000123  # more digits than float32 has
    if not is_fitted(model):
        model.partial_fit(X[i : i + few], y[i : i + few], sample_weight=weight)
        return None
    if kind == 0:
        return model.predict_one(X[i])
    if kind == 1:
        model.learn_one(X[i], target)
        return None
    if kind == 2:
        return model.predict(X[:5])
    if kind == 3:
        model.partial_fit(X[i : i + few], y[i : i + few], sample_weight=weight)
        return None
    if kind == 4:
        return model.prequential(X[i : i + few], y[i : i + few], sample_weight=weight)
    if kind == 5 and few < 5:
        model.partial_fit(X[i : i + 150], y[i : i + 150])
        return None
    if kind == 6:
        return getattr(model, "solver_", model).coef_
    predicted = model.predict_one(X[i])
    model.learn_one(X[i], target)
    return predicted


def answers(model, X):
    """Numbers that the model predicts."""
    if not is_fitted(model):
        return np.zeros(0)
    return model.decision_function(X) if isinstance(model, ELMClassifier) else model.predict(X)


def interrupted(model, rng, X, y, folder, *, before, after, times=3):
    """Save and load a model at random moments; both must then say the same."""
    tolerance = 1e-6 if X.dtype == np.float64 else 0.02
    for _ in range(rng.integers(before)):
        act(model, rng, X, y)
    for _ in range(times):
        expected = answers(copy.deepcopy(model), X[:5])
        loaded = there_and_back(model, folder)
        found = answers(copy.deepcopy(model), X[:5])
        size = np.abs(expected).max(initial=1e-6)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * size)
        assert content(loaded) == content(model)
        for _ in range(rng.integers(1, after)):
            seed = int(rng.integers(1 << 30))
            ours, theirs = (act(m, np.random.default_rng(seed), X, y) for m in (model, loaded))
            assert (ours is None) == (theirs is None)
            if ours is not None:
                np.testing.assert_array_equal(ours, theirs, strict=True)
        assert content(loaded) == content(model)


@every_pair(solver=ONLINE_SOLVERS, outputs=[0, 3], dtype=["float64", "float32"], width=[6, 25])
def test_solvers_go_on_to_the_bit(rng, tmp_path, solver, outputs, dtype, width):
    H, Y = rows(rng, 400, width, outputs, dtype)
    interrupted(clone(solver), rng, H, Y, tmp_path, before=60, after=30, times=2)


ESTIMATORS = [
    (ELMRegressor(15, random_state=0), np.float64),
    (ELMRegressor(15, Opium(0.1), random_state=0), np.float32),
    (ELMRegressor(15, "dynamic", random_state=0, standardize=True), np.float64),
    (ELMRegressor(FourierLayer(15), SlidingOpium(40), random_state=0), np.float64),
    (ELMClassifier(15, random_state=0), np.float64),
    (ELMClassifier(RandomLayer(15, random_state=1), DynamicOpium("auto")), np.float64),
]


@pytest.mark.parametrize(("model", "dtype"), ESTIMATORS, ids=str)
def test_estimators_go_on_to_the_bit(rng, tmp_path, model, dtype):
    X, y = rows(rng, 400, 4, 0, dtype)
    X *= np.array([1, 100, 0.01, 1], dtype)
    if isinstance(model, ELMClassifier):
        y = np.array(["rain", "sun", "thunderstorm"])[np.digitize(y, [-1, 1])]
    interrupted(clone(model), rng, X, y, tmp_path, before=40, after=20, times=2)
    late = clone(model).partial_fit(np.repeat(X, 3, axis=0), np.repeat(y, 3, axis=0))
    interrupted(late, rng, X, y, tmp_path, before=10, after=10, times=1)


def test_targets_of_several_columns_and_sparse_first_rows(rng, tmp_path):
    X, Y = rows(rng, 400, 5, 3, np.float64)
    interrupted(ELMRegressor(12, random_state=0), rng, X, 1e6 * Y, tmp_path, before=20, after=20)
    model = ELMRegressor(12, random_state=0)
    model.partial_fit(sparse.csr_array(X[:20] * (X[:20] > 0)), Y[:20])
    loaded = there_and_back(model, tmp_path)
    for m in (model, loaded):
        m.partial_fit(sparse.csr_array(X[20:60]), Y[20:60])
    assert np.array_equal(model.predict(X), loaded.predict(X))


def test_predicted_saved_and_only_then_learned(rng, tmp_path):
    """And copies, which share what they have seen."""
    H, y = rows(rng, 300, 10, 0, np.float32)
    model = Opium(0.1).fit(H[:100], y[:100])
    for h, target in zip(H[100:140], y[100:140], strict=True):
        model.predict_one(h)
        model.learn_one(h, float(target) * 1.0000001)
    model.predict_one(H[140])
    loaded = there_and_back(model, tmp_path)
    for m in (model, loaded):
        m.learn_one(H[140], 0.1)
    assert np.array_equal(model.predict_one(H[141]), loaded.predict_one(H[141]))

    one, other = model, copy.copy(model)
    one.predict_one(H[150])
    one.learn_one(H[150], 1.0)
    interrupted(other, rng, H, y, tmp_path, before=1, after=10, times=1)
    interrupted(one, rng, H, y, tmp_path, before=1, after=10, times=1)


def test_a_stream_and_its_copy_answer_alike(rng, tmp_path):
    """Also in the middle of a block of rows, which is kept beside the model."""
    stream = Stream(TableModel("y", task="regression", hidden=5), "id", DriftMonitor())

    def some(n, first):
        x = rng.normal(size=n)
        kinds = rng.choice(["a", "b"], n)
        y = [None if i % 5 == 0 else 2 * a for i, a in enumerate(x.tolist())]
        names = zip(x.tolist(), kinds.tolist(), y, strict=True)
        return [{"x": a, "kind": k, "y": b, "id": first + i} for i, (a, k, b) in enumerate(names)]

    stream.answer(some(100, 0), 1, RowErrors())
    loaded = there_and_back(stream, tmp_path)
    for n in (1, 30, 70):
        more = some(n, 10 * stream.lines)
        first = stream.lines + 1
        assert stream.answer(more, first, RowErrors()) == loaded.answer(more, first, RowErrors())
    assert content(stream) == content(loaded)


@pytest.mark.parametrize("model", [Opium(0.1), ELMRegressor(8, Opium(0.1), random_state=0)])
def test_saving_while_another_thread_learns(rng, tmp_path, model):
    """A file holds the model before or after a chunk, and no row is lost by saving."""
    X = rng.normal(size=(2000, 4))
    y = X[:, 0] - X[:, 1]
    model = clone(model).partial_fit(X[:10], y[:10])
    learner = Thread(
        target=lambda: [
            model.partial_fit(X[i : i + 10], y[i : i + 10]) for i in range(10, 2000, 10)
        ]
    )
    learner.start()
    seen = []
    while learner.is_alive():
        loaded = there_and_back(model, tmp_path)
        n = loaded.n_samples_seen_
        seen.append(n)
        assert n % 10 == 0
        expected = clone(model).partial_fit(X[:n], y[:n])
        np.testing.assert_allclose(loaded.predict(X[:9]), expected.predict(X[:9]), rtol=1e-6)
    learner.join()
    assert seen == sorted(seen)
    assert model.n_samples_seen_ == 2000
    expected = clone(model).partial_fit(X, y)
    np.testing.assert_allclose(model.predict(X[:9]), expected.predict(X[:9]), rtol=1e-6)
