"""Fixtures for tests of tables."""

import pytest

from greville.tables import _state


@pytest.fixture
def few_first(monkeypatch):
    monkeypatch.setattr(_state, "FIRST_ROWS", 64)
