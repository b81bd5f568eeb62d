"""Versions: what older releases wrote can be read, and other formats are refused.

The files in data/ are never written again. (Formats 1 and 2 were never released, and are refused.)
Those of format 3 were made with

    python -c "from tests.persistence.test_versions import write_fixtures; write_fixtures()"

and the next format gets files of its own, with its number in their names.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import greville
from greville import ELMClassifier, ELMRegressor, Opium
from greville.persistence import ModelFileError, container

from ..oracles import nearest_probabilities
from .models import forge, take_apart

DATA = Path(__file__).parent / "data"


def test_a_newer_format_says_so(tmp_path):
    path = tmp_path / "model"
    greville.save(Opium(), path)
    forge(path, *take_apart(path), number=container.FORMAT + 1)
    with pytest.raises(ModelFileError, match="newer greville.*pip install -U greville"):
        greville.load(path)


def test_older_formats_are_upgraded(tmp_path, monkeypatch):
    path = tmp_path / "model"
    greville.save(Opium(0.25), path)
    document, tensors = take_apart(path)
    fields = document["model"]["object"]["fields"]
    fields["ridge"] = fields.pop("epsilon")  # as it might have been called once
    forge(path, document, tensors)

    def renamed(document):
        fields = document["model"]["object"]["fields"]
        fields["epsilon"] = fields.pop("ridge")
        return document

    with pytest.raises(ModelFileError, match="lacks epsilon"):
        greville.load(path)
    monkeypatch.setattr(container, "FORMAT", 4)
    with pytest.raises(ModelFileError, match="in format 3, .*; train the model again"):
        greville.load(path)
    monkeypatch.setitem(container.UPGRADES, 3, renamed)
    assert greville.load(path).epsilon == 0.25


def write_fixtures(folder=DATA):
    """The files of the present format, and what the models in them predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 3))
    y = X[:, 0] * X[:, 1] + 100
    labels = np.array(["fog", "rain", "sun"])[np.digitize(X[:, 2], [-0.5, 0.5])]
    regressor = ELMRegressor(12, random_state=0).partial_fit(X, y)
    classifier = ELMClassifier(12, Opium(0.1), random_state=0).partial_fit(X[:500], labels[:500])
    classifier.partial_fit(X[500:1100], labels[500:1100])
    for x, label in zip(X[1100:1120], labels[1100:1120], strict=True):
        classifier.predict_one(x)
        classifier.learn_one(x, label)
    names = {"regressor": regressor, "classifier": classifier}
    for name, model in names.items():
        greville.save(model, Path(folder) / f"format-{container.FORMAT}-{name}.greville")
    expected = {
        "X": X[:8].tolist(),
        "regressor": regressor.predict(X[:8]).tolist(),
        "classifier": classifier.predict_proba(X[:8]).tolist(),
    }
    (Path(folder) / f"format-{container.FORMAT}.json").write_text(json.dumps(expected, indent=1))


@pytest.mark.parametrize("number", [1, 2])
def test_formats_before_the_first_release_are_refused(number):
    with pytest.raises(ModelFileError, match=f"in format {number}, .*; train the model again"):
        greville.load(DATA / f"format-{number}-regressor.greville")


def test_files_of_format_3_can_be_read():
    expected = json.loads((DATA / "format-3.json").read_text())
    regressor = greville.load(DATA / "format-3-regressor.greville")
    classifier = greville.load(DATA / "format-3-classifier.greville")
    assert regressor.n_samples_seen_ == 1200
    assert classifier.n_samples_seen_ == 1120
    assert list(classifier.classes_) == ["fog", "rain", "sun"]
    np.testing.assert_allclose(regressor.predict(expected["X"]), expected["regressor"], rtol=1e-9)
    scores = classifier.decision_function(expected["X"])
    np.testing.assert_allclose(
        nearest_probabilities(scores), expected["classifier"], rtol=1e-9, atol=1e-9
    )
    # It does not say how sharp probabilities are to be: the usual sharpness for three classes.
    logits = np.log(classifier.predict_proba(expected["X"]))
    np.testing.assert_allclose(
        logits[:, 0] - logits[:, 1], 2.2 * 3**0.5 * (scores[:, 0] - scores[:, 1]), rtol=1e-3
    )
    classifier.partial_fit(expected["X"], ["snow"] * 8)
    assert "snow" in classifier.classes_
