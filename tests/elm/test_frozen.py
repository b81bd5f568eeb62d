"""`frozen()`: a small model that predicts, can be saved, and refuses to learn."""

import pickle

import numpy as np
import pytest

import greville
from greville import ELMClassifier, ELMRegressor, Greville, Opium

MODELS = [
    Opium(),
    Opium("auto", intercept=True),
    Greville(),
    ELMRegressor(40, random_state=0),
    ELMClassifier(40, random_state=0),
    *(ELMRegressor(40, name, random_state=0) for name in ("light", "dynamic", "sliding", "batch")),
]


@pytest.fixture(params=MODELS, ids=str)
def model(request, rng):
    X = rng.normal(size=(300, 5))
    y = X @ np.arange(5.0)
    model = request.param
    y = (y > 0).astype(float) if isinstance(model, ELMClassifier) else y
    return model.fit(X, y), X, y


def test_it_is_saved_as_a_small_file(model, tmp_path):
    model, X, _ = model
    greville.save(model, tmp_path / "whole")
    greville.save(model.frozen(), tmp_path / "frozen")
    loaded = greville.load(tmp_path / "frozen")
    for name in ("predict", "predict_proba"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(loaded, name)(X), getattr(model, name)(X))
    np.testing.assert_allclose(loaded.predict_one(X[0]), model.predict_one(X[0]), rtol=1e-9)
    assert loaded.n_samples_seen_ == 300
    size, whole = ((tmp_path / name).stat().st_size for name in ("frozen", "whole"))
    weights_alone = getattr(model, "solver", None) in ("light", "batch")
    assert weights_alone or size < whole / 2
    greville.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "frozen").read_bytes()


def test_it_refuses_to_learn(model, tmp_path):
    model, X, y = model
    frozen = model.frozen()
    greville.save(frozen, tmp_path / "m")
    for each in (frozen, greville.load(tmp_path / "m"), pickle.loads(pickle.dumps(frozen))):
        want = each.predict(X)
        for name in ("partial_fit", "prequential", "unlearn", "loo_predict"):
            if hasattr(each, name):
                with pytest.raises(ValueError, match="^this model is frozen: .* was made from.$"):
                    getattr(each, name)(X[:5], y[:5])
        if hasattr(each, "learn_one"):
            with pytest.raises(ValueError, match="^this model is frozen: "):
                each.learn_one(X[0], y[0])
        if hasattr(each, "merge"):
            for one, other in ((each, model), (model, each)):
                with pytest.raises(ValueError, match="^this model is frozen: "):
                    one.merge(other)
        np.testing.assert_array_equal(each.predict(X), want)
        assert each.n_samples_seen_ == model.n_samples_seen_ == 300
    assert frozen.fit(X[:50], y[:50]).n_samples_seen_ == 50  # a new start
