import numpy as np
import pytest

from greville.datasets import sine_switch


@pytest.mark.parametrize("lags", [range(1, 11), [10, 20, 100]])
def test_sine_switch(lags):
    X, y = sine_switch(600, dt=1e-3, frequencies=(10.0, 20.0), lags=lags)
    assert X.shape == (600, len(lags))
    for k in (0, 5, 299, 300, 301, 599):
        frequency = 10 if k < 300 else 20
        assert y[k] == pytest.approx(np.sin(2 * np.pi * frequency * k * 1e-3), abs=1e-12)
        for j, lag in enumerate(lags):
            if k >= lag:
                assert X[k, j] == y[k - lag]
    assert X[0, 0] == pytest.approx(-np.sin(2 * np.pi * 10 * lags[0] * 1e-3), abs=1e-12)


@pytest.mark.parametrize(
    "bad", [{"n_samples": 0}, {"lags": []}, {"lags": [0]}, {"lags": [-1]}, {"frequencies": (1,)}]
)
def test_sine_switch_refuses(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        sine_switch(**bad)
