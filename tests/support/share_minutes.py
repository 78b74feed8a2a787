"""Minutes in which tenants waited for the capacity of a pool."""

from __future__ import annotations

from datetime import timedelta

from executions.loop.clocks import database_now
from executions.models import ShareMinute
from tenants.models import Tenant


def minute(tenant: Tenant, ago: int, due: float, received: int, wait: float = 1.0) -> None:
    at = database_now().replace(second=0, microsecond=0) - timedelta(minutes=ago)
    ShareMinute.objects.create(
        minute=at,
        pool="default",
        tenant_id=tenant.id,
        due=due,
        received=received,
        oldest_wait=wait,
    )
