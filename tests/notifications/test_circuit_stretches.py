"""The stretches in which a tenant's circuits were not closed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from insight.demo_break import Stretch
from notifications.choices import AlertKind
from notifications.circuit_stretches import circuit_stretches
from notifications.models import Alert
from tests.factories import make_tenant

pytestmark = pytest.mark.django_db


def test_only_circuits_of_the_tenant_that_opened_since_count():
    tenant, now = make_tenant("Alpha"), database_now()

    def alert(ago: int, **parts):
        at = now - timedelta(seconds=ago)
        fields = {"tenant": tenant, "kind": AlertKind.CIRCUIT_OPEN, "cause": "a", **parts}
        Alert.objects.create(first_at=at, last_at=at, destination=f"host-{ago}", **fields)
        return at

    open_since, closed = alert(10), alert(20, recovered_at=now)
    alert(200)
    alert(5, kind=AlertKind.FINAL_FAILURE)
    alert(6, tenant=make_tenant("Beta"))

    found = circuit_stretches(tenant.id, now - timedelta(seconds=60))

    assert found == [Stretch(closed, now), Stretch(open_since, None)]
