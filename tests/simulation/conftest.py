"""The tenant whose schedules are simulated."""

from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.factories import make_tenant


@pytest.fixture
def alpha(db: None) -> Tenant:
    return make_tenant("Alpha")
