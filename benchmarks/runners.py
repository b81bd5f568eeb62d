"""Runners of greville and of other libraries, with the same hidden weights and the same ridge.

Other libraries are imported where they are used: one that is not installed is left out.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import numpy as np

from greville import ELMClassifier, ELMRegressor, Opium, RandomLayer
from greville.compiled import use as use_kernels

from .measure import Array, mnist, seconds

RIDGE = 1e-6  # ε² for all of them
INPUTS = 20


# Streams of activations and targets


def activations(M: int, n: int, dtype: Any = np.float64) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    H = np.tanh(rng.normal(size=(n, INPUTS)) @ rng.normal(size=(INPUTS, M))).astype(dtype)
    return H, np.sin(H[:, :5].sum(axis=1)) + 0.1 * rng.normal(size=n)


class Single:
    """Predict a row, then learn it: `length` rows a round, and 100 more rows for the answer."""

    def __init__(self, M: int, length: int, rounds: int) -> None:
        self.length = length
        self.H, self.y = activations(M, length * rounds + 100)
        self.targets = self.y.tolist()
        self.predict: Callable[[Any], Any]
        self.learn: Callable[[Any, float], Any]
        self.rows: Any = list(self.H)

    def round(self, k: int) -> float:
        predict, learn, rows, targets = self.predict, self.learn, self.rows, self.targets
        places = range(k * self.length, (k + 1) * self.length)

        def work() -> None:
            for i in places:
                predict(rows[i])
                learn(rows[i], targets[i])

        return 1e6 * seconds(work) / self.length

    def answer(self) -> Array:
        return np.array([np.ravel(self.predict(row))[0] for row in self.rows[-100:]])


def greville_single(
    M: int, length: int, rounds: int, solver: Any, compiled: bool = True, ask: bool = True
) -> Single:
    runner = Single(M, length, rounds)
    _kernels(runner, compiled)
    model = solver.learn_one(np.zeros(M), 0.0)  # a row of zeros changes nothing
    runner.predict, runner.learn = model.predict_one, model.learn_one
    if not ask:
        runner.answer = lambda: model.predict(runner.H[-100:])  # type: ignore[method-assign]
        runner.predict = lambda row: None
    return runner


def estimator_single(M: int, length: int, rounds: int, compiled: bool = True) -> Single:
    """The default estimator on 10 inputs, after its warm-up."""
    runner = Single(10, length, rounds)
    _kernels(runner, compiled)
    model = ELMRegressor(M, random_state=0).fit(*activations(10, 1100))
    runner.predict, runner.learn = model.predict_one, model.learn_one
    return runner


def _kernels(runner: Any, on: bool) -> None:
    """Have this process use compiled kernels from the first row on, or not at all."""
    runner.kernels = use_kernels(on)
    runner.kernels.__enter__()


def printed_single(M: int, length: int, rounds: int, forgetting: float = 1.0) -> Single:
    """The paper's recursion, eqs. (12), (15), (16), or (31)-(33), in place where NumPy can."""
    runner = Single(M, length, rounds)
    theta, W = np.eye(M) / RIDGE, np.zeros(M)

    def learn(a: Array, y: float) -> None:
        nonlocal theta, W
        g = theta @ a
        s = forgetting + a @ g
        W += g * ((y - a @ W) / s)
        theta -= np.outer(g, g) / s
        if forgetting != 1.0:
            theta /= forgetting

    runner.predict, runner.learn = lambda a: a @ W, learn
    return runner


def light_single(M: int, length: int, rounds: int) -> Single:
    """Eqs. (27)-(28) in NumPy."""
    runner = Single(M, length, rounds)
    W = np.zeros(M)

    def learn(a: Array, y: float) -> None:
        nonlocal W
        W += a * ((y - a @ W) / (1 + a @ a))

    runner.predict, runner.learn = lambda a: a @ W, learn
    return runner


def padasip_single(M: int, length: int, rounds: int, kind: str, forgetting: float = 1.0) -> Single:
    import padasip

    runner = Single(M, length, rounds)
    if kind == "RLS":
        model = padasip.filters.FilterRLS(n=M, mu=forgetting, eps=RIDGE, w="zeros")
    else:
        model = padasip.filters.FilterNLMS(n=M, mu=1.0, eps=1.0, w="zeros")
    runner.predict = model.predict
    runner.learn = lambda h, y: model.adapt(y, h)
    return runner


def reservoirpy_single(
    M: int, length: int, rounds: int, kind: str, forgetting: float = 1.0
) -> Single:
    from reservoirpy.nodes import LMS, RLS

    runner = Single(M, length, rounds)
    if kind == "RLS":
        node = RLS(alpha=RIDGE, forgetting=forgetting, fit_bias=False)
    else:
        node = LMS(learning_rate=1e-3, fit_bias=False)
    node.partial_fit(np.zeros((1, M)), np.zeros((1, 1)))
    runner.predict = node.step
    runner.learn = lambda h, y: node.partial_fit(h[None], np.array([[y]]))
    return runner


def river_single(M: int, length: int, rounds: int, kind: str) -> Single:
    if not hasattr(csv.DictReader, "__class_getitem__"):  # river 0.26 on Python 3.11
        csv.DictReader.__class_getitem__ = classmethod(lambda cls, _: cls)  # type: ignore[attr-defined]
    from river import linear_model, optim

    runner = Single(M, length, rounds)
    runner.rows = [dict(enumerate(row)) for row in runner.H.tolist()]
    if kind == "Bayesian":
        model = linear_model.BayesianLinearRegression(alpha=RIDGE, beta=1.0)
    else:
        model = linear_model.LinearRegression(optim.SGD(1e-3))
    runner.predict, runner.learn = model.predict_one, model.learn_one
    return runner


# Chunks: predict, then learn


class Chunks:
    """Inputs and one target; the model starts with `start` rows."""

    def __init__(self, M: int, length: int, rounds: int) -> None:
        rng = np.random.default_rng(0)
        self.length, self.start = length, 2 * M
        self.X = rng.normal(size=(self.start + length * rounds + 500, INPUTS))
        self.y = np.sin(self.X[:, :5].sum(axis=1))
        self.layer = RandomLayer(M, random_state=0).fit(self.X[:1])
        self.step: Callable[[Array, Array], Any]
        self.predict: Callable[[Array], Array]

    def first(self) -> tuple[Array, Array]:
        return self.X[: self.start], self.y[: self.start]

    def round(self, k: int) -> float:
        begin = self.start + k * self.length
        rows = slice(begin, begin + self.length)
        return 1e6 * seconds(lambda: self.step(self.X[rows], self.y[rows])) / self.length

    def answer(self) -> Array:
        return np.ravel(self.predict(self.X[-500:]))


def greville_chunks(M: int, length: int, rounds: int, solver: Any) -> Chunks:
    runner = Chunks(M, length, rounds)
    hidden = RandomLayer(M) if solver is not None else M
    options = {} if solver is None else {"standardize": False, "solver": solver}
    model = ELMRegressor(hidden, random_state=0, **options).fit(*runner.first())

    def step(X: Array, y: Array) -> None:
        model.predict(X)
        model.partial_fit(X, y)
        model.solver_.coef_  # noqa: B018 - so that pending rows are learned

    runner.step, runner.predict = step, model.predict
    return runner


def pyoselm_chunks(M: int, length: int, rounds: int, woodbury: bool) -> Chunks:
    from pyoselm import OSELMRegressor

    runner = Chunks(M, length, rounds)
    model = OSELMRegressor(n_hidden=M, activation_func="tanh", use_woodbury=woodbury)
    model._create_random_layer = lambda: _AsLayer(runner.layer)
    model.fit(*runner.first())

    def step(X: Array, y: Array) -> None:
        model.predict(X)
        model.fit(X, y)

    runner.step, runner.predict = step, model.predict
    return runner


class _AsLayer:
    """Our hidden weights for pyoselm."""

    def __init__(self, layer: RandomLayer) -> None:
        self.fit_transform = layer.transform


def hpelm_chunks(M: int, length: int, rounds: int) -> Chunks:
    runner = Chunks(M, length, rounds)
    model = _hpelm(runner.layer, 1, "double", 10_000)

    def learn(X: Array, y: Array) -> None:
        model.add_data(X, y[:, None])
        model.nnet.solve()

    def step(X: Array, y: Array) -> None:
        model.predict(X)
        learn(X, y)

    learn(*runner.first())
    runner.step, runner.predict = step, model.predict
    return runner


def ridge_chunks(M: int, length: int, rounds: int) -> Chunks:
    """scikit-learn cannot learn more rows: it fits all of them again."""
    from sklearn.linear_model import Ridge

    runner = Chunks(M, length, rounds)
    model = Ridge(RIDGE, fit_intercept=False, solver="cholesky")
    H, y = runner.layer.transform(runner.first()[0]), runner.first()[1]
    model.fit(H, y)
    seen = [(H, y)]

    def step(X: Array, y: Array) -> None:
        H = runner.layer.transform(X)
        model.predict(H)
        seen.append((H, y))
        model.fit(np.concatenate([h for h, _ in seen]), np.concatenate([t for _, t in seen]))

    runner.step = step
    runner.predict = lambda X: model.predict(runner.layer.transform(X))
    return runner


def _hpelm(layer: RandomLayer, outputs: int, precision: str, batch: int) -> Any:
    from hpelm import ELM

    model = ELM(
        layer.n_features_in_, outputs, precision=precision, batch=batch, norm=RIDGE, tprint=1e9
    )
    M = layer.n_hidden_
    model.add_neurons(M, "tanh", layer.weights_.astype(np.float64), np.zeros(M))
    return model


# Bulk: MNIST, one pass


class Bulk:
    """MNIST; a round fits a new model, and the answer is its error rate."""

    def __init__(self, M: int, n: int, dtype: str) -> None:
        X, y, self.X_test, self.y_test = mnist(np.dtype(dtype))
        self.X, self.y = X[:n], y[:n]
        self.layer = RandomLayer(M, random_state=0).fit(self.X[:1])
        self.targets = np.eye(10, dtype=dtype)[self.y]
        self.fit: Callable[[], Callable[[Array], Array]]
        self.predict: Callable[[Array], Array]

    def round(self, k: int) -> float:
        def work() -> None:
            self.predict = self.fit()

        self.predict = np.zeros_like  # frees the last model before the next
        return seconds(work)

    def answer(self) -> float:
        labels = [self.predict(self.X_test[i : i + 1000]) for i in range(0, len(self.X_test), 1000)]
        return 100 * float(np.mean(np.concatenate(labels) != self.y_test))


def greville_bulk(M: int, n: int, dtype: str) -> Bulk:
    runner = Bulk(M, n, dtype)

    def fit() -> Callable[[Array], Array]:
        model = ELMClassifier(RandomLayer(M), Opium(1e-3), random_state=0)
        return model.fit(runner.X, runner.y).predict

    runner.fit = fit
    return runner


def hpelm_bulk(M: int, n: int, dtype: str, batch: int) -> Bulk:
    runner = Bulk(M, n, dtype)
    precision = "single" if dtype == "float32" else "double"

    def fit() -> Callable[[Array], Array]:
        model = _hpelm(runner.layer, 10, precision, batch)
        model.train(runner.X, runner.targets)
        return lambda X: model.predict(X).argmax(axis=1)

    runner.fit = fit
    return runner


def ridge_bulk(M: int, n: int, dtype: str, intel: bool) -> Bulk:
    if intel:
        from sklearnex.linear_model import Ridge
    else:
        from sklearn.linear_model import Ridge
    runner = Bulk(M, n, dtype)

    def features(X: Array) -> Array:
        H = X @ runner.layer.weights_
        return np.tanh(H, out=H)

    def fit() -> Callable[[Array], Array]:
        options = {} if intel else {"solver": "cholesky"}
        model = Ridge(RIDGE, fit_intercept=False, copy_X=False, **options)
        model.fit(features(runner.X), runner.targets)
        return lambda X: model.predict(features(X)).argmax(axis=1)

    runner.fit = fit
    return runner


def pyoselm_bulk(M: int, n: int, dtype: str, chunk: int) -> Bulk:
    from pyoselm import OSELMRegressor

    runner = Bulk(M, n, dtype)

    def fit() -> Callable[[Array], Array]:
        model = OSELMRegressor(n_hidden=M, activation_func="tanh")
        model._create_random_layer = lambda: _AsLayer(runner.layer)
        for start in [
            0,
            *range(max(M, chunk), n, chunk),
        ]:  # a first chunk of M rows
            stop = start + (chunk if start else max(M, chunk))
            model.fit(runner.X[start:stop], runner.targets[start:stop])
        return lambda X: model.predict(X).argmax(axis=1)

    runner.fit = fit
    return runner


# The record of a stream


class Record:
    """Predict each of n rows before it is learned: a round is the whole stream."""

    def __init__(self, M: int, n: int) -> None:
        self.H, self.y = activations(M, n)
        self.record: Callable[[], Array]
        self.last: Array

    def round(self, k: int) -> float:
        def work() -> None:
            self.last = self.record()

        return 1e6 * seconds(work) / len(self.last if hasattr(self, "last") else self.y)

    def answer(self) -> Array:
        return self.last[:500]


def prequential_record(M: int, n: int, compiled: bool = True) -> Record:
    runner = Record(M, n)
    _kernels(runner, compiled)
    runner.record = lambda: Opium(1e-3).prequential(runner.H, runner.y)
    return runner


def chosen_record(M: int, n: int) -> Record:
    runner = Record(M, n)
    _kernels(runner, True)
    runner.record = lambda: Opium("auto", intercept=True).prequential(runner.H, runner.y)
    return runner


def loop_record(M: int, n: int) -> Record:
    runner = Record(M, n)
    _kernels(runner, True)

    def record() -> Array:
        model = Opium(1e-3).learn_one(np.zeros(M), 0.0)
        predicted = np.empty(n)
        for i, (h, y) in enumerate(zip(runner.H, runner.y.tolist(), strict=True)):
            predicted[i] = model.predict_one(h)
            model.learn_one(h, y)
        return predicted

    runner.record = record
    return runner


def printed_record(M: int, n: int, rows: int, in_place: bool) -> Record:
    """Only the first `rows` rows: each takes as long as the others."""
    runner = Record(M, n)

    def record() -> Array:
        theta, W = np.eye(M) / RIDGE, np.zeros(M)
        predicted = np.empty(rows)
        for i, (a, y) in enumerate(zip(runner.H[:rows], runner.y[:rows], strict=True)):
            predicted[i] = a @ W
            if in_place:
                g = theta @ a
                s = 1 + a @ g
                W += g * ((y - a @ W) / s)
                theta -= np.outer(g, g) / s
            else:
                b = theta @ a / (1 + a @ theta @ a)  # (12)
                theta = theta - np.outer(theta @ a, b)  # (15)
                W = W + b * (y - a @ W)  # (16)
        return predicted

    runner.record = record
    runner.last = runner.y[:rows]
    return runner


# Prediction alone


class Prediction:
    """`length` rows at a time."""

    def __init__(self, M: int, length: int, repeats: int) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(2 * M, INPUTS))
        self.y = np.sin(self.X[:, :5].sum(axis=1))
        self.chunks = rng.normal(size=(repeats, length, INPUTS))
        self.layer = RandomLayer(M, random_state=0).fit(self.X[:1])
        self.predict: Callable[[Array], Any]

    def round(self, k: int) -> float:
        def work() -> None:
            for rows in self.chunks:  # other rows every time: no caching
                self.predict(rows)

        return 1e6 * seconds(work) / self.chunks.shape[0] / self.chunks.shape[1]

    def answer(self) -> Array:
        return np.ravel([self.predict(rows) for rows in self.chunks[:10]])[:1000]


def greville_prediction(M: int, length: int, repeats: int, one: bool = False) -> Prediction:
    runner = Prediction(M, length, repeats)
    model = ELMRegressor(RandomLayer(M), Opium(1e-3), random_state=0, standardize=False)
    model.fit(runner.X, runner.y)
    runner.predict = (lambda X: model.predict_one(X[0])) if one else model.predict
    return runner


def hpelm_prediction(M: int, length: int, repeats: int) -> Prediction:
    runner = Prediction(M, length, repeats)
    model = _hpelm(runner.layer, 1, "double", 10_000)
    model.train(runner.X, runner.y[:, None])
    runner.predict = model.predict
    return runner


def pyoselm_prediction(M: int, length: int, repeats: int) -> Prediction:
    from pyoselm import OSELMRegressor

    runner = Prediction(M, length, repeats)
    model = OSELMRegressor(n_hidden=M, activation_func="tanh")
    model._create_random_layer = lambda: _AsLayer(runner.layer)
    model.fit(runner.X, runner.y)
    runner.predict = model.predict
    return runner


def ridge_prediction(M: int, length: int, repeats: int) -> Prediction:
    from sklearn.linear_model import Ridge

    runner = Prediction(M, length, repeats)
    weights = runner.layer.weights_
    model = Ridge(RIDGE, fit_intercept=False, solver="cholesky")
    model.fit(np.tanh(runner.X @ weights), runner.y)
    runner.predict = lambda X: model.predict(np.tanh(X @ weights))
    return runner
