"""With GREVILLE_DEVICE=cuda these tests run on that device."""

import pytest

from ..backends import on_device  # noqa: F401


@pytest.fixture(autouse=True)
def _on_device(on_device):  # noqa: F811
    """For every test."""
