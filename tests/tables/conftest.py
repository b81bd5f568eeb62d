"""Fixtures for tests of tables."""

import pytest


@pytest.fixture
def few_first(monkeypatch):
    monkeypatch.setattr("greville.tables.model.FIRST_ROWS", 64)
