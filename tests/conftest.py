import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(1960)


@pytest.fixture(scope="session")
def data_dir():
    """The folder with MNIST and the ECG, for tests that need real data."""
    folder = os.environ.get("GREVILLE_DATA")
    if not folder or not (Path(folder) / "mnist").is_dir():
        pytest.skip("set GREVILLE_DATA to a folder with mnist/ to run this")
    return Path(folder)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own, as the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
