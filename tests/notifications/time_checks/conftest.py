"""A tenant, a worker of the installation's own pool, and the alerter's cursor."""

from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.factories import make_tenant
from tests.notifications.cast import begin
from tests.support.beats import beat


@pytest.fixture
def alpha(db: None) -> Tenant:
    begin()
    beat("w1")
    return make_tenant("Alpha")
