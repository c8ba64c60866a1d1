"""Registries as they were before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bonuslab.algorithms.extensions import kinds, shipping


@pytest.fixture(autouse=True)
def registries_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo registrations, and forget what was captured and installed."""
    before = kinds.user_entries()
    kinds.restore({})
    monkeypatch.setattr(shipping, "_captured", set())
    monkeypatch.setattr(shipping, "_received", {})
    monkeypatch.setattr(shipping, "_latest", None)
    yield
    kinds.restore(before)
