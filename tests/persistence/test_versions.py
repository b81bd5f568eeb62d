"""Versions: formats that this greville does not know are refused.

With the first release its format gets files of its own here, which must stay readable.
"""

import pytest

import greville
from greville import Opium
from greville.persistence import ModelFileError, container

from .models import forge, take_apart


def test_a_newer_format_says_so(tmp_path):
    path = tmp_path / "model"
    greville.save(Opium(), path)
    forge(path, *take_apart(path), number=container.FORMAT + 1)
    with pytest.raises(ModelFileError, match="newer greville.*pip install -U greville"):
        greville.load(path)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_formats_before_the_first_release_are_refused(number, tmp_path):
    path = tmp_path / "model"
    greville.save(Opium(), path)
    forge(path, *take_apart(path), number=number)
    with pytest.raises(ModelFileError, match=f"in format {number}, .*; train the model again"):
        greville.load(path)
