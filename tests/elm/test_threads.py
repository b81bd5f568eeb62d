"""Threads that predict while one learns see the model before or after a chunk, never a mixture."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from greville import ELMClassifier, ELMRegressor, RandomLayer


@pytest.fixture
def in_the_middle(monkeypatch):
    """Have a function called in another thread whenever the learning thread makes activations."""
    pool, learning, activations = ThreadPoolExecutor(1), threading.get_ident(), []
    make = RandomLayer.activations

    def watched(self, *args):
        if threading.get_ident() == learning:
            for look in activations:
                pool.submit(look).result(timeout=30)
        return make(self, *args)

    monkeypatch.setattr(RandomLayer, "activations", watched)
    with pool:
        yield activations.append


def everything(model, X):
    """What one thread sees of a model."""
    scores = "predict" if isinstance(model, ELMRegressor) else "predict_proba"
    return {
        "predictions": getattr(model, scores)(X),
        "one": model.predict_one(X[0]),
        "classes": getattr(model, "classes_", None),
        "layer": model.hidden_.weights_,
        "weights": model.solver_.coef_,
        "rows": model.n_samples_seen_,
    }


def rows(rng, n, classes):
    X = 1000 * rng.normal(size=(n, 3))
    return X, (rng.integers(classes, size=n) if classes else X[:, 0] + 5e4)


@pytest.mark.parametrize("classes", [0, 2], ids=["regression", "classification"])
@pytest.mark.parametrize("learn", ["partial_fit", "fit", "prequential", "learn_one"])
def test_a_model_is_never_seen_half_learned(rng, in_the_middle, classes, learn):
    """Not while units change, nor while there is a new class, nor while all is learned anew."""
    kind = ELMClassifier if classes else ELMRegressor
    X, y = rows(rng, 255, classes)
    model = kind(20, random_state=0).partial_fit(X, y)
    before, seen = everything(model, X[:9]), []
    more = 50 * X[:9], (y[:9] + classes if classes else y[:9])

    def look():
        seen.append(everything(model, X[:9]))

    in_the_middle(look)
    if learn == "learn_one":
        model.learn_one(more[0][0], more[1][0])
    else:
        getattr(model, learn)(*more)
    assert seen
    for each in seen:
        for name, value in each.items():
            if name == "one":  # the first and the second time in different ways, to rounding
                np.testing.assert_allclose(value, before[name], rtol=1e-12)
            else:
                np.testing.assert_array_equal(value, before[name], err_msg=name)
    assert not np.array_equal(everything(model, X[:9])["predictions"], before["predictions"])


@pytest.mark.full
def test_readers_of_a_stream_with_new_classes(rng):
    """Every answer goes with the classes it is of, and every prediction is one of a whole model."""
    X = 100 * rng.normal(size=(600, 3))
    y = np.minimum(np.arange(600) // 60, rng.integers(10, size=600))
    model, done, wrong = ELMClassifier(15, random_state=0).partial_fit(X[:2], y[:2]), [], []

    def read():
        while not done:
            p = model.predict_proba(X[:20])
            if not np.allclose(p.sum(axis=1), 1.0) or len(model.classes_) < p.shape[1]:
                wrong.append(p.shape)
            if model.predict_one(X[0]) not in model.classes_:
                wrong.append("one")

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for i in range(2, 600, 3):
            model.partial_fit(X[i : i + 2], y[i : i + 2])
            model.learn_one(X[i + 2], y[i + 2]) if i + 2 < 600 else None
    finally:
        done.append(True)
        for thread in threads:
            thread.join()
    assert not wrong
    alone = ELMClassifier(15, random_state=0).partial_fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-6)
