"""Single rows by compiled kernels: what other ways give, mixed with anything, refused alike."""

import copy
import os
import pickle
import sys
import threading
from unittest import mock

import numpy as np
import pytest
from sklearn.base import clone

import greville
from greville import (
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Greville,
    Opium,
    OpiumLight,
    RandomLayer,
    TableLayer,
    compiled,
)
from greville.compiled import loading
from greville.solvers import InPlace

from .. import children, oracles
from ..every_pair import every_pair
from ..kernels import kernels
from ..oracles import relative_error
from ..problems import problem

pytest.importorskip("numba")
pytestmark = pytest.mark.full  # numba

SOLVERS = [
    Opium(1e-3),
    Opium(1e-3, intercept=True),
    Opium("auto"),
    Opium("auto", intercept=True),
    OpiumLight(0.7),
    DynamicOpium(1.01),
    DynamicOpium(1.01, "auto"),
    Greville(),
]


@pytest.fixture(autouse=True)
def on():
    with kernels(True):
        yield


def is_live(model):
    return model._live is not None


def learn(model, H, Y):
    for h, y in zip(H, Y, strict=True):
        model.learn_one(h, y)


@every_pair(solver=SOLVERS, n_outputs=[0, 1, 3], ask=["never", "always", "sometimes"])
def test_what_the_other_way_gives(rng, solver, n_outputs, ask):
    """More rows than there is room for, and every kind of event on the way."""
    for n_hidden in (1, 2, 5, 8):
        H, Y = problem(rng, 700, n_hidden, max(n_outputs, 1))
        Y = Y if n_outputs else Y[:, 0]
        model, other = clone(solver), clone(solver)
        with kernels(False):
            expected = other.prequential(H, Y)
        lived, got = 0, []
        for k, (h, y) in enumerate(zip(H, Y, strict=True)):
            if k and (ask == "always" or (ask == "sometimes" and k % 7 == 0)):
                got.append((k, model.predict_one(h)))
            model.learn_one(h, y)
            lived += is_live(model)
        assert lived > 500
        assert model.n_samples_seen_ == 700
        for k, predicted in got:
            assert predicted.shape == Y.shape[1:]
            assert np.abs(predicted - expected[k]).max() < 1e-8 * np.abs(expected).max()
        assert relative_error(model.coef_, other.coef_) < 1e-9
        if hasattr(solver, "epsilon"):
            assert model.loss_ == pytest.approx(other.loss_, rel=1e-8)
            assert model.epsilon_ == pytest.approx(other.epsilon_, rel=1e-8)
            std, expected_std = (m.predict(H[:5], return_std=True)[1] for m in (model, other))
            assert std == pytest.approx(expected_std, rel=1e-8)


@pytest.mark.parametrize("n_hidden", [1, 3, 4, 17, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_svd_solution(rng, n_hidden, dtype):
    H, Y = (A.astype(dtype) for A in problem(rng, 500, n_hidden, 2))
    model = Opium(0.1).fit(H[:1], Y[:1])
    for h, y in zip(H[1:], Y[1:], strict=True):
        model.predict_one(h)
        model.learn_one(h, y)
    assert is_live(model)
    W = oracles.pseudoinverse_weights(H.astype(float), Y.astype(float), 0.1)
    assert model.coef_.dtype == dtype
    assert relative_error(model.coef_.T, W) < (1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_digits_of_ill_conditioned_rows(rng, epsilon):
    """No worse than QR factorisations of many rows at a time."""
    H = (
        rng.normal(size=(2000, 12))
        @ np.diag(10.0 ** -np.linspace(0, 7, 12))
        @ rng.normal(size=(12, 12))
    )
    Y = rng.normal(size=2000)
    model, other = Opium(epsilon).fit(H[:100], Y[:100]), Opium(epsilon)
    for h, y in zip(H[100:], Y[100:], strict=True):
        model.learn_one(h, y)
        model.predict_one(h)
    assert is_live(model)
    for start in range(0, 2000, 50):
        other.partial_fit(H[start : start + 50], Y[start : start + 50])
    W = oracles.pseudoinverse_weights(H, Y[:, None], epsilon)[:, 0]
    fits = [np.abs(H @ (W_ - W)).max() for W_ in (model.coef_, other.coef_)]
    assert fits[0] < 10 * fits[1] + 1e-12 * np.abs(H @ W).max()


@pytest.mark.parametrize("size", [1e-160, 1e-100, 1.0, 1e100])
def test_rows_of_any_size(rng, size):
    H, Y = problem(rng, 300, 5)
    H *= size
    model, other = (Opium(0.1 * size).fit(H[:20], Y[:20]) for _ in range(2))
    for h, y in zip(H[20:], Y[20:], strict=True):
        model.learn_one(h, y)
        model.predict_one(h)
    assert is_live(model)
    with kernels(False):
        other.partial_fit(H[20:], Y[20:])
    assert relative_error(model.predict(H), other.predict(H)) < 1e-10


def test_zeros_and_rows_that_repeat(rng):
    H = np.zeros((400, 6))
    H[100:200, 2] = 1.0
    H[200:] = rng.normal(size=6)
    y = rng.normal(size=400)
    for solver in SOLVERS[:-1]:
        model, other = (clone(solver).fit(rng.normal(size=(30, 6)), y[:30]) for _ in range(2))
        model, other = copy.deepcopy(model), copy.deepcopy(model)
        for h, value in zip(H, y, strict=True):
            model.learn_one(h, value)
            model.predict_one(h)
        with kernels(False):
            other.partial_fit(H, y)
        assert relative_error(model.predict(H), other.predict(H)) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_arrays_of_any_kind(rng, solver):
    H, Y = problem(rng, 300, 6)
    model, other = (clone(solver).fit(H[:100], Y[:100, 0]) for _ in range(2))
    fixed = H.copy()
    fixed.flags.writeable = False
    forms = [
        lambda k: fixed[k],
        lambda k: np.asfortranarray(H)[k],
        lambda k: np.repeat(H[k], 2)[::2],
        lambda k: H[k][::-1].copy()[::-1],
        lambda k: H[k].tolist(),
        lambda k: H[k].astype(np.longdouble),
    ]
    targets = [float, np.float64, np.array]
    for k in range(100, 300):
        h, y = forms[k % len(forms)](k), targets[k % 3](Y[k, 0])
        before = model.predict_one(h)
        assert before == pytest.approx(model.predict(H[k : k + 1])[0], rel=1e-8, abs=1e-8)
        model.learn_one(h, y)
    assert is_live(model)
    with kernels(False):
        other.partial_fit(H[100:], Y[100:, 0])
    assert relative_error(model.coef_, other.coef_) < 1e-8


@pytest.mark.parametrize(
    "model", [Opium(0.1), OpiumLight(), ELMRegressor(6, Opium(0.1), random_state=0)], ids=str
)
def test_what_is_refused_changes_nothing(rng, model):
    H, Y = problem(rng, 1200, 4)
    model = clone(model).fit(H, Y[:, 0])
    for h, y in zip(H[:20], Y[:20, 0], strict=True):
        model.learn_one(h, y)
    model.predict_one(H[0])
    assert is_live(model)
    before = pickle.dumps(model)
    for row, why in [
        (H[0] * np.nan, "NaN"),
        (np.full(4, np.inf), "inf"),
        (np.full(4, 1e200), "numbers"),
        (H[0][:3], "got 3 numbers"),
        (H[:1], "expected one row"),
        (["a"] * 4, "text|strings|numbers"),
        (np.float64(3), "expected one row"),
    ]:
        if isinstance(model, ELMRegressor) and why == "numbers":
            continue  # tanh makes ones of them
        with pytest.raises(ValueError, match=why):
            model.learn_one(row, 1.0)
        with pytest.raises(ValueError, match=why):
            model.predict_one(row)
    for target in (np.nan, np.inf, 1e300, "a", None, [1.0], 10**400):
        with pytest.raises(ValueError, match="y"):
            model.learn_one(H[0], target)
    assert is_live(model)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_copies_and_files_on_the_way(rng, solver, tmp_path):
    H, Y = problem(rng, 300, 5)
    Y = Y[:, 0]
    model, plain = (clone(solver).fit(H[:40], Y[:40]) for _ in range(2))
    for k in range(40, 200):
        model.learn_one(H[k], Y[k])
        if k % 3:
            model.predict_one(H[k])
        if k % 40 == 0:
            others = [copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
            greville.save(model, tmp_path / "m.greville")
            others.append(greville.load(tmp_path / "m.greville"))
            for other in others:
                assert relative_error(other.coef_, model.coef_) < 1e-10
                other.learn_one(H[0], Y[0])
            assert model.n_samples_seen_ == k + 1
    assert is_live(model)
    saved = tmp_path / "n.greville"
    greville.save(model, saved)
    loaded = greville.load(saved)
    for m in (model, loaded):
        for h, y in zip(H[200:], Y[200:], strict=True):
            m.predict_one(h)
            m.learn_one(h, y)
    assert np.array_equal(model.coef_, loaded.coef_)  # to the bit
    with kernels(False):
        plain.partial_fit(H[40:], Y[40:])
    assert relative_error(model.coef_, plain.coef_) < 1e-8


@every_pair(
    activation=["tanh", "sigmoid", "relu", "sin", "cos", "hard-limit", "identity"],
    dtype=[np.float64, np.float32],
    bias=[False, True],
)
def test_layers(rng, activation, dtype, bias):
    X = (rng.normal(size=(1200, 3)) * [1, 30, 1e-3] + [0, 1e3, 0]).astype(dtype)
    y = X[:, 0] + X[:, 1] / 50
    layer = RandomLayer(15, activation=activation, bias=bias, scale=2.0)
    model = ELMRegressor(layer, Opium(0.1), random_state=0).fit(X, y)
    for x, target in zip(X[:50], y[:50], strict=True):
        model.learn_one(x, target)
    assert is_live(model)
    assert model._live._arrays.has_layer  # in one call
    got = np.array([model.predict_one(x) for x in X])
    assert got.dtype == dtype
    limit = 1e-9 if dtype == np.float64 else 2e-3
    if activation == "hard-limit":  # may differ where a sum is zero to rounding
        assert np.quantile(np.abs(got - model.predict(X)), 0.99) < limit * np.abs(y).max()
    else:
        assert relative_error(got, model.predict(X)) < limit


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_units_with_activations_of_their_own(rng, dtype):
    X = (rng.normal(size=(1200, 3)) * [1, 30, 1e-3] + [0, 1e3, 0]).astype(dtype)
    y = np.abs(X[:, 0]) + X[:, 1] / 50
    model = ELMRegressor(TableLayer(60), Opium(0.1), random_state=0).fit(X, y)
    for x, target in zip(X[:50], y[:50], strict=True):
        model.learn_one(x, target)
    assert is_live(model)
    assert model._live._arrays.has_layer  # in one call
    got = np.array([model.predict_one(x) for x in X])
    limit = 1e-9 if dtype == np.float64 else 2e-3
    assert relative_error(got, model.predict(X)) < limit


@pytest.mark.parametrize("labels", [["a", "b"], [3, 5, 9], [True, False], ["only"]], ids=str)
def test_classes(rng, labels):
    X = rng.normal(size=(1400, 4))
    y = np.array(labels)[rng.integers(len(labels), size=1400)]
    model = ELMClassifier(10, random_state=0).fit(X[:1100], y[:1100])
    other = copy.deepcopy(model)
    for x, label in zip(X[1100:], y[1100:], strict=True):
        assert model.predict_one(x) == model.predict([x])[0]
        model.learn_one(x, label)
    assert is_live(model)
    other.partial_fit(X[1100:], y[1100:])
    assert relative_error(model.decision_function(X), other.decision_function(X)) < 1e-7
    if isinstance(labels[0], str):
        model.learn_one(X[0], "zz")  # a new one
        assert "zz" in model.classes_
        model.learn_one(X[0], "zz")
        assert model.n_samples_seen_ == 1402


@pytest.mark.parametrize("kind", ["solver", "events", "estimator"])
def test_one_learns_while_others_read(rng, kind):
    H, Y = problem(rng, 6000, 6)
    Y = Y[:, 0]
    model = {
        "solver": Opium(0.1),
        "events": DynamicOpium(1.03, 0.1),
        "estimator": ELMRegressor(8, random_state=0),
    }[kind].fit(H[:1100], Y[:1100])
    largest, done, wrong = 10 * np.abs(Y).max(), [], []

    def read(k):
        while not done:
            if k == 0:
                found = model.predict_one(H[0])
            elif k == 1:
                found = model.predict(H[:3])
            else:
                found = pickle.loads(pickle.dumps(model)).predict(H[:2])
            if not np.abs(found).max() < largest:
                wrong.append(found)

    readers = [threading.Thread(target=read, args=(k,)) for k in range(3)]
    for reader in readers:
        reader.start()
    try:
        for h, y in zip(H[1100:], Y[1100:], strict=True):
            model.learn_one(h, y)
    finally:
        done.append(True)
        for reader in readers:
            reader.join()
    assert not wrong
    assert model.n_samples_seen_ == 6000


# Loading


@pytest.mark.parametrize("switch", ["1", "0", None])
def test_nothing_is_loaded_before_it_is_worth_it(switch):
    code = """
import sys, numpy as np, greville
H = np.random.default_rng(0).normal(size=(300, 3))
model = greville.ELMRegressor(10, random_state=0).fit(H, H[:, 0])
for h in H[:5]:
    model.predict_one(h)
solver = greville.Opium()
for h in H[:50]:
    solver.learn_one(h, 1.0)
assert "numba" not in sys.modules
for h in H:
    model.predict_one(h)
    solver.learn_one(h, 1.0)
print("numba" in sys.modules)
"""
    environ = {k: v for k, v in os.environ.items() if k != "GREVILLE_COMPILED"}
    if switch is not None:
        environ["GREVILLE_COMPILED"] = switch
    ended = children.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert ended.stdout.strip() == str(switch != "0")


@pytest.mark.parametrize("error", [ImportError("needs another NumPy"), OSError("no memory")])
def test_a_numba_that_does_not_work(rng, monkeypatch, error):
    monkeypatch.setattr(loading._Process, "loaded", {})
    monkeypatch.setattr(loading.Kernels, "__init__", _raising(error))
    H, Y = problem(rng, 100, 4)
    model = Opium().fit(H, Y)
    with pytest.warns(RuntimeWarning, match=f"numba is installed but does not work .{error}"):
        model.learn_one(H[0], Y[0])
    model.learn_one(H[0], Y[0])
    assert not is_live(model)
    assert model.n_samples_seen_ == 102


@pytest.mark.parametrize(
    "only", [None, "predict_outputs", "learn_number", "learn_outputs", "snapshot"]
)
def test_a_compiler_that_does_not_work(rng, monkeypatch, only):
    monkeypatch.setattr(loading._Process, "loaded", {})
    compiles = loading._compile

    def fails(layout, name, dtype):
        if only in (None, name):
            raise MemoryError("too little")
        return compiles(layout, name, dtype)

    monkeypatch.setattr(loading, "_compile", fails)
    H, Y = problem(rng, 3000, 4)
    model = Opium().fit(H[:50], Y[:50])
    flat = Opium().fit(H[:50], Y[:50, 0])

    def both():
        for h, y in zip(H[50:90], Y[50:90], strict=True):
            model.predict_one(h)
            model.learn_one(h, y)
            flat.learn_one(h, y[0])
        assert np.isfinite(model.coef_).all()

    with pytest.warns(RuntimeWarning, match="does not work"):
        both()
    assert relative_error(model.coef_, Opium().fit(H[:90], Y[:90]).coef_) < 1e-10
    assert relative_error(flat.coef_, model.coef_[0]) < 1e-10
    model.prequential(H, Y)
    assert model.n_samples_seen_ == 3090


def _raising(error):
    def raises(*args, **options):
        raise error

    return raises


def test_no_folder_to_keep_what_was_compiled(monkeypatch):
    layout = compiled.load(np.dtype(np.float64)).layout
    calls = []

    def njit(*args, cache=False, **options):
        calls.append(cache)
        if cache:
            raise RuntimeError("no locator available")
        return lambda function: function

    monkeypatch.setattr("numba.njit", njit)
    kept = loading._compile(layout, "snapshot", np.dtype(np.float64))
    assert kept is layout.snapshot
    assert calls == [True, False]


# What a live model must not do


@pytest.mark.parametrize("ask", [False, True])
def test_labels_that_come_late_or_are_none(rng, ask):
    X, y = rng.normal(size=(1400, 4)), np.array(["a", "b"])[rng.integers(2, size=1400)]
    model = ELMClassifier(10, random_state=0).fit(X[:1200], y[:1200])
    for x, label in zip(X[1200:1300], y[1200:1300], strict=True):
        model.predict_one(x)
        model.learn_one(x, label)
    if ask:
        model.predict_one(X[0])
    assert is_live(model)
    model.learn_one(X[0], "new")
    assert list(model.classes_) == ["a", "b", "new"]
    model.learn_one(X[1], "a")
    for bad in (None, np.nan):
        with pytest.raises(ValueError, match="y"):
            model.learn_one(X[0], bad)
    assert model.n_samples_seen_ == 1302


@pytest.mark.parametrize("kind", ["exact", "events", "chosen", "estimator"])
def test_no_row_is_lost_while_another_thread_saves(rng, kind, tmp_path):
    H, Y = problem(rng, 9000, 8)
    Y = Y[:, 0]
    model = {
        "exact": Opium(0.1),
        "events": DynamicOpium(1.03, 0.1),
        "chosen": Opium("auto"),
        "estimator": ELMRegressor(10, random_state=0),
    }[kind].fit(H[:1200], Y[:1200])
    done, wrong = [], []

    def save():
        while not done:
            before = model.n_samples_seen_
            greville.save(model, tmp_path / "m")
            after = model.n_samples_seen_
            if not before <= greville.load(tmp_path / "m").n_samples_seen_ <= after:
                wrong.append((before, after))

    thread = threading.Thread(target=save)
    thread.start()
    try:
        learn(model, H[1200:], Y[1200:])
    finally:
        done.append(True)
        thread.join()
    assert model.n_samples_seen_ == 9000
    assert not wrong
    if kind == "exact":
        W = oracles.pseudoinverse_weights(H, Y[:, None], 0.1)[:, 0]
        assert relative_error(model.coef_, W) < 1e-10


@pytest.mark.parametrize("kind", ["solver", "classifier"])
def test_threads_get_their_own_predictions(rng, kind):
    X = rng.normal(size=(1300, 5))
    y = (X[:, 0] > 0) * 1 + (X[:, 1] > 0)
    if kind == "solver":
        model = Opium(0.1).fit(X, np.eye(3)[y])
    else:
        model = ELMClassifier(10, random_state=0).fit(X, y)
    want = model.predict(X[:2])
    want[1] = model.predict(X[:2])[1]
    wrong = []

    def ask(k):
        for _ in range(20_000):
            if not np.allclose(model.predict_one(X[k]), want[k]):
                wrong.append(k)

    threads = [threading.Thread(target=ask, args=(k,)) for k in (0, 1)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert is_live(model)
    assert not wrong


@pytest.mark.parametrize("alpha", [1.05, 1.5])
def test_roots_without_a_floor_are_watched(rng, alpha):
    H, Y = problem(rng, 3000, 5)
    H[100:, 3] = 0
    found = []
    for on in (False, True):
        with kernels(on):
            model, errors = DynamicOpium(alpha, floor=None).partial_fit(H[:100], Y[:100]), []

            def record(model=model, errors=errors):
                try:
                    model.prequential(H[100:], Y[100:])
                except FloatingPointError as error:
                    errors.append(str(error))

            with pytest.warns(RuntimeWarning, match="Without a floor") as warned:
                record()
            found.append((errors, [str(w.message) for w in warned]))
    assert found[0] == found[1]


def test_the_smallest_numbers(rng):
    H, Y = 1e-310 * rng.normal(size=(200, 3)), rng.normal(size=200)
    model, other = Opium(1e-3).fit(H[:50], Y[:50]), Opium(1e-3)
    learn(model, H[50:], Y[50:])
    with kernels(False):
        other.fit(H, Y)
    assert np.abs(model.predict(H) - other.predict(H)).max() < 1e-300


def test_reading_after_every_row(rng):
    H, Y = problem(rng, 400, 130)
    model = Opium(0.1).fit(H[:200], Y[:200])
    for k in range(200, 400):
        model.learn_one(H[k], Y[k])
        model.predict(H[:1])
    assert is_live(model)
    assert relative_error(model.coef_, Opium(0.1).fit(H, Y).coef_) < 1e-9


def test_a_model_that_is_fitted_again(rng):
    H, Y = problem(rng, 3000, 5)
    model = Opium(0.1).fit(H, Y)
    with mock.patch.object(InPlace, "rows_between_changes", 128):
        learn(model, H[:500], Y[:500])
        assert is_live(model)
        model.fit(H[:100], Y[:100])
        learn(model, H[:10], Y[:10])
        assert is_live(model)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int32, int, np.float64])
def test_targets_of_any_type_with_units(rng, kind):
    X = rng.normal(size=(3000, 4))
    y = (
        (1000 * X[:, 0]).astype(kind)
        if kind is np.float16
        else (1e3 * X[:, 0] + 1.2e9).astype(kind)
    )
    models = []
    for on in (False, True):
        with kernels(on):
            model = ELMRegressor(10, Opium(0.1), random_state=0).fit(
                X[:1500], y[:1500].astype(float)
            )
            learn(model, X[1500:], list(y[1500:]))
            models.append(model)
    assert is_live(models[1])
    first, second = (m.predict(X[:500]) for m in models)
    assert np.abs(first - second).max() < 1e-9 * np.abs(first).max()
    for bad in (1.5e148, [], set(), "3"):
        with pytest.raises((ValueError, TypeError)):
            models[1].learn_one(X[0], bad)
    for bad in ([], [[]], set()):
        with pytest.raises((ValueError, TypeError), match="x|set"):
            models[1].predict_one(bad)


def test_a_row_too_long_for_the_prior(rng):
    H, Y = problem(rng, 500, 20)
    model, other = (Opium(1e-3).fit(H[:18], Y[:18]) for _ in range(2))
    rows = [*H[:100], 1e6 * H[100], *H[101:200]]
    for h, y in zip(rows, Y, strict=False):
        model.predict_one(h)
        model.learn_one(h, y)
    assert is_live(model)
    with kernels(False):
        other.partial_fit(rows, Y[:200])
    assert relative_error(model.coef_, other.coef_) < 1e-6


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_interrupt_while_it_is_filled(rng, where):
    H, Y = problem(rng, 3000, 5)
    model = DynamicOpium(1.01, 0.1).fit(H[:1000], Y[:1000])
    learn(model, H[1000:1010], Y[1000:1010])
    real, calls = InPlace._fill, []

    def interrupted(self, room, layer):
        calls.append(1)
        if where == "after":
            real(self, room, layer)
        raise KeyboardInterrupt

    k = 1010
    with mock.patch.object(InPlace, "_fill", interrupted):
        while not calls:
            try:
                model.learn_one(H[k], Y[k])
                k += 1
            except KeyboardInterrupt:
                pass
    assert model.n_samples_seen_ == k
    learn(model, H[k:], Y[k:])
    with kernels(False):
        other = DynamicOpium(1.01, 0.1).fit(H[:1000], Y[:1000]).partial_fit(H[1000:], Y[1000:])
    assert model.n_samples_seen_ == 3000
    assert relative_error(model.coef_, other.coef_) < 1e-9


def test_another_solver_is_asked_for(rng):
    X, y = rng.normal(size=(1200, 3)), rng.normal(size=1200)
    model = ELMRegressor(10, "opium", random_state=0).fit(X, y)
    model.learn_one(X[0], y[0])
    assert is_live(model)
    model.set_params(solver="batch")
    assert not hasattr(model, "learn_one")
