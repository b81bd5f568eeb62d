"""The backends that tests run on: the tuned one, the plain one on a strict array API, and torch.

With GREVILLE_DEVICE=cuda they run on that device alone.
"""

import os
from importlib.util import find_spec
from zlib import crc32

import pytest

from greville import backend as backends
from greville.backend.plain import PlainBackend


def _strict():
    """It refuses whatever the standard does not promise."""
    import array_api_strict

    return PlainBackend(array_api_strict, "strict")


backends.register("strict", _strict)

DEVICE = os.environ.get("GREVILLE_DEVICE")
NAMES = [f"torch:{DEVICE}"] if DEVICE else ["scipy", "strict"]
if not DEVICE and find_spec("torch"):
    NAMES.append("torch:cpu")


def pytest_generate_tests(metafunc):
    """Run a test on all of them, unless it is marked as one of the tuned backend.

    Of the tests of solvers every fourth runs on the strict one and every other on torch's CPU,
    chosen by their names; all of them with GREVILLE_STRICT=1.
    """
    if "backend" in metafunc.fixturenames:
        tuned = metafunc.definition.get_closest_marker("tuned")
        chosen = ["scipy"] if tuned else [*NAMES]
        few = ".solvers." in metafunc.module.__name__ and not os.environ.get("GREVILLE_STRICT")
        if few:
            share = crc32(metafunc.definition.name.encode()) % 4
            left_out = {"strict"} if share != 2 else set()
            left_out |= {"torch:cpu"} if share % 2 else set()
            chosen = [name for name in chosen if name not in left_out]
        if DEVICE and (tuned or metafunc.definition.get_closest_marker("host")):
            chosen = []
        metafunc.parametrize("backend", chosen, indirect=True)


@pytest.fixture
def on_device(request):
    """With GREVILLE_DEVICE, have models start there."""
    if DEVICE and request.node.get_closest_marker("host"):
        pytest.skip("not on a device")
    with backends.use(NAMES[0]):
        yield


@pytest.fixture(autouse=True)
def backend(request):
    """The backend on which models of the test start."""
    with backends.use(request.param) as chosen:
        yield chosen
