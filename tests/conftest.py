import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from greville import backend, compiled

from .backends import others_turn


def pytest_configure(config):
    """Without compiled kernels, but where a test wants them; with GREVILLE_COMPILED=1 in all."""
    os.environ.setdefault("GREVILLE_COMPILED", "0")  # also for processes that tests start
    kernels = compiled.use(os.environ["GREVILLE_COMPILED"] == "1")
    kernels.__enter__()
    config.add_cleanup(lambda: kernels.__exit__(None, None, None))


def pytest_collection_modifyitems(config, items):
    """With `--part rest`, other backends take turns.

    Tests of what only POSIX systems have are skipped elsewhere; their mark says what it is.
    """
    if config.option.part == "rest":
        left_out = others_turn(items)
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    if os.name == "posix":
        return
    for item in items:
        for mark in item.iter_markers("posix"):
            item.add_marker(pytest.mark.skip(reason=f"this system lacks {mark.args[0]}"))


@pytest.fixture
def rng():
    return np.random.default_rng(1960)


@pytest.fixture
def small_blocks(monkeypatch):
    """Have activations made and learned 256 rows at a time, from when it is called."""
    in_use = backend.default()
    small = replace(in_use.tuning, block_bytes=(1, 1))
    return lambda: monkeypatch.setattr(in_use, "tuning", small)


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
