"""The demo of these tests."""

from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.support.demo import Up, start_demo


@pytest.fixture
def demo(monkeypatch, settings) -> tuple[Tenant, Up]:
    return start_demo(monkeypatch, settings)
