"""Layers that remember, against loops over rows; pieces of a sequence, and refusals."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import greville
from greville import DynamicOpium, ELMRegressor, LagLayer, LinearRegressor, Opium, ReservoirLayer
from greville.compiled import use

LAYERS = [
    ReservoirLayer(30, random_state=0),
    ReservoirLayer(7, leak=0.3, spectral_radius=1.2, degree=20, random_state=1),
    LagLayer(3, stride=2, order=3),
    LagLayer(1, order=1),
]
each_layer = pytest.mark.parametrize("layer", LAYERS, ids=str)


def sequence(rng, n=60, columns=2):
    return np.cumsum(rng.normal(size=(n, columns)), axis=0) / 5


def connections(layer):
    """W as a matrix."""
    M = layer.n_hidden_
    W = np.zeros((M, M))
    for sources, strengths in zip(layer.sources_, layer.strengths_, strict=True):
        for unit in range(M):
            W[unit, sources[unit]] += strengths[unit]
    return W


@pytest.mark.parametrize("leak", [1.0, 0.3])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_reservoir_written_out(rng, leak, compiled, monkeypatch):
    if compiled:
        pytest.importorskip("numba", reason="numba is not installed")
        monkeypatch.setattr("greville.compiled.on_demand._WORTH_LOADING", 0)
    U = sequence(rng)
    layer = ReservoirLayer(25, leak=leak, scale=0.7, bias=0.2, degree=4, random_state=0).fit(U)
    W, x, want = connections(layer), np.zeros(25), []
    for u in U:
        x = (1 - leak) * x + leak * np.tanh(layer.weights_.T @ u + layer.bias_ + W @ x)
        want.append(x)
    with use(compiled):
        np.testing.assert_allclose(layer.transform(U), want, rtol=1e-11, atol=1e-13)
    assert abs(layer.weights_).max() <= 0.7
    assert abs(layer.bias_).max() <= 0.2


@pytest.mark.parametrize(("n_hidden", "degree"), [(100, 10), (40, 3), (1, 10), (300, 10)])
def test_the_spectral_radius(n_hidden, degree):
    layer = ReservoirLayer(n_hidden, spectral_radius=0.8, degree=degree, random_state=3)
    W = connections(layer.fit([[0.0]]))
    assert abs(np.linalg.eigvals(W)).max() == pytest.approx(0.8, rel=0.03)


def test_lags_written_out(rng):
    U = sequence(rng)
    layer = LagLayer(3, stride=2, order=3).fit(U)
    H = layer.transform(U)
    padded = np.vstack([np.zeros((4, 2)), U])
    for t in range(len(U)):
        numbers = np.concatenate([padded[t + 4], padded[t + 2], padded[t]])
        want = [
            np.prod([numbers[i] for i in chosen])
            for k in (1, 2, 3)
            for chosen in combinations_with_replacement(range(6), k)
        ]
        np.testing.assert_allclose(H[t], want, rtol=1e-12)


@each_layer
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pieces_of_a_sequence(rng, layer, dtype):
    U = sequence(rng).astype(dtype)
    layer = clone(layer).fit(U)
    whole = layer.transform(U)
    assert whole.dtype == dtype
    assert whole.shape == (60, layer.n_hidden_)
    np.testing.assert_array_equal(layer.transform(U), whole)  # it begins at rest again
    pieces = [layer.advance(piece) for piece in np.split(U, [1, 2, 3, 20, 59])]
    np.testing.assert_allclose(np.vstack(pieces), whole, rtol=1e-6, atol=1e-7)
    assert np.array_equal(layer.advance(U), whole) == (layer.n_hidden_ == 2)  # which remember none
    np.testing.assert_allclose(layer.reset().advance(U), whole, rtol=1e-6, atol=1e-7)


@each_layer
def test_stored_in_the_middle(rng, layer, tmp_path):
    U = sequence(rng)
    layer = clone(layer).fit(U)
    layer.advance(U[:30])
    greville.save(layer, tmp_path / "layer.greville")
    again = greville.load(tmp_path / "layer.greville")
    np.testing.assert_array_equal(again.advance(U[30:]), layer.advance(U[30:]))
    assert again.get_params() == layer.get_params()
    assert layer.summary()["units"] == str(layer.n_hidden_)
    assert len(layer.get_feature_names_out()) == layer.n_hidden_


def test_readouts(rng):
    """What a memory of the last rows is needed for."""
    u = rng.uniform(-1, 1, size=(900, 1))
    y = np.convolve(u[:, 0], [0.0, 0.5, 0.0, -0.3, 0.2])[:900] ** 2
    layer = ReservoirLayer(150, random_state=0).fit(u)
    H = layer.advance(u[:800])
    for readout in (Opium("auto", intercept=True), LinearRegressor()):
        model = readout.fit(H[50:], y[50:800])
        layer.reset().advance(u[:800])
        assert model.score(layer.advance(u[800:]), y[800:]) > 0.9
    recorded = DynamicOpium(1.001, "auto", intercept=True).prequential(H, y[:800])
    assert np.corrcoef(recorded[300:], y[300:800])[0, 1] > 0.9
    pipeline = make_pipeline(LagLayer(5), Ridge(1e-6)).fit(u[:800], y[:800])
    np.testing.assert_allclose(pipeline.predict(u[800:])[4:], y[804:], atol=0.01)


def test_refusals(rng):
    U = sequence(rng)
    with pytest.raises(ValueError, match=r"hidden=.*depend on earlier rows; pass layer.advance"):
        ELMRegressor(ReservoirLayer(10)).fit(U, U[:, 0])
    for layer, name in (
        (ReservoirLayer(0), "n_hidden"),
        (ReservoirLayer(leak=1.1), "leak"),
        (LagLayer(order=1.5), "order"),
    ):
        with pytest.raises(ValueError, match=f"{name}="):
            layer.fit(U)
    with pytest.raises(MemoryError, match="order=9"):
        LagLayer(1000, order=9).fit(U)
    layer = ReservoirLayer(10, random_state=0).fit(U)
    layer.advance(U)
    before = layer.state_.copy()
    bad = U.copy()
    bad[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        layer.advance(bad)
    with pytest.raises(ValueError, match="3 features"):
        layer.advance(sequence(rng, columns=3))
    np.testing.assert_array_equal(layer.state_, before)
