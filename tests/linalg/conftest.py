"""Tests of linear algebra run on both backends, unless they are marked as tuned."""

import pytest

from greville import backend as backends

from ..backends import NAMES


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        tuned = metafunc.definition.get_closest_marker("tuned")
        metafunc.parametrize("backend", ["scipy"] if tuned else NAMES, indirect=True)


@pytest.fixture(autouse=True)
def backend(request):
    """The backend on which models of the test start."""
    with backends.use(request.param) as chosen:
        yield chosen
