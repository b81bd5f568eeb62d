"""One row at a time: exact at every step, whatever is mixed with it."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer

from greville import (
    Batch,
    ContrastLayer,
    DynamicOpium,
    ELMClassifier,
    ELMRegressor,
    Greville,
    Opium,
    OpiumLight,
    RandomLayer,
    SlidingOpium,
)

from .. import oracles
from ..lengths import at_length
from ..oracles import relative_error
from ..problems import ONLINE_SOLVERS, problem

# The plain backend has no fast way for single rows.
pytestmark = pytest.mark.usefixtures("both")


def follow(model, H, Y, ask=True):
    """The predictions of all rows but the first, each before it is learned."""
    predicted = []
    for k, (h, y) in enumerate(zip(H, Y, strict=True)):
        if k and ask:
            predicted.append(model.predict_one(h))
        assert model.learn_one(h, y) is model
    return np.array(predicted)


@pytest.mark.parametrize("outputs", [0, 1, 3])
@pytest.mark.parametrize("solver", ONLINE_SOLVERS, ids=str)
def test_a_loop_is_what_prequential_says(rng, solver, outputs):
    H, Y = problem(rng, 300, 12, max(outputs, 1))
    H[40:50] = H[30:40]  # seen before
    H[60:63] = 0
    Y = Y if outputs else Y[:, 0]
    model, other = clone(solver), clone(solver)
    predicted = follow(model, H, Y)
    assert relative_error(predicted, other.prequential(H, Y)[1:]) < 1e-8
    assert relative_error(model.coef_, other.coef_) < 1e-8
    assert model.n_samples_seen_ == 300


@pytest.mark.parametrize("epsilon", [10.0, 1e-3, 1e-5])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-9), (np.float32, 5e-3)])
def test_exact_after_every_row(rng, epsilon, dtype, tol):
    """From the first row on, where rows are 1/epsilon long in the coordinates of the root."""
    H, Y = problem(rng, 150, 20, 2)
    H, Y = H.astype(dtype), Y.astype(dtype)
    epsilon = epsilon if dtype == np.float64 else max(epsilon, 0.1)
    model, scale = Opium(epsilon), np.abs(Y).max()
    for k in range(150):
        if k:
            want = H[k] @ oracles.pseudoinverse_weights(H[:k], Y[:k], epsilon)
            assert np.abs(model.predict_one(H[k]) - want).max() < tol * max(scale, abs(want).max())
        model.learn_one(H[k], Y[k])


def test_smooth_signals_are_exact_too(rng):
    """Lags of a smooth signal: rows nearly dependent, long where they are not."""
    signal = np.sin(0.05 * np.arange(400)) + 1e-4 * rng.normal(size=400)
    H = np.lib.stride_tricks.sliding_window_view(signal, 8)[:-1].copy()
    y = signal[8:]
    theirs = oracles.opium(H, y[:, None], 1e-2)[3]
    ours = y[1:] - follow(Opium(1e-2), H, y)
    assert np.abs(ours - theirs[1:, 0]).max() < 1e-9


def test_the_first_question_looks_and_the_second_finds_weights(rng):
    H, Y = problem(rng, 40, 10)
    model = Opium().fit(H[:20], Y[:20])
    for h, y in zip(H[20:30], Y[20:30], strict=True):
        model.learn_one(h, y)
    want = model.predict(H[30:])
    got = [[model.predict_one(h) for h in H[30:]] for _ in range(2)]
    assert relative_error(np.array(got[0]), want) < 1e-12
    assert np.array_equal(got[0][1:], got[1][1:])


@pytest.mark.parametrize("solver", ONLINE_SOLVERS, ids=str)
def test_an_array_that_is_used_again(rng, solver):
    """The row that was predicted is recognised by its numbers, not by where they lie."""
    H, Y = problem(rng, 90, 6)
    Y = Y[:, 0]
    model, other = clone(solver), clone(solver).partial_fit(H, Y)
    row = np.empty(6)
    model.learn_one(H[0], Y[0])
    for k in range(1, 90):
        row[:] = H[k - 1]
        model.predict_one(row)
        row[:] = H[k]
        model.learn_one(row, Y[k])
        row[:] = np.nan
    assert relative_error(model.coef_, other.coef_) < 1e-8


@pytest.mark.parametrize("solver", ONLINE_SOLVERS, ids=str)
def test_twins_go_their_own_ways(rng, solver):
    H, Y = problem(rng, 120, 6)
    Y = Y[:, 0]
    model = clone(solver)
    follow(model, H[:70], Y[:70])
    twins = [copy.copy(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for k, twin in enumerate(twins):
        follow(twin, H[70 + k : 80 + k], Y[70 + k : 80 + k], ask=k != 1)
    follow(model, H[90:], Y[90:])
    for k, twin in enumerate(twins):
        rows = np.r_[:70, 70 + k : 80 + k]
        alone = clone(solver).partial_fit(H[rows], Y[rows])
        assert relative_error(twin.coef_, alone.coef_) < 1e-8
    rows = np.r_[:70, 90:120]
    assert relative_error(model.coef_, clone(solver).partial_fit(H[rows], Y[rows]).coef_) < 1e-8


@pytest.mark.parametrize("solver", [Opium(), DynamicOpium(), OpiumLight()], ids=str)
def test_threads_may_ask_at_once(rng, solver):
    H, Y = problem(rng, 60, 8)
    model = clone(solver).fit(H[:30], Y[:30])
    for h, y in zip(H[30:50], Y[30:50], strict=True):
        model.learn_one(h, y)
    want = model.predict(H)
    with ThreadPoolExecutor(4) as pool:
        got = np.array(list(pool.map(model.predict_one, np.tile(H, (20, 1)))))
    assert relative_error(got, np.tile(want, (20, 1))) < 1e-12


@pytest.mark.parametrize("solver", [Opium(), DynamicOpium(), OpiumLight()], ids=str)
def test_an_interrupt_changes_nothing(rng, solver, monkeypatch, plain):
    H, Y = problem(rng, 100, 8)
    Y = Y[:, 0]
    model = clone(solver)
    follow(model, H[:50], Y[:50])
    before, seen = model.coef_, model.n_samples_seen_
    model.predict_one(H[50])

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("greville.solvers._state.State.learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.learn_one(H[50], Y[50])
    assert model.n_samples_seen_ == seen
    assert np.array_equal(model.coef_, before)
    follow(model, H[50:], Y[50:])
    assert relative_error(model.coef_, clone(solver).partial_fit(H, Y).coef_) < 1e-9


def test_numbers_of_any_kind(rng):
    H, Y = problem(rng, 20, 4)
    model = Opium().learn_one(list(H[0]), 1)
    for y in (2, 2.0, np.float64(2), np.float32(2), np.int8(2), np.array(2.0), True):
        model.learn_one(H[1], y)
    model.learn_one(H[2].astype(np.float32), Y[2, 0]).learn_one(H[::2, 0][:4], Y[3, 0])
    assert model.predict_one(H[0]).shape == ()
    assert isinstance(model.predict_one(H[0]), np.float64)
    assert model.n_samples_seen_ == 10
    single = Opium().learn_one(H[0].astype(np.float32), 1.0)
    assert isinstance(single.predict_one(H[0]), np.float32)


@pytest.mark.parametrize(
    ("h", "y", "message"),
    [
        ([1.0, np.nan, 0.0], 1.0, "x: Input x contains NaN"),
        (np.array([1.0, np.inf, 0.0]), 1.0, "x: Input x contains infinity"),
        (np.full(3, 1e200), 1.0, "x: got numbers from"),
        (np.zeros(2), 1.0, "x: got 2 numbers, but this model was started with 3"),
        (np.zeros((1, 3)), 1.0, r"x: expected one row as a 1-d array, got shape \(1, 3\)"),
        (["a", "b", "c"], 1.0, "x: expected numbers"),
        (np.zeros(3), np.nan, "y: Input y contains NaN"),
        (np.zeros(3), 1e200, "y: got numbers from"),
        (np.zeros(3), [1.0, 2.0], r"y: expected one number, got shape \(2,\)"),
        (np.zeros(3), "a", "y: expected numbers"),
        (np.zeros(3), None, "y: "),
    ],
)
@pytest.mark.parametrize("solver", [Opium(), OpiumLight(), DynamicOpium("auto")], ids=str)
def test_bad_rows_change_nothing(rng, solver, h, y, message):
    H, Y = problem(rng, 10, 3)
    model = clone(solver).fit(H, Y[:, 0])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(h, y)
    assert pickle.dumps(model) == before
    if message.startswith("x"):
        with pytest.raises(ValueError, match=message):
            model.predict_one(h)


def test_nothing_to_ask_yet():
    for model in (Opium(), Batch(), ELMRegressor(), ELMClassifier()):
        with pytest.raises(NotFittedError):
            model.predict_one(np.zeros(3))
    with pytest.raises(ValueError, match="x: expected one row"):
        Opium().learn_one(3.0, 1.0)


def test_batch_predicts_but_does_not_learn(rng):
    H, Y = problem(rng, 30, 4)
    model = Batch().fit(H, Y)
    assert relative_error(model.predict_one(H[3]), model.predict(H[3:4])[0]) < 1e-14
    assert not hasattr(model, "learn_one")
    assert not hasattr(ELMRegressor(solver="batch"), "learn_one")


def stream(rng, n=1300):
    X = rng.uniform(-1, 1, size=(n, 3)) * [1, 10, 1000]
    return X, np.sin(X[:, 0]) + X[:, 1] / 10 + 50


@pytest.mark.parametrize(
    "model",
    [
        ELMRegressor(20, random_state=0),
        ELMRegressor(20, Opium(1e-2), random_state=0, standardize=False),
        ELMRegressor(20, "light", random_state=0),
        ELMRegressor(RandomLayer(20, activation="sin"), "dynamic", random_state=0),
        ELMRegressor(FunctionTransformer(np.tanh), Opium(1e-2), random_state=0),
    ],
    ids=str,
)
def test_a_regressor_in_a_loop(rng, model):
    """Units of inputs and targets change on the way, up to row 1024."""
    X, y = stream(rng)
    model, other = clone(model), clone(model)
    got = follow(model, X, y)
    assert relative_error(got, other.prequential(X, y)[1:]) < 1e-8
    assert relative_error(model.predict(X), other.predict(X)) < 1e-8


def test_several_outputs_and_whole_numbers(rng):
    X, y = stream(rng, 200)
    Y = np.column_stack([y, 1e5 * y])
    model = ELMRegressor(20, random_state=0)
    got = follow(model, X.astype(int), Y)
    assert got.shape == (199, 2)
    other = ELMRegressor(20, random_state=0)
    assert relative_error(got, other.prequential(X.astype(int), Y)[1:]) < 1e-8


@pytest.mark.parametrize("labels", [["a", "b", "ccc"], [3, 1, 2], [True, False, True]])
def test_a_classifier_in_a_loop(rng, labels):
    X, y = stream(rng, 400)
    y = np.array(labels)[(y > 50).astype(int)]
    y[300:320] = labels[2]  # one that comes late
    model, other = (ELMClassifier(30, random_state=0) for _ in range(2))
    got = follow(model, X, y)
    want = other.prequential(X, y)[1:]
    assert np.mean(got != want) < 0.01  # ties
    assert np.array_equal(model.classes_, other.classes_)
    assert relative_error(model.decision_function(X), other.decision_function(X)) < 1e-8


def test_images_and_names_of_columns(rng):
    X, y = rng.uniform(size=(80, 36)), rng.integers(2, size=80)
    frame = pd.DataFrame(X, columns=[f"pixel {k}" for k in range(36)])
    layer = ContrastLayer(20, receptive_fields=(6, 6), border=0)
    model = ELMClassifier(layer, random_state=0).fit(frame[:60], y[:60])
    follow(model, X[60:], y[60:])
    model.learn_one(X[0], 7)  # a new label, and no warning about names
    assert model.predict_one(X[3]) == model.predict(frame[3:4])[0]


def test_bad_rows_of_an_estimator(rng):
    X, y = stream(rng, 50)
    model = ELMRegressor(10, random_state=0).fit(X, y)
    before = pickle.dumps(model)
    for x, message in (
        ([1.0, np.nan, 0.0], "x: Input x contains NaN"),
        (np.zeros(2), "x: got 2 numbers, but this model was started with 3"),
        (np.zeros((1, 3)), "x: expected one row as a 1-d array"),
    ):
        for ask in (lambda: model.learn_one(x, 1.0), lambda: model.predict_one(x)):  # noqa: B023
            with pytest.raises(ValueError, match=message):
                ask()
    with pytest.raises(ValueError, match="y: Input y contains NaN. Leave such rows out"):
        model.learn_one(X[0], np.nan)
    assert pickle.dumps(model) == before


def test_predictions_are_the_callers_own(rng):
    X, y = stream(rng, 40)
    model = ELMRegressor(10, Opium(1e-2), random_state=0, standardize=False)
    model.fit(X / [1, 10, 1000], np.column_stack([y, -y]))
    row, target = X[0] / [1, 10, 1000], np.array([1.0, 2.0])
    twin = copy.deepcopy(model)
    for each in (model, model.solver_):
        each.predict_one(row if each is model else np.zeros(10))[:] = np.nan
    model.predict_one(row)[:] = np.nan
    model.learn_one(row, target)
    twin.learn_one(row, target)
    assert relative_error(model.predict(X), twin.predict(X)) < 1e-10


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_too_large_are_refused_while_others_wait(rng, dtype):
    H, Y = problem(rng, 30, 4)
    model = Opium(0.1).fit(H.astype(dtype), Y[:, 0])
    model.predict_one(H[0].astype(dtype))
    model.learn_one(H[0].astype(dtype), 1.0)
    large = np.full(4, 1e30 if dtype == np.float32 else 1e200, dtype)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="x: got numbers from"):
        model.predict_one(large)
    with pytest.raises(ValueError, match="x: got numbers from"):
        model.learn_one(large, 1.0)
    with pytest.raises(ValueError, match="x: expected one row"):
        model.learn_one(H[1].astype(dtype)[None], 1.0)
    assert pickle.dumps(model) == before


def test_a_transformer_that_returns_what_it_was_given(rng):
    X, y = stream(rng, 60)
    X = X / [1, 10, 1000]
    model, other = (ELMRegressor(FunctionTransformer(), Opium(0.1)) for _ in range(2))
    model.fit(X[:30], y[:30])
    buffer = X[40].copy()
    model.predict_one(buffer)
    buffer[:] = X[41]
    model.learn_one(X[40], y[40])
    other.fit(X[:30], y[:30]).partial_fit(X[40:41], y[40:41])
    assert relative_error(model.predict(X), other.predict(X)) < 1e-12


def test_targets_that_float32_cannot_hold(rng):
    X, y = stream(rng, 60)
    X = (X / [1, 10, 1000]).astype(np.float32)
    model = ELMRegressor(10, Opium(0.1), random_state=0, standardize=False).fit(X, y)
    with pytest.raises(ValueError, match="y: got numbers from"):
        model.learn_one(X[0], 1e20)
    tiny = ELMRegressor(10, random_state=0).fit(X, 1e-30 * y)
    with pytest.raises(ValueError, match="y: "):
        tiny.learn_one(X[0], 1e10)
    light = ELMRegressor(10, "light", random_state=0).fit(X, np.column_stack([y, y]) / 50)
    assert light.learn_one(X[0], [1.0, 2.0]).solver_.coef_.dtype == np.float32
    for solver in (Opium(), OpiumLight()):
        with pytest.raises(ValueError, match="y: "):
            solver.fit(X, y).learn_one(X[0], 10**400)


def test_sparse_rows_first(rng):
    X = sparse.csr_array(rng.random((40, 6)) * (rng.random((40, 6)) < 0.5))
    y = rng.normal(size=40)
    model = ELMRegressor(10, random_state=0).partial_fit(X[:20], y[:20])
    follow(model, X[20:].toarray(), y[20:])
    other = ELMRegressor(10, random_state=0).partial_fit(X, y)
    assert relative_error(model.predict(X), other.predict(X)) < 1e-10


def test_parameters_set_on_the_way_are_checked(rng):
    H, Y = problem(rng, 300, 4)
    model = OpiumLight().fit(H, Y[:, 0])
    with pytest.raises(ValueError, match="gain=-1"):
        model.set_params(gain=-1).learn_one(H[0], 1.0)
    for model, change in (
        (DynamicOpium(), {"alpha": "auto"}),
        (Opium(), {"epsilon": "auto"}),
        (Opium(), {"intercept": True}),
        (DynamicOpium(), {"floor": -1.0}),
    ):
        model.fit(H, Y[:, 0]).set_params(**change)
        with pytest.raises(ValueError, match=next(iter(change))):
            follow(model, H, Y[:, 0], ask=False)


@pytest.mark.full
@pytest.mark.parametrize(
    "solver", [Opium(), Opium("auto", intercept=True), DynamicOpium(), OpiumLight()], ids=str
)
def test_one_thread_learns_while_others_ask(rng, solver):
    n = at_length(400, 1500)
    H, Y = problem(rng, n, 8)
    Y = Y[:, 0]
    model = clone(solver).fit(H[:100], Y[:100])
    done = False

    def ask(number):
        answers = 0
        while not done:
            assert np.isfinite(model.predict_one(H[number]))
            answers += 1
        return answers

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(ask, number) for number in range(3)]
        try:
            follow(model, H[100:], Y[100:])
        finally:
            done = True
        assert all(future.result() > 0 for future in asked)
    alone = clone(solver).fit(H[:100], Y[:100]).partial_fit(H[100:], Y[100:])
    assert model.n_samples_seen_ == n
    assert relative_error(model.coef_, alone.coef_) < 1e-8


@pytest.mark.parametrize(
    ("solver", "change"),
    [
        (OpiumLight(0.5), {"gain": 2.0}),
        (DynamicOpium(1.003, 0.1), {"alpha": 1.2}),
        (DynamicOpium(1.003, 0.1), {"floor": 0.5}),
        (DynamicOpium(1.003, 0.1), {"epsilon": 0.2}),
        (Opium(0.1), {"epsilon": 0.2}),
        (SlidingOpium(50), {"window": 60}),
        (Greville(), {"tol": 0.1}),
    ],
    ids=str,
)
def test_a_started_model_refuses_rows_after_its_parameters_were_set(rng, both, solver, change):
    """Until `fit` starts it again, or they are set back; it predicts all the while."""
    H, Y = problem(rng, 600, 5)
    Y = Y[:, 0]
    model = clone(solver).fit(H[:300], Y[:300])
    follow(model, H[300:500], Y[300:500])
    before, coef = model.get_params(), model.coef_
    for bad in (change, {next(iter(change)): -1.0}):
        model.set_params(**bad)
        for learn in (model.partial_fit, model.prequential):
            with pytest.raises(ValueError, match=next(iter(change))):
                learn(H[:5], Y[:5])
        with pytest.raises(ValueError, match=next(iter(change))):
            follow(model, H[:100], Y[:100])
        assert np.isfinite(model.predict_one(H[0]))
        assert np.array_equal(model.coef_, coef)
    model.set_params(**before).learn_one(H[500], Y[500])
    assert model.n_samples_seen_ == 501
    assert model.set_params(**change).fit(H, Y).n_samples_seen_ == 600


def test_targets_of_another_kind_leave_the_dtype(rng):
    H = rng.normal(size=(20, 4)).astype(np.float32)
    for solver in (OpiumLight(), Opium(), DynamicOpium()):
        model = clone(solver).fit(H, H[:, 0])
        model.learn_one(H[0], np.float64(1.0)).learn_one(H[1], 1)
        assert model.coef_.dtype == np.float32


def test_a_window_in_threads(rng):
    H, Y = problem(rng, 800, 8)
    Y = Y[:, 0]
    model = SlidingOpium(100, 0.1).fit(H[:200], Y[:200])
    done = False

    def ask(number):
        while not done:
            assert np.isfinite(model.predict_one(H[number]))

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(ask, number) for number in range(3)]
        try:
            for h, y in zip(H[200:], Y[200:], strict=True):
                model.learn_one(h, y)
        finally:
            done = True
        for future in asked:
            future.result()


def test_a_refit_is_never_seen_empty(rng):
    H, Y = problem(rng, 300, 30)
    model = Opium().fit(H, Y)
    want, seen, done = model.predict(H[:2]), [], False

    def ask():
        while not done:
            seen.append(model.predict(H[:2]))

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        for _ in range(200):
            model.fit(H, Y)
        done = True
        asked.result()
    assert all(relative_error(each, want) < 1e-12 for each in seen)
