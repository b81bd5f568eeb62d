"""Where models are: devices that are not there, moving, tables, the command, and memory."""

import sys

import numpy as np
import pytest
import torch

import greville
from greville import ELMClassifier, ELMRegressor, Opium, devices
from greville.backend import get

from ..runner import run


def problem(rng, n=300):
    X = rng.normal(size=(n, 4))
    return X, X @ [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("name", ["abacus", "cuda:99", 7.5, "xla", "meta"])
def test_devices_that_are_not_there(rng, name):
    X, y = problem(rng)
    for model in (Opium(0.1, device=name), ELMRegressor(10, device=name)):
        with pytest.raises(ValueError, match=r"device=.*torch cannot use it here"):
            model.fit(X, y)
        with pytest.raises(ValueError, match=r"device="):
            model.to(name)


def test_without_torch(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y = problem(rng)
    with pytest.raises(ValueError, match=r"needs torch.*pip install 'greville\[torch\]'"):
        Opium(0.1, device="cuda").fit(X, y)
    Opium(0.1, device="auto").fit(X, y)
    ELMRegressor(10, device="auto").fit(X, y).predict(X)


def test_a_model_keeps_its_place(rng, tensor, device):
    X, y = problem(rng)
    for model in (Opium(0.1), ELMRegressor(10, random_state=0)):
        model.fit(tensor(X), tensor(y))
        for use in (
            lambda model=model: model.predict(X),
            lambda model=model: model.partial_fit(X, y),
            lambda model=model: model.unlearn(X, y),
        ):
            with pytest.raises(ValueError, match=r"it is not on .*, where this model is; pass"):
                use()
        model.fit(X, y)
        with pytest.raises(ValueError, match=r"is in NumPy's memory; pass .*\.to\('cpu'\), or"):
            model.predict(tensor(X))
        model.to(device)
        model.predict(tensor(X))
        model.predict(X)
        assert model.device is not None
        model.to(device)


def test_mixed_places(rng, tensor):
    X, y = problem(rng)
    for model in (Opium(0.1), ELMRegressor(10)):
        with pytest.raises(ValueError, match=r"[yY]: it is on .*; pass both on one device"):
            model.fit(X, tensor(y))
    labels = tensor((y > 0).astype(int))
    ELMClassifier(10).fit(X, labels)  # labels may be anywhere


def test_auto_takes_a_gpu_where_it_pays(rng, monkeypatch, device):
    X, y = problem(rng, 50)
    found = torch.device(device, 0) if device == "cuda" else torch.device(device)
    monkeypatch.setattr(devices, "_usual_gpu", lambda: found)
    monkeypatch.setattr(devices, "UNITS_WORTH_A_GPU", 20)
    for units, there in ((10, False), (20, True)):
        model = ELMRegressor(units, device="auto", random_state=0).fit(X, y)
        name = model.fitted_.solver.shape.backend.name
        assert name.startswith("torch:") == there
        assert isinstance(model.predict(X), np.ndarray)
    assert Opium("auto").fit(X, y).to("auto").fitted_.shape.backend.name.startswith("torch:")


def test_frames_and_the_command(rng, device, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": rng.normal(size=400), "kind": rng.choice(list("xyz"), size=400)})
    y = frame["a"] * 2 + (frame["kind"] == "x")
    here = greville.TableRegressor(30).fit(frame, y)
    there = greville.TableRegressor(30, device=device).fit(frame, y)
    assert there.model_.estimator.fitted_.solver.shape.backend.name.startswith("torch:")
    np.testing.assert_allclose(there.predict(frame), here.predict(frame), atol=1e-6)
    there.partial_fit(frame, y)
    greville.save(there, tmp_path / "table.greville")
    again = greville.load(tmp_path / "table.greville")
    assert again.device is None
    assert again.model_.estimator.fitted_.solver.shape.backend.name == "scipy"
    np.testing.assert_allclose(again.predict(frame), there.predict(frame), atol=1e-6)
    moved = again.to(device)
    np.testing.assert_allclose(moved.predict(frame), there.predict(frame), atol=1e-6)
    monkeypatch.chdir(tmp_path)
    frame.assign(y=y).to_csv("data.csv", index=False)
    run("train", "data.csv", "-o", "m.greville", "--target", "y", "--device", device)
    run("train", "data.csv", "-o", "n.greville", "--resume", "m.greville", "--device", device)
    options = ("--target", "y", "-o", "o.greville", "--device", "abacus")
    assert "--device abacus" in run("train", "data.csv", *options, code=2)[1]


def test_frames_of_tensors(rng, tensor):
    """Tables take tensors as they take arrays, and answer with arrays."""
    pytest.importorskip("pyarrow")
    X, y = problem(rng)
    model = greville.TableRegressor(20).fit(tensor(X), tensor(y))
    np.testing.assert_allclose(
        model.predict(tensor(X)), greville.TableRegressor(20).fit(X, y).predict(X), atol=1e-9
    )
    want = model.predict(X)
    np.testing.assert_array_equal(
        model.fit(tensor(X).requires_grad_(), tensor(y)).predict(tensor(X).requires_grad_()), want
    )
    for kind in (torch.float16, torch.bfloat16):
        rounded = tensor(X).to(kind)
        np.testing.assert_array_equal(
            model.fit(rounded, tensor(y)).predict(rounded),
            model.fit(rounded.float(), tensor(y)).predict(rounded.float()),
        )


def test_a_device_that_is_set_later(rng, device, monkeypatch):
    X, y = problem(rng)
    monkeypatch.setattr(devices, "_tensors_stay_tensors", False)
    model = Opium(0.1).fit(X, y).set_params(device="cuda")
    for use in (lambda: model.partial_fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match=r"device='cuda': this model is on cpu; move it with"):
            use()
    assert model.set_params(device="cpu").predict(X).shape == (300,)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_products_keep_their_digits_whatever_the_program_has_set():
    A = torch.randn(256, 256, device="cuda")
    exact, before = (A.double() @ A.double()).float(), torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        product = get("torch:cuda:0").matmul(A, A)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)
    assert (product - exact).abs().max() < 1e-3
