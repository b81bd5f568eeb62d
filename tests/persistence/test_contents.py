"""What can be in a file: every kind of model, exactly, and nothing else."""

import json
import os
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA

import greville
from greville import ELMRegressor, Opium, RandomLayer, persistence
from greville.fields import STORABLE
from greville.persistence import ModelFileError, container, registry

from .models import (
    content,
    corpus,
    forge,
    models_of_river,
    rows,
    stream_of_labels,
    stream_of_rows,
    take_apart,
    there_and_back,
)


@pytest.fixture(scope="module")
def models():
    return corpus(np.random.default_rng(0))


def test_every_kind_of_model_comes_back_with_every_attribute(models, tmp_path):
    """Each is stored or derived, so that nothing is forgotten when a class gets another."""
    for model in models:
        loaded = there_and_back(model, tmp_path)
        assert type(loaded) is type(model)
        assert content(loaded) == content(model)
        for name in (n for n in vars(model) if not n.startswith("_") and not n.endswith("_")):
            ours, theirs = (repr(getattr(m, name)).split(" at 0x")[0] for m in (model, loaded))
            assert ours == theirs
        derived = registry.declaration_for(model).derived
        ours, theirs = (
            {k for k, v in vars(m).items() if v is not None and k not in derived}
            for m in (model, loaded)
        )
        assert ours == theirs, type(model)


def test_every_class_of_the_registry_is_in_some_file(models, rng):
    met = set()

    def visit(node):
        if isinstance(node, dict):
            if "object" in node:
                met.add(node["object"]["class"])
            for value in node.values():
                visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    for model in [*models, stream_of_rows(rng), stream_of_labels(), *models_of_river()]:
        visit(content(model)[0])
    classes = (registry.declared(name)[0] for name in STORABLE)
    # A class of an example in a docstring has the module of that docstring, and is not in it.
    ours = (cls for cls in classes if vars(sys.modules[cls.__module__]).get(cls.__name__) is cls)
    assert met == {cls.__name__ for cls in ours if cls.__module__.startswith("greville.")}


def test_the_same_model_gives_the_same_bytes(rng, tmp_path):
    H, y = rows(rng, 100, 5, 0, np.float64)
    model = ELMRegressor(20, random_state=0).partial_fit(H, y)
    contents = set()
    for _ in range(5):
        greville.save(model, tmp_path / "model")
        contents.add((tmp_path / "model").read_bytes())
        model = greville.load(tmp_path / "model")
    assert len(contents) == 1


def test_a_file_is_a_safetensors_file(rng, tmp_path):
    from safetensors import safe_open

    H, y = rows(rng, 100, 5, 0, np.float64)
    model = Opium(0.1).fit(H, y)
    path = tmp_path / "model.greville"
    greville.save(model, path)
    with safe_open(path, framework="np") as file:
        entry = json.loads(file.metadata()["greville"])
        R = np.zeros((5, 5))
        R.T[np.tril_indices(5)] = file.get_tensor("state.sums.R")
    assert entry["format"] == container.FORMAT
    assert entry["document"]["greville"] == greville.__version__
    ridge = entry["document"]["model"]["object"]["fields"]["state"]["object"]["fields"]
    assert ridge["sums"]["object"]["fields"]["R"] == {"triangle": ["state.sums.R", "F"]}
    np.testing.assert_allclose(R.T @ R, H.T @ H + 0.01 * np.eye(5), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (ELMRegressor(PCA(2)), "greville's layers"),
        (RandomLayer(activation=np.tanh), "pass one of"),
        (RandomLayer(random_state=np.random.default_rng(0)), "pass a number"),
        (PCA(2), "greville's own models"),
        ({"a": 1}, "greville's own models"),
        (Opium(epsilon=[1]), "Opium.epsilon must be"),
        (np.random.RandomState(0), "greville's own models"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_what_is_foreign_is_refused(model, advice, tmp_path):
    with pytest.raises(ModelFileError, match=advice):
        greville.save(model, tmp_path / "model.greville")
    assert os.listdir(tmp_path) == []


@pytest.mark.full
def test_a_subclass_an_attribute_and_bad_extras_are_refused(tmp_path):
    class Opium2(Opium):
        pass

    Opium2.__name__ = "Opium"
    model = Opium()
    model.note = "mine"
    with pytest.raises(ModelFileError, match="greville's own models"):
        greville.save(Opium2(), tmp_path / "model")
    with pytest.raises(ModelFileError, match="'note', which cannot be saved; delete it"):
        greville.save(model, tmp_path / "model")
    deep = []
    for _ in range(100):
        deep = [deep]
    for extra in ([1], {"a": (1,)}, {1: 2}, {"a": np.float64(1)}, {"a": deep}, {"a": 1 << 70}):
        with pytest.raises(ModelFileError, match="extra must be a dict"):
            greville.save(Opium(), tmp_path / "model", extra=extra)
    with pytest.raises(ModelFileError, match="too large"):
        greville.save(Opium(), tmp_path / "model", extra={"a": [0] * 530_000})
    assert os.listdir(tmp_path) == []


def test_numbers_and_text_are_exact(tmp_path):
    tree = {
        "numbers": [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e22, 2**62, -1, True, None],
        "not": [float("inf"), -float("inf")],
        "text": ["", "Größe \u2028 \ud800 \0", "inf"],
        "dict": {"float": "nan", "object": {}, "": []},
    }
    deep = [0.5]
    for _ in range(15):
        deep = [{"a": deep}]
    tree["deep"] = deep
    path = tmp_path / "model.greville"
    persistence.save(Opium(np.float32(0.1)), path, extra={**tree, "nan": float("nan")})
    model, extra, header = persistence.read(path)
    assert model.epsilon == np.float32(0.1)
    assert np.isnan(extra.pop("nan"))
    assert extra == tree
    assert str(extra["numbers"][1]) == "-0.0"
    assert header["format"] == container.FORMAT
    assert header["class"] == "Opium"
    assert header["version"] == greville.__version__
    assert header["size"] == path.stat().st_size
    assert len(header["checksum"]) == 64


def test_random_states_are_not_stored(tmp_path):
    layer = RandomLayer(5, random_state=np.random.RandomState(7)).fit(np.eye(3))
    loaded = there_and_back(layer, tmp_path)
    assert loaded.random_state is None
    assert np.array_equal(loaded.weights_, layer.weights_)


def test_without_safetensors_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ModelFileError, match=r"pip install 'greville\[files\]'"):
        greville.save(Opium(), tmp_path / "model")


@pytest.mark.parametrize("number", [container.FORMAT + 1, 1])
def test_other_formats_are_refused(number, tmp_path):
    """With the first release its format gets files of its own here, which must stay readable."""
    path = tmp_path / "model"
    greville.save(Opium(), path)
    forge(path, *take_apart(path), number=number)
    with pytest.raises(ModelFileError, match=f"in format {number}, .*pip install -U greville"):
        greville.load(path)
