"""Tests that run with compiled kernels, and without."""

from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest

from greville import backend, compiled
from greville.solvers import InPlace


@contextmanager
def kernels(on):
    """Have single rows go through kernels whenever that is possible, or never."""
    changes = patch.object(InPlace, "rows_between_changes", 0)
    with compiled.use(on), changes:
        b = backend.default()
        if not on or not hasattr(b, "tuning"):
            yield
        else:  # few rows are pending, which kernels leave alone
            pytest.importorskip("numba")
            with patch.object(b, "tuning", replace(b.tuning, pending_rows=4)):
                yield


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.full)], ids=["plain", "compiled"]
)
def both(request):
    """Run a test without kernels and with them."""
    with kernels(request.param):
        yield request.param


@pytest.fixture
def as_installed(request):
    """Tests of the whole suite run as where numba is installed: long loops take a third as long."""
    with compiled.use(request.node.get_closest_marker("full") is not None):
        yield


@pytest.fixture
def plain():
    """Run a test without kernels, whose own way it is about."""
    with kernels(False):
        yield
