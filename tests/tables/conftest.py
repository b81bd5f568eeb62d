"""Fixtures for tests of tables."""

import pytest

from greville.tables import _learning


@pytest.fixture
def few_first(monkeypatch):
    monkeypatch.setattr(_learning, "FIRST_ROWS", 64)
