"""The backends that tests run on: the tuned one, the plain one on a strict array API, and torch.

A test runs on the tuned backend. One that is marked as `everywhere` runs on all of them: on the
others in `make test-all`, and with GREVILLE_DEVICE=cuda on that device alone.
"""

import os
from importlib.util import find_spec

import pytest

from greville import backend as backends
from greville.backend.plain import PlainBackend


def _strict():
    """It refuses whatever the standard does not promise."""
    import array_api_strict

    return PlainBackend(array_api_strict, "strict")


backends.register("strict", _strict)

DEVICE = os.environ.get("GREVILLE_DEVICE")
TUNED = f"torch:{DEVICE}" if DEVICE else "scipy"
OTHERS = {"strict": "array_api_strict", "torch:cpu": "torch"}


def _others():
    if DEVICE:
        return
    for name, package in OTHERS.items():
        missing = pytest.mark.skipif(not find_spec(package), reason=f"{package} is not installed")
        yield pytest.param(name, marks=[pytest.mark.full, missing])


EVERYWHERE = [TUNED, *_others()]


def pytest_generate_tests(metafunc):
    """Run a test on the tuned backend, and on all if it is marked as `everywhere`."""
    if "backend" not in metafunc.fixturenames:
        return
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    everywhere = "everywhere" in marks
    names = EVERYWHERE if everywhere else [TUNED]
    if DEVICE and ("host" in marks or not everywhere):
        names = []
    metafunc.parametrize("backend", names, indirect=True)


@pytest.fixture
def on_device(request):
    """With GREVILLE_DEVICE, have models start there."""
    if DEVICE and request.node.get_closest_marker("host"):
        pytest.skip("not on a device")
    with backends.use(TUNED):
        yield


@pytest.fixture(autouse=True)
def backend(request):
    """The backend on which models of the test start."""
    with backends.use(request.param) as chosen:
        yield chosen
