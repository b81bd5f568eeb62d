"""Units learned from the first rows: what they are, when they change, what they are good for."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from greville import DynamicOpium, ELMClassifier, ELMRegressor, FourierLayer, Opium, RandomLayer
from greville.elm.units import Columns, Scaling

from ..oracles import relative_error


@pytest.fixture
def wild(rng):
    """Inputs in units from 1e-6 to 1e6, some far from zero, and a target that needs them all."""
    X = rng.normal(size=(1500, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.05 * rng.normal(size=1500)
    return X * [1e-6, 1.0, 1e3, 1e6] + [0, 50, 0, 1e7], y, X


def score(model, X, y):
    return model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])


def test_inputs_in_different_units(wild):
    X, y, plain = wild
    model = ELMRegressor(300, random_state=0)
    assert score(model, plain, y) > 0.95
    assert abs(score(model, X, y) - score(model, plain, y)) < 0.01
    assert score(ELMRegressor(300, random_state=0, standardize=False), X, y) < 0.5
    one = plain.copy()
    one[:, 2] *= 1e-5
    assert abs(score(model, one, y) - score(model, plain, y)) < 0.01


@pytest.mark.parametrize("solver", ["opium", "dynamic", "greville", "batch"])
@pytest.mark.parametrize(
    ("dtype", "shift", "scale"),
    [
        *itertools.product([np.float64, np.float32], [1e6], [1.0]),
        *itertools.product([np.float64, np.float32], [0.0], [1e-6]),
        *itertools.product([np.float64, np.float32], [1e9], [1e3]),
        (np.float64, -3e5, 1e-2),  # float32 has no such numbers
    ],
)
def test_targets_in_odd_units(wild, solver, dtype, shift, scale):
    _, y, X = wild
    model = ELMRegressor(60, solver, random_state=0)
    X = X.astype(dtype)
    assert abs(score(model, X, scale * y + shift) - score(model, X, y)) < 0.01


def test_error_bars_come_in_the_units_of_the_targets(wild):
    _, y, X = wild
    plain = ELMRegressor(60, random_state=0).fit(X, y).predict(X[:5], return_std=True)
    odd = ELMRegressor(60, random_state=0).fit(X, 1e6 * y + 1e8).predict(X[:5], return_std=True)
    np.testing.assert_allclose(odd[0], 1e6 * plain[0] + 1e8, rtol=1e-5)
    np.testing.assert_allclose(odd[1], 1e6 * plain[1], rtol=1e-3)
    record = ELMRegressor(60, random_state=0).prequential(X, 1e6 * y + 1e8, return_std=True)
    inside = np.abs(record[0] - (1e6 * y + 1e8)) < 3 * record[1]
    assert inside[200:].mean() > 0.95


def test_inputs_of_order_one_stay_as_they_are(rng):
    normal, pixels = rng.normal(size=(200, 5)), rng.integers(0, 256, size=(200, 5)) / 255
    pixels[:, 3] = 0
    pixels[7, 3] = 1 / 255  # nearly always black
    for X in (normal, pixels, 2 * pixels - 1, sparse.csr_array(pixels)):
        assert Scaling.of_inputs(Columns.of(X, None), always=False) == Scaling()
        assert Scaling.of_inputs(Columns.of(X, None), always=True).unit is not None
    for X in (255 * pixels, normal + 50, normal * [1, 1, 1, 1, 1e-3], 1e-3 * normal):
        scaled = Scaling.of_inputs(Columns.of(X, None), always=False)
        assert scaled.unit is not None
        lengths = (scaled.apply(X, float) ** 2).sum(axis=1)
        assert lengths.mean() == pytest.approx(6)
    X = rng.normal(size=(100, 2))
    model = ELMRegressor(10, Opium(), random_state=0).fit(X, X[:, 0])
    layer = RandomLayer(10, bias=True, random_state=0).fit(X)
    np.testing.assert_array_equal(model.hidden_.weights_, layer.weights_)
    np.testing.assert_allclose(model.predict(X), layer.transform(X) @ model.solver_.coef_[0])


def test_weights_count_as_rows(rng):
    X = rng.normal(3, 100, size=(50, 3))
    weight = rng.integers(0, 3, size=50)
    weighted = Scaling.of_inputs(Columns.of(X, weight), always=False)
    repeated = Scaling.of_inputs(Columns.of(np.repeat(X, weight, axis=0), None), always=False)
    np.testing.assert_allclose(weighted.centre, repeated.centre)
    np.testing.assert_allclose(weighted.unit, repeated.unit)


def test_sparse_inputs_keep_their_zeros(rng, monkeypatch):
    """Sparse rows have the units of dense ones, and are never made dense."""
    X = sparse.csr_array(1000 * rng.random((300, 20)) * (rng.random((300, 20)) < 0.2))
    y = np.asarray(X[:, :3].sum(axis=1)).ravel()
    dense = ELMRegressor(50, random_state=0).fit(X.toarray(), y)
    want = dense.predict(X.toarray())
    assert dense.score(X.toarray(), y) > 0.9
    real = sparse.csr_array.toarray

    def only_one_row(self, *args, **kwargs):
        assert self.shape[0] == 1
        return real(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(sparse.csr_array, "toarray", only_one_row)
        got = ELMRegressor(50, random_state=0).fit(X, y).predict(X), dense.predict(X)
        stream = ELMRegressor(50, random_state=0).partial_fit(X[:100], y[:100])
    np.testing.assert_allclose(got[0], want, rtol=1e-9)
    np.testing.assert_allclose(got[1], want, rtol=1e-9)
    stream.partial_fit(X[100:].toarray(), y[100:])
    both = ELMRegressor(50, random_state=0).partial_fit(X.toarray(), y)
    np.testing.assert_allclose(stream.predict(X), both.predict(X), rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 20.0, 1e5])
@pytest.mark.parametrize(
    "hidden", [30, FourierLayer(40), StandardScaler(with_mean=False)], ids=["units", "own", "other"]
)
def test_sparse_rows_are_the_same_rows(rng, hidden, scale):
    """A model says the same about rows, however they are given, far from zero too."""
    X = scale * (rng.normal(size=(300, 3)) + 4)
    X[rng.random(X.shape) < 0.4] = 0
    y = np.sin(X[:, 0] / scale)
    for rows in (X, sparse.csr_array(X)):
        model = ELMRegressor(hidden, random_state=0, standardize=True).fit(rows, y)
        got = model.predict(X), model.predict(sparse.csr_array(X))
        np.testing.assert_allclose(got[0], got[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", ["opium", "dynamic", "light"])
def test_how_a_stream_is_cut_changes_nothing(wild, solver):
    X, y, _ = wild

    def learned(cuts):
        model = ELMRegressor(20, solver, random_state=0)
        for rows in np.split(np.arange(1500), cuts):
            model.partial_fit(X[rows], y[rows])
        return model.predict(X[:50])

    whole = learned([])
    for cuts in (range(1, 60), range(100, 1500, 100), [1023], [1024, 1025]):
        np.testing.assert_allclose(learned(cuts), whole, rtol=1e-6, atol=1e-7)


def test_prequential_is_the_loop_also_while_units_change(wild):
    X, y, _ = wild
    loop, record = ELMRegressor(15, random_state=0), []
    for i in range(150):
        record.append(loop.predict(X[i : i + 1])[0] if i else 0.0)
        loop.partial_fit(X[i : i + 1], y[i : i + 1])
    at_once = ELMRegressor(15, random_state=0)
    np.testing.assert_allclose(at_once.prequential(X[:150], y[:150]), record, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(at_once.predict(X), loop.predict(X), rtol=1e-7, atol=1e-7)
    labels = np.where(y > 0, "up", "down")
    loop, record = ELMClassifier(15, random_state=0), []
    for i in range(100):
        record.append(loop.predict(X[i : i + 1])[0] if i else labels[0])
        loop.partial_fit(X[i : i + 1], labels[i : i + 1])
    at_once = ELMClassifier(15, random_state=0).prequential(X[:100], labels[:100])
    np.testing.assert_array_equal(at_once[1:], record[1:])


def test_the_units_are_frozen(wild):
    X, y, _ = wild
    model = ELMRegressor(20, random_state=0).fit(X[:200], y[:200])
    frozen = model.fitted_.hidden.scaling
    model.partial_fit(1e3 * X, y)
    assert model.fitted_.hidden.scaling is frozen
    stream = ELMRegressor(20, random_state=0).partial_fit(X[:1100], y[:1100])
    frozen = stream.fitted_.hidden.scaling
    stream.partial_fit(1e3 * X, y)
    assert stream.fitted_.hidden.scaling is frozen
    early = ELMRegressor(20, random_state=0).partial_fit(X[:100], y[:100])
    again = pickle.loads(pickle.dumps(early))
    for m in (early, again):
        m.partial_fit(X[100:300], y[100:300])
    np.testing.assert_array_equal(early.predict(X), again.predict(X))
    early.unlearn(X[:5], y[:5])
    early.partial_fit(X[300:], y[300:])
    assert early.n_samples_seen_ == 1495


@pytest.mark.host  # tensors are pickled to other bytes every time
def test_an_error_while_units_change_leaves_the_model(wild):
    X, y, _ = wild
    model = ELMRegressor(20, random_state=0).partial_fit(X[:100], y[:100])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="y"):
        model.partial_fit(X[100:300], np.where(np.arange(200) == 7, np.inf, y[100:300]))
    assert pickle.dumps(model) == before


def test_models_in_different_units_do_not_merge(wild):
    X, y, plain = wild
    a, b = (ELMRegressor(20, random_state=0).fit(X[i::2], y[i::2]) for i in range(2))
    with pytest.raises(ValueError, match="standardize"):
        a.merge(b)
    c, d = (ELMRegressor(20, random_state=0).fit(plain[i::2], y[i::2] + 1e6) for i in range(2))
    whole = ELMRegressor(20, random_state=0).fit(plain, y + 1e6)
    np.testing.assert_allclose((c + d).predict(plain), whole.predict(plain), rtol=1e-12)


def test_targets_beyond_the_dtype(wild):
    _, y, X = wild
    model = ELMRegressor(20, random_state=0).fit(X.astype(np.float32), y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="y"):
        model.partial_fit(X[:5], 1e60 * y[:5])
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="y"):
        ELMRegressor(20, random_state=0).fit(X.astype(np.float32), 1e45 * y)


def test_inputs_whose_squares_overflow(wild):
    _, y, X = wild
    assert ELMRegressor(60, random_state=0).fit(1e300 * X, y).score(1e300 * X, y) > 0.8


def test_bad_parameters(wild):
    X, y, _ = wild
    with pytest.raises(ValueError, match="standardize"):
        ELMRegressor(standardize="yes").fit(X, y)


def test_a_transformer_gets_inputs_as_they_are(wild):
    X, y, _ = wild
    model = ELMRegressor(RandomLayer(10), random_state=0).fit(X, y)
    assert model.fitted_.hidden.scaling == Scaling()
    assert (
        ELMRegressor(RandomLayer(10), standardize=True).fit(X, y).fitted_.hidden.scaling.unit
        is not None
    )
    assert ELMRegressor(FourierLayer(100), random_state=0).fit(X, y).score(X, y) > 0.8
    stream = ELMRegressor(FourierLayer(100), random_state=0)
    assert stream.partial_fit(X[:700], y[:700]).partial_fit(X[700:], y[700:]).score(X, y) > 0.8


@pytest.mark.full
@pytest.mark.parametrize(
    ("load", "model", "least"),
    [
        (load_iris, ELMClassifier(random_state=0), 0.93),
        (load_wine, ELMClassifier(random_state=0), 0.96),
        (load_diabetes, ELMRegressor(random_state=0), 0.46),
    ],
)
def test_defaults_on_small_tables(load, model, least):
    assert cross_val_score(model, *load(return_X_y=True), cv=5).mean() > least


def test_solvers_agree_with_a_layer_by_hand(wild):
    X, y, plain = wild
    by_hand = Opium("auto", intercept=True).fit(
        RandomLayer(30, bias=True, random_state=0).fit_transform(plain), y
    )
    model = ELMRegressor(30, random_state=0).fit(plain, y)
    assert relative_error(model.solver_.coef_, by_hand.coef_) < 1e-12
    dynamic = ELMRegressor(30, DynamicOpium(1.001, "auto"), random_state=0).fit(X, y)
    assert dynamic.score(X, y) > 0.7
