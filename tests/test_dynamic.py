"""Forgetting that holds."""

import numpy as np
import pytest

from greville import DynamicOpium, RandomLayer
from greville.datasets import sine_switch

from . import oracles


def test_the_printed_recursion_loses_its_digits_and_the_floor_holds():
    """The paper's sine, only longer: 100,000 samples."""
    X, y = sine_switch(100_000)
    H = RandomLayer(100, random_state=0).fit_transform(X)
    held = DynamicOpium(1.003, 10.0)
    errors = y - held.prequential(H, y)
    assert rms(errors[-1000:]) < 1e-8
    assert np.linalg.norm(held.coef_) < 1e3
    printed = oracles.opium(H, y[:, None], 10.0, 1.003)[3][:, 0]
    assert rms(printed[29_000:30_000]) < 1e-7
    assert rms(printed[-1000:]) > 1e-5


def rms(errors):
    return np.sqrt(np.mean(errors**2))


@pytest.mark.parametrize("floor", ["auto", None, 1e-3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forgetting_never_ends_in_nan(rng, floor, dtype):
    H = np.zeros((3000, 5), dtype)
    H[:1000, 0] = 1
    H[2000:] = rng.normal(size=(1000, 5))
    y = H.sum(axis=1)
    for alpha in (1.05, 1.9):
        model = DynamicOpium(alpha, 1e-3, floor)
        predicted = model.prequential(H, y)
        assert np.isfinite(predicted).all()
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.theta_).all()
        assert np.isfinite(DynamicOpium(alpha, 0, floor).fit(H, y).coef_).all()
        np.testing.assert_allclose(model.coef_, np.ones(5), atol=0.05)
