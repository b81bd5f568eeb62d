"""What notebooks show of models on a device: what they show of the same models elsewhere."""

import numpy as np
import pytest

from greville import ELMClassifier, ELMRegressor, Opium


def told(model):
    """The summary, without what depends on where the model is."""
    return {k: v for k, v in model.summary().items() if k not in ("memory", "device")}


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers(rng, tensor, device, weighted):
    X = rng.normal(size=(300, 4))
    y = np.column_stack([X[:, 0], np.sin(X[:, 1])])
    weight = rng.uniform(size=300) if weighted else None
    model, other = (ELMRegressor(10, random_state=0) for _ in range(2))
    model.prequential(tensor(X), tensor(y), sample_weight=weight)
    other.prequential(X, y, sample_weight=weight)
    assert told(model) == told(other)
    assert model.summary()["device"].startswith(device)


def test_labels(rng, tensor):
    X = rng.normal(size=(300, 4))
    y = np.where(X[:, 0] > 0.3, "up", "down")
    model = ELMClassifier(10, random_state=0).fit(tensor(X), y)
    assert told(model) == told(ELMClassifier(10, random_state=0).fit(X, y))


def test_solvers(rng, tensor):
    H = rng.normal(size=(300, 4))
    y = H[:, 0] + rng.normal(size=300)
    model, other = (Opium(0.1) for _ in range(2))
    assert told(model.fit(tensor(H), tensor(y))) == told(other.fit(H, y))
    assert "What was learned" in model._repr_html_()
