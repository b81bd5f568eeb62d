"""Classes from outside the package can be saved: they declare their fields, and are registered."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

import greville
from greville import ELMRegressor, RandomLayer, persistence
from greville.fields import array, count, finite, instance_of, nothing, number, require, stored
from greville.layers import Layer, stored_layer
from greville.persistence import ModelFileError

from .models import content, forge, take_apart, there_and_back


@stored_layer()
@dataclass(eq=False, repr=False)
class SineLayer(Layer):
    """A layer of its own, in the way of the package's."""

    n_hidden: Annotated[int, count] = 10
    _: KW_ONLY
    scale: Annotated[float, number] = 1.0
    random_state: Annotated[int | None, nothing | count] = None
    activation: ClassVar[str] = "sin"

    def _set_weights(self, X, y, dtype):
        units = self._random().normal(0, self.scale, size=(self.n_hidden_, X.shape[1]))
        self.weights_ = np.ascontiguousarray(units.T, dtype=dtype)


@persistence.register
class NegativeLayer(RandomLayer):
    """A class derived from one of the package has its fields."""

    def transform(self, X):
        return -super().transform(X)


@stored()
@dataclass(frozen=True)
class Box:
    """The least and the largest of each column: a value, declared where its fields are."""

    least: Annotated[np.ndarray, array(1)]
    largest: Annotated[np.ndarray, array(1)]
    n_seen: Annotated[int, count] = 0


def _check_box(distances):
    if hasattr(distances, "box_"):
        require(len(distances.box_.least) == distances.n_features_in_, "the box has other columns")


@stored(
    parameters={"power": finite},
    fitted={"n_features_in_": count, "box_": instance_of(Box)},
    derived=("_cache",),
    whole=True,
    check=_check_box,
)
class Distances(TransformerMixin, BaseEstimator):
    """A transformer that is no `Layer`."""

    def __init__(self, power=2.0):
        self.power = power

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.box_ = Box(X.min(axis=0), X.max(axis=0), len(X))
        return self

    def transform(self, X):
        self._cache = X
        low, high = np.abs(X - self.box_.least), np.abs(X - self.box_.largest)
        return np.hstack([low**self.power, high**self.power])


@pytest.mark.parametrize("layer", [SineLayer(8, random_state=0), NegativeLayer(8), Distances(1.5)])
def test_a_layer_from_elsewhere_alone_and_in_a_model(rng, tmp_path, layer):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] * X[:, 1]
    fitted = layer.fit(X)
    loaded = there_and_back(fitted, tmp_path)
    assert type(loaded) is type(layer)
    assert np.array_equal(loaded.transform(X), fitted.transform(X))

    model = ELMRegressor(layer, random_state=0).partial_fit(X[:150], y[:150])
    loaded = there_and_back(model, tmp_path)
    for m in (model, loaded):
        m.partial_fit(X[150:], y[150:])
    assert np.array_equal(model.predict(X), loaded.predict(X))
    assert content(model) == content(loaded)


def test_the_fields_of_a_class_from_elsewhere_are_checked(rng, tmp_path):
    path = tmp_path / "model"
    greville.save(Distances().fit(rng.normal(size=(20, 3))), path)
    document, tensors = take_apart(path)
    fields = document["model"]["object"]["fields"]
    for change, message in (
        ({"power": "two"}, "Distances.power must be a finite number, and is str 'two'"),
        ({"n_features_in_": 4}, "the box has other columns"),
        ({"_cache": 1}, "Distances has an unknown '_cache'"),
        ({"box_": None}, "Distances.box_ must be Box"),
    ):
        changed = {**fields, **change}
        kept = {} if "box_" in change else tensors
        forged = {"object": {"class": "Distances", "fields": changed}}
        forge(path, {**document, "model": forged}, kept)
        with pytest.raises(ModelFileError, match=message):
            greville.load(path)


def test_only_registered_classes_can_be_saved_and_loaded(tmp_path):
    class Quiet(RandomLayer):
        pass

    path = tmp_path / "model"
    with pytest.raises(ModelFileError, match="a Quiet from .* greville.persistence.register"):
        greville.save(Quiet(5), path)
    with pytest.raises(ModelFileError, match="a Quiet from .* greville.persistence.register"):
        greville.save(ELMRegressor(Quiet(5)), path)
    greville.save(RandomLayer(5), path)
    document, tensors = take_apart(path)
    document["model"]["object"]["class"] = "Quiet"
    forge(path, document, tensors)
    with pytest.raises(ModelFileError, match="'Quiet', a class which this greville does not know"):
        greville.load(path)


def test_a_part_from_elsewhere_is_not_a_file_of_its_own(tmp_path):
    with pytest.raises(ModelFileError, match="a Box is a part of a model"):
        greville.save(Box(np.zeros(1), np.ones(1)), tmp_path / "model")


def test_what_cannot_be_registered():
    class Opium:
        pass

    with pytest.raises(TypeError, match="Opium: its stored fields are not declared"):
        persistence.register(Opium)
    with pytest.raises(ValueError, match="another class of this name can be saved; rename it"):
        persistence.register(stored(parameters={})(Opium))

    with pytest.raises(ValueError, match="another class of this name"):

        @stored(parameters={})
        class Box:
            pass


def test_every_field_of_a_dataclass_has_a_kind():
    @dataclass(frozen=True)
    class Wrong:
        n: int

    with pytest.raises(TypeError, match="Wrong.n: annotate it with one kind"):
        persistence.register(stored()(Wrong))
