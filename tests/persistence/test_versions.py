"""Versions: formats that this greville does not know are refused.

The files in data/ are of formats that were never released. With the first release its format gets
files of its own here, which must stay readable.
"""

from pathlib import Path

import pytest

import greville
from greville import Opium
from greville.persistence import ModelFileError, container

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
    monkeypatch.setattr(container, "FORMAT", 5)
    with pytest.raises(ModelFileError, match="in format 4, .*; train the model again"):
        greville.load(path)
    monkeypatch.setitem(container.UPGRADES, 4, renamed)
    assert greville.load(path).epsilon == 0.25


@pytest.mark.parametrize("number", [1, 2, 3])
def test_formats_before_the_first_release_are_refused(number):
    with pytest.raises(ModelFileError, match=f"in format {number}, .*; train the model again"):
        greville.load(DATA / f"format-{number}-regressor.greville")
