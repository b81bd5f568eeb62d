"""Tensors on a device: torch's own on the processor, or with GREVILLE_DEVICE=cuda a GPU's."""

import os

import numpy as np
import pytest

from greville import devices

torch = pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(autouse=True)
def device(monkeypatch):
    """The device; on the processor its tensors are taken for those of a device."""
    name = os.environ.get("GREVILLE_DEVICE", "cpu")
    if name == "cpu":
        monkeypatch.setattr(devices, "_tensors_stay_tensors", True)

        def refuse(*_, **__):
            raise TypeError("a tensor on a device is no NumPy array")

        monkeypatch.setattr(torch.Tensor, "__array__", refuse)
    return name


@pytest.fixture
def tensor(device):
    """A NumPy array on the device."""
    return lambda A: torch.as_tensor(np.asarray(A).copy(), device=device)


@pytest.fixture
def same(device):
    """Whether an answer is a tensor on the device, with these numbers."""

    def check(answer, want, rtol=1e-9, atol=None, dtype=None):
        want = np.asarray(want)
        assert isinstance(answer, torch.Tensor)
        assert answer.device.type == device.partition(":")[0]
        if dtype is not None:
            assert answer.dtype == dtype
        atol = rtol * np.abs(want[np.isfinite(want)]).max(initial=0.0) if atol is None else atol
        np.testing.assert_allclose(answer.cpu().numpy(), want, rtol=rtol, atol=atol)

    return check
