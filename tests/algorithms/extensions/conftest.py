"""Registries as they were before each test."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def registries_as_before(fresh_registries: None) -> None:
    """Undo registrations, and forget what was captured and installed."""
