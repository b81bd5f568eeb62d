"""The backends that tests run on: the tuned one, and the plain one on a strict array API."""

import array_api_strict
import pytest

from greville import backend as backends
from greville.backend.plain import PlainBackend

# It refuses whatever the standard does not promise.
backends.register("strict", lambda: PlainBackend(array_api_strict, "strict"))

NAMES = ["scipy", "strict"]


def pytest_generate_tests(metafunc):
    """Run a test on both, unless it is marked as one of the tuned backend."""
    if "backend" in metafunc.fixturenames:
        tuned = metafunc.definition.get_closest_marker("tuned")
        metafunc.parametrize("backend", ["scipy"] if tuned else NAMES, indirect=True)


@pytest.fixture(autouse=True)
def backend(request):
    """The backend on which models of the test start."""
    with backends.use(request.param) as chosen:
        yield chosen
