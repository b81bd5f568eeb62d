"""Models of time series inside aeon: its checks, its pipelines, and ours at the end of its own."""

import numpy as np
import pytest

pytest.importorskip("aeon", reason="aeon is not installed")

from aeon.classification.convolution_based import MiniRocketClassifier
from aeon.datasets import load_basic_motions, load_unit_test
from aeon.pipeline import make_pipeline
from aeon.testing.estimator_checking import check_estimator
from aeon.transformations.collection import Normalizer

from greville import LinearClassifier, MiniRocketLayer, TimeSeriesClassifier
from greville.adapters.aeon import AeonClassifier, AeonRegressor


@pytest.mark.filterwarnings("ignore")  # those of what the checks do
@pytest.mark.parametrize("model", [AeonClassifier, AeonRegressor])
def test_the_checks_of_aeon(model):
    passed = check_estimator(model, raise_exceptions=True)
    assert len(passed) > 20


def test_in_a_pipeline_of_aeon():
    X, y = load_basic_motions(split="train")
    model = make_pipeline(Normalizer(), AeonClassifier(MiniRocketLayer(840), random_state=0))
    assert model.fit(X, y).score(*load_basic_motions(split="test")) > 0.9


@pytest.mark.filterwarnings("ignore")
def test_our_readout_at_the_end_of_a_model_of_aeon():
    X, y = load_unit_test(split="train")
    model = MiniRocketClassifier(840, estimator=LinearClassifier(), random_state=0).fit(X, y)
    test, labels = load_unit_test(split="test")
    assert model.score(test, labels) > 0.8
    assert model.predict_proba(test).max() < 1


def test_the_features_are_as_good_as_those_of_aeon():
    X, y = load_basic_motions(split="train")
    model = TimeSeriesClassifier(random_state=0).fit(X, y)
    assert model.score(*load_basic_motions(split="test")) == 1
    np.testing.assert_array_equal(model.classes_, np.unique(y))
