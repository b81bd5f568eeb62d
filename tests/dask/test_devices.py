"""Workers with a device each; here PyTorch on the processor stands for one."""

from __future__ import annotations

import numpy as np
import pytest

import greville
from greville.dask import ELMClassifier, ELMRegressor, Opium

from .problems import numbers
from .test_estimators import blocks

pytest.importorskip("torch")


def _pretend(on):
    """In a worker: whether the processor is taken for a device."""
    from greville import devices

    devices._tensors_stay_tensors = on


@pytest.fixture
def with_devices(client):
    client.run(_pretend, True)
    yield client
    client.run(_pretend, False)


def test_workers_learn_on_their_devices(with_devices):
    X, y, labels, weight = numbers()
    for estimator, target, predict in (
        (ELMRegressor, y, "predict"),
        (ELMClassifier, labels, "decision_function"),
    ):
        known = estimator.local(80, random_state=0).fit(X, target, weight)
        model = estimator(80, random_state=0, device="cpu")
        model.fit(blocks(X, 500), blocks(target, 500), blocks(weight, 500))
        assert model.epsilon_ == known.epsilon_
        found, wanted = getattr(model.to_local(), predict)(X), getattr(known, predict)(X)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
        lazy = getattr(model, predict)(blocks(X, 500))
        there = with_devices.compute(lazy).result()
        np.testing.assert_allclose(there, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
        model.unlearn(blocks(X[:500], 100), blocks(target[:500], 100), blocks(weight[:500], 100))
        assert model.n_samples_seen_ == 2500


def test_threads_learn_on_a_device(monkeypatch):
    X, y, _, _ = numbers()
    seen = []
    from greville.dask import wrapper

    def added(*args):
        found = _add(*args)
        seen.append(found.fitted_.solver.shape.backend.name)
        return found

    _add = wrapper._add
    monkeypatch.setattr(wrapper, "_add", added)
    monkeypatch.setattr("greville.devices._tensors_stay_tensors", True)
    ELMRegressor(80, random_state=0, device="cpu").fit(blocks(X, 500), blocks(y, 500))
    assert set(seen) == {"torch:cpu"}


def test_solvers_on_devices(with_devices):
    X, y, _, _ = numbers()
    H = np.tanh(X[:, :3])
    known = greville.Opium("auto", True).fit(H, y)
    model = Opium("auto", True, device="cpu").fit(blocks(H, 700), blocks(y, 700))
    np.testing.assert_allclose(model.coef_, known.coef_, rtol=1e-9, atol=1e-9)
