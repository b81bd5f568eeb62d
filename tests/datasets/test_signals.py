"""The signals of the paper, and their lags."""

import numpy as np
import pytest

from greville.datasets import ECG_RATE, ecg, sine_switch


@pytest.mark.parametrize("lags", [range(1, 11), [10, 20, 100]])
@pytest.mark.parametrize("change", [None, 200])
def test_sine_switch(lags, change):
    X, y = sine_switch(600, dt=1e-3, frequencies=(10.0, 20.0), change=change, lags=lags)
    assert X.shape == (600, len(lags))
    for k in (0, 5, 199, 200, 299, 300, 301, 599):
        frequency = 10 if k < (300 if change is None else change) else 20
        assert y[k] == pytest.approx(np.sin(2 * np.pi * frequency * k * 1e-3), abs=1e-12)
        for j, lag in enumerate(lags):
            if k >= lag:
                assert X[k, j] == y[k - lag]
    assert X[0, 0] == pytest.approx(-np.sin(2 * np.pi * 10 * lags[0] * 1e-3), abs=1e-12)


@pytest.mark.parametrize(
    "bad",
    [
        {"n_samples": 0},
        {"lags": []},
        {"lags": [0]},
        {"lags": [-1]},
        {"frequencies": (1,)},
        {"change": -1},
    ],
)
def test_sine_switch_refuses(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        sine_switch(**bad)


def test_ecg():
    X, y = ecg()
    assert X.shape == (60 * ECG_RATE - 10, 10)
    assert -5 < y.min() < y.max() < 5  # millivolts
    assert np.array_equal(X[1:, 1], X[:-1, 0])
    assert np.array_equal(X[1:, 0], y[:-1])
    X_few, y_few = ecg(100, lags=[3])
    assert X_few.shape == (100, 1)
    assert np.array_equal(X_few[3:, 0], y_few[:-3])


def test_ecg_is_the_first_minute_of_the_recording(data_dir):
    if not (data_dir / "ecg" / "ecg.npz").is_file():
        pytest.skip("GREVILLE_DATA has no ecg/ecg.npz to compare with")
    whole = np.load(data_dir / "ecg" / "ecg.npz")["ecg"].astype(float)
    assert np.array_equal(ecg(lags=[1])[1], ((whole - 1024) / 200)[1 : 60 * ECG_RATE])


@pytest.mark.parametrize("bad", [{"n_samples": 0}, {"n_samples": 21_591}, {"lags": [21_600]}])
def test_ecg_refuses(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ecg(**bad)
