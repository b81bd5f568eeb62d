"""With GREVILLE_DEVICE=cuda these tests run on that device."""

import pytest

from ..backends import on_device  # noqa: F401
from ..kernels import kernels


@pytest.fixture(autouse=True)
def _on_device(on_device):  # noqa: F811
    """For every test."""


@pytest.fixture(params=[False, True], ids=["plain", "compiled"])
def either_way(request):
    """Run a test without kernels and with them, also in the quick part."""
    with kernels(request.param):
        yield
