"""Tensors where they are least expected: a warm-up, threads, modes of torch, other layouts."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.feature_selection import SelectKBest, f_regression

from greville import ELMClassifier, ELMRegressor, Opium, RandomLayer, devices


def problem(rng, n=300, width=4):
    X = rng.normal(size=(n, width))
    return X, X[:, 0] + np.sin(X[:, 1])


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["X", "y"])
def test_bad_rows_in_a_warm_up(rng, tensor, number, where):
    """They are refused at once, and the stream goes on."""
    X, y = 50 * rng.normal(size=(1500, 4)), rng.normal(size=1500)
    bad_X, bad_y = X[:5].copy(), y[:5].copy()
    (bad_X if where == "X" else bad_y)[3] = number
    model, want = (ELMRegressor(10, random_state=0) for _ in range(2))
    for start in range(0, 1500, 20):
        model.partial_fit(tensor(X[start : start + 20]), tensor(y[start : start + 20]))
        want.partial_fit(X[start : start + 20], y[start : start + 20])
        if start in (0, 400, 1000):
            with pytest.raises(ValueError, match=f"{where}: contains NaN or infinity"):
                model.partial_fit(tensor(bad_X), tensor(bad_y))
    got = model.predict(tensor(X)).cpu().numpy()
    np.testing.assert_allclose(got, want.predict(X), rtol=1e-5, atol=1e-6)
    assert model.n_samples_seen_ == 1500


def test_while_torch_is_imported(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    X, y = problem(rng)
    assert not devices.is_tensor(X)
    ELMRegressor(10).fit(X, y).predict(X)


def test_functions_of_torch_as_activations(rng, tensor, same):
    X, y = problem(rng)
    layer = RandomLayer(10, activation=torch.nn.functional.gelu, random_state=0)
    model = ELMRegressor(layer, Opium(0.1)).fit(tensor(X), tensor(y))
    assert model.score(tensor(X), tensor(y)) > 0.5
    assert model.partial_fit(tensor(X[:3]), tensor(y[:3])).predict(tensor(X)).shape == (300,)


def test_inference_mode(rng, tensor):
    X, y = problem(rng)
    for model in (Opium(0.1), ELMRegressor(10, random_state=0)):
        for start in range(0, 300, 10):
            with torch.inference_mode(start % 20 == 0):
                model.partial_fit(tensor(X[start : start + 10]), tensor(y[start : start + 10]))
            with torch.inference_mode(start % 30 == 0):
                model.predict(tensor(X))
        assert model.n_samples_seen_ == 300


def test_devices_with_a_number(rng, tensor, device):
    H, y = problem(rng)
    number = f"{device}:0"
    model = Opium(0.1, device=number)
    model.fit(tensor(H), tensor(y)).to(number).predict(tensor(H))
    assert Opium(0.1, device=torch.device(device)).fit(H, y).predict(H).shape == (300,)


def test_the_processor_by_other_names(rng, monkeypatch):
    monkeypatch.setattr(devices, "_tensors_stay_tensors", False)
    X, y = problem(rng)
    for name in ("cpu", "cpu:0", torch.device("cpu", 0)):
        model = Opium(0.1, device=name).fit(X, y)
        assert model.fitted_.shape.backend.name == "scipy"
        assert model.to(name).fitted_.shape.backend.name == "scipy"


@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_a_transformer_that_looks_at_targets(rng, tensor, same):
    X, y = problem(rng)
    here = ELMRegressor(SelectKBest(f_regression, k=2), Opium(0.1)).fit(X, y)
    there = ELMRegressor(SelectKBest(f_regression, k=2), Opium(0.1)).fit(tensor(X), tensor(y))
    same(there.predict(tensor(X)), here.predict(X), 1e-9)


def test_single_rows_of_any_kind(rng, monkeypatch):
    """Tensors of the processor, on models that learn in place and others."""
    monkeypatch.setattr(devices, "_tensors_stay_tensors", False)
    monkeypatch.undo()  # the processor's tensors are NumPy's again
    X, y = problem(rng)
    for model in (Opium(0.1), ELMRegressor(10, random_state=0)):
        for i in range(250):
            x = X[i] if i % 3 else torch.as_tensor(X[i])
            target = y[i] if i % 4 else torch.as_tensor(y[i])
            model.learn_one(x, target)
        assert isinstance(model.predict_one(torch.as_tensor(X[0])), torch.Tensor)
        assert not isinstance(model.predict_one(X[0]), torch.Tensor)
        assert model.n_samples_seen_ == 250
        model.learn_one(torch.as_tensor(X[0]).requires_grad_(), y[0])
        model.learn_one(torch.as_tensor(X[1]).bfloat16(), torch.as_tensor(y[1]).bfloat16())
        predicted = model.predict_one(torch.as_tensor(X[0]).half().requires_grad_())
        assert not predicted.requires_grad
        want = model.predict_one(torch.as_tensor(X[0]).half().float().double())
        torch.testing.assert_close(predicted, want, check_dtype=False, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("change", ["reversed", "bytes", "read-only", "columns"])
def test_layouts_of_arrays_that_are_moved(rng, device, change):
    X, y = problem(rng)
    changed = {
        "reversed": lambda A: A[::-1],
        "bytes": lambda A: A.astype(">f8"),
        "read-only": lambda A: np.frombuffer(A.tobytes()).reshape(A.shape),
        "columns": np.asfortranarray,
    }[change]
    model = Opium(0.1, device=device).fit(changed(X), changed(y))
    np.testing.assert_allclose(model.coef_, Opium(0.1).fit(X, y).coef_, rtol=1e-9)
    estimator = ELMRegressor(10, random_state=0, device=device).fit(changed(X), changed(y))
    want = ELMRegressor(10, random_state=0).fit(changed(X), changed(y)).predict(X)
    np.testing.assert_allclose(estimator.predict(X), want, atol=1e-6)


def test_to_the_processor_for_good(rng, device, monkeypatch):
    X, y = problem(rng)
    model = ELMRegressor(10, Opium(0.1, device=device)).fit(X, y)
    assert model.fitted_.solver.shape.backend.name.startswith("torch:")
    monkeypatch.setattr(devices, "_tensors_stay_tensors", False)
    model.to("cpu").fit(X, y)
    assert model.fitted_.solver.shape.backend.name == "scipy"


def test_large_numbers(rng, tensor):
    X = rng.normal(size=(50, 400)).astype(np.float32) * 1e30
    model = ELMRegressor(10, standardize=True, random_state=0)
    model.fit(tensor(5e6 * X), tensor(X[:, 0] / 1e30))  # no sum of a row must overflow
    model = ELMRegressor(10, random_state=0)
    with pytest.raises(ValueError, match="y: contains"):
        model.fit(tensor(X / 1e30), tensor(np.full(50, 1e39)))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
def test_weights_and_labels_of_half_precision(rng, tensor, kind):
    X, y = problem(rng)
    weight = rng.uniform(0.5, 2, size=len(X)).astype(np.float32)
    model, want = (ELMRegressor(10, random_state=0) for _ in range(2))
    model.fit(tensor(X), tensor(y), tensor(weight).to(kind))
    want.fit(tensor(X), tensor(y), tensor(weight).to(kind).float())
    np.testing.assert_array_equal(model.solver_.coef_, want.solver_.coef_)
    labels = ELMClassifier(10, random_state=0).fit(
        tensor(X), tensor(np.arange(len(X)) % 2).to(kind)
    )
    assert labels.classes_.tolist() == [0, 1]


def test_targets_that_are_large_whole_numbers(rng, tensor, same):
    """They are learned with all their digits."""
    X, _ = problem(rng)
    y = (1e9 + 1e3 * np.round(10 * X[:, 0])).astype(np.int64)
    here = ELMRegressor(20, Opium(0.1), random_state=0).fit(X, y)
    there = ELMRegressor(20, Opium(0.1), random_state=0).fit(tensor(X), tensor(y))
    same(there.predict(tensor(X)), here.predict(X), 1e-12)
