"""`set_output`, names of columns in and out: every layer, alone and in scikit-learn's tools."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import StandardScaler

import greville
from greville import (
    ClassLayer,
    ContrastLayer,
    FourierLayer,
    MiniRocketLayer,
    PatchLayer,
    RandomLayer,
    ReceptiveFieldLayer,
    StackedLayer,
    TableLayer,
    image_layer,
    layers,
)

SHAPE = (8, 8)
NAMES = [f"pixel {i}" for i in range(64)]
LAYERS = [
    RandomLayer(5, random_state=0),
    TableLayer(80, random_state=0),
    FourierLayer(7, random_state=0),
    ReceptiveFieldLayer(SHAPE, 5, border=0, min_area=4, random_state=0),
    ContrastLayer(6, random_state=0),
    ClassLayer(6, random_state=0),
    PatchLayer(SHAPE, 3, random_state=0),
    StackedLayer(RandomLayer(5, random_state=0), FourierLayer(4, random_state=0)),
    image_layer(SHAPE, 9, n_filters=3, random_state=0),
    MiniRocketLayer(84, random_state=0),
]
FRAMES = {"pandas": pd.DataFrame}
if find_spec("polars"):
    frames = import_module("polars").DataFrame
    if hasattr(StandardScaler().fit(frames({"a": [1.0, 2.0]})), "feature_names_in_"):
        FRAMES["polars"] = frames  # scikit-learn before 1.9 finds no names in those of polars 2

each_layer = pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
no_polars = pytest.mark.skipif("polars" not in FRAMES, reason="no polars whose names are found")
each_kind = pytest.mark.parametrize(
    "kind", ["pandas", pytest.param("polars", marks=[pytest.mark.full, no_polars])]
)


def same(found, expected):
    """To rounding: frames have their numbers column by column, which are then summed otherwise."""
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def as_frame(kind, X):
    return FRAMES[kind](dict(zip(NAMES, X.T, strict=False)))


@pytest.fixture
def data(rng):
    return rng.normal(1.0, 2.0, size=(40, 64)), np.arange(40) % 3


def test_no_layer_is_forgotten():
    exported = [getattr(greville, name) for name in greville.__all__]
    ours = {each for each in exported if isinstance(each, type) and issubclass(each, layers.Layer)}
    assert {type(layer) for layer in LAYERS} == ours


@each_layer
@each_kind
def test_frames_in_and_out(layer, kind, data):
    X, y = data
    plain = clone(layer).fit(X, y)
    H = plain.transform(X)
    assert isinstance(H, np.ndarray)
    assert plain.n_features_in_ == 64
    assert not hasattr(plain, "feature_names_in_")
    frames = clone(layer).set_output(transform=kind)
    found = frames.fit(as_frame(kind, X), y).transform(as_frame(kind, X))
    assert type(found) is FRAMES[kind]
    assert frames.n_features_in_ == 64
    assert list(frames.feature_names_in_) == NAMES
    expected = [f"{type(layer).__name__.lower()}{i}" for i in range(H.shape[1])]
    assert list(found.columns) == list(frames.get_feature_names_out()) == expected
    assert list(plain.get_feature_names_out()) == expected
    same(found.to_numpy(), H)
    again = clone(layer).set_output(transform=kind).fit_transform(X, y)  # from an array
    assert list(again.columns) == expected
    same(again.to_numpy(), H)


@each_layer
@each_kind
def test_beside_others(layer, kind, data):
    X, y = data
    both = FeatureUnion([("scaled", StandardScaler()), ("units", clone(layer))])
    found = both.set_output(transform=kind).fit_transform(as_frame(kind, X), y)
    assert list(found.columns) == list(both.get_feature_names_out())
    assert found.columns[0] == "scaled__pixel 0"
    assert found.columns[64] == f"units__{type(layer).__name__.lower()}0"
    same(found.to_numpy()[:, 64:], clone(layer).fit(X, y).transform(X))


def test_names_that_do_not_fit_are_refused(data):
    X, y = data
    layer = RandomLayer(5, random_state=0).fit(as_frame("pandas", X), y)
    with pytest.raises(ValueError, match="X: The feature names"):
        layer.transform(as_frame("pandas", X)[NAMES[::-1]])
    with pytest.raises(ValueError, match="X: The feature names"):
        layer.transform(as_frame("pandas", X[:, :3]))
