"""Several threads, or a signal handler, that use one model while it learns."""

import signal
import sys
import threading
from collections import Counter

import numpy as np
import pytest

from greville import DynamicOpium, ELMClassifier, ELMRegressor, Opium, OpiumLight, representation

MODELS = [
    Opium(1e-3),
    Opium("auto", intercept=True),
    OpiumLight(),
    pytest.param(DynamicOpium("auto"), marks=pytest.mark.full),
    ELMRegressor(8, random_state=0),
    ELMClassifier(8, random_state=0),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=str)


@pytest.fixture(autouse=True)
def switches():
    """Have threads take turns after a few steps."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(*works):
    """Do all of these at the same time; an exception of one is raised here."""
    failed = []

    def do(work):
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=do, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if failed:
        raise failed[0]


def rows(rng, model, n):
    X = rng.normal(size=(n, 5))
    y = X @ np.arange(5.0)
    return X, (y > 0).astype(float) if isinstance(model, ELMClassifier) else y


@each_model
def test_no_row_of_two_threads_is_lost(rng, either_way, model):
    X, y = rows(rng, model, 700)
    model.fit(X[:100], y[:100])

    def learn(start):
        for i in range(start, 500, 2):
            model.learn_one(X[i], y[i])

    def learn_chunks():
        for i in range(500, 700, 40):
            model.partial_fit(X[i : i + 40], y[i : i + 40])

    together(lambda: learn(100), lambda: learn(101), learn_chunks)
    assert model.n_samples_seen_ == 700
    if isinstance(model, Opium):
        alone = Opium(**model.get_params()).fit(X, y)
        if model.epsilon != "auto":
            np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9, atol=1e-9)


@each_model
def test_a_refused_chunk_is_never_seen(rng, model):
    X, y = rows(rng, model, 200)
    model.fit(X, y)
    bad, other = X.copy(), np.full((3, 4), np.nan)
    bad[3, 1] = np.nan
    want, done, refused = model.predict(X[:2]), [], Counter()

    def read():
        while not done:
            np.testing.assert_array_equal(model.predict(X[:2]), want)
            assert model.n_features_in_ == 5
            np.testing.assert_allclose(model.predict_one(X[0]), want[0], rtol=1e-9)

    def learn():
        try:
            for _ in range(60):
                for method in (model.partial_fit, model.fit, model.prequential):
                    try:
                        method(*((other, y[:3]) if method == model.fit else (bad, y)))
                    except ValueError:
                        refused[method.__name__] += 1
        finally:
            done.append(True)

    together(read, read, learn)
    assert refused == {"partial_fit": 60, "fit": 60, "prequential": 60}


@pytest.mark.posix("setitimer")
@pytest.mark.parametrize("same", [False, True], ids=["another model", "the same model"])
def test_a_signal_handler_may_use_a_model_while_one_learns(rng, either_way, same):
    X, y = rows(rng, None, 3000)
    busy = ELMRegressor(60, random_state=0).fit(X[:1100], y[:1100])
    asked = busy if same else ELMRegressor(8, random_state=0).fit(X[:100], y[:100])
    calls, ended = [], []

    def ask(*_):
        calls.append((asked.predict(X[:1]), asked.predict_one(X[0]), asked.solver_.n_features_in_))
        if len(calls) < 200 and not ended:
            signal.setitimer(signal.ITIMER_REAL, 0.002)

    before = signal.signal(signal.SIGALRM, ask)
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    try:
        for i in range(1100, 2000):
            busy.learn_one(X[i], y[i])
        busy.partial_fit(X[2000:], y[2000:])
    finally:
        ended.append(True)  # a handler that is about to run sets the timer no more
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls
    assert np.isfinite([one for _, one, _ in calls]).all()
    assert busy.n_samples_seen_ == 3000


@pytest.mark.posix("setitimer")
def test_a_chunk_is_learned_again_if_a_signal_handler_learns_meanwhile(rng, monkeypatch):
    X, y = rows(rng, None, 60)
    model = Opium(1e-3).fit(X[:10], y[:10])
    learn = type(model.fitted_).learn
    handled = []

    def interrupted(fitted, chunk):
        learned = learn(fitted, chunk)
        if not handled:
            handled.append(True)
            model.learn_one(X[10], y[10])
        return learned

    monkeypatch.setattr(type(model.fitted_), "learn", interrupted)
    model.partial_fit(X[11:], y[11:])
    assert model.n_samples_seen_ == 60
    np.testing.assert_allclose(model.coef_, Opium(1e-3).fit(X, y).coef_, atol=1e-9)


def test_values_that_another_thread_computes_are_measured(rng, monkeypatch):
    """The size of a model, in its summary, is read while a prediction keeps what it has found."""
    model = ELMRegressor(8, random_state=0).fit(*rows(rng, ELMRegressor(), 50))
    found = vars(model.fitted_.solver)
    measured = representation._measure

    def measure(value, seen):
        found[f"_found_{len(found)}"] = None
        measured(value, seen)

    monkeypatch.setattr(representation, "_measure", measure)
    assert representation.memory_of(model.fitted_) > 0
