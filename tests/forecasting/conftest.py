"""Series are long loops: tests of the whole suite run them with compiled kernels."""

import pytest

from ..kernels import as_installed  # noqa: F401


@pytest.fixture(autouse=True)
def _as_installed(as_installed):  # noqa: F811
    """For every test."""
