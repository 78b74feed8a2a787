"""Alerts as a tenant's failures raise them."""

from __future__ import annotations

from datetime import timedelta

from executions.loop.clocks import database_now
from notifications.models import Alert
from shared.ids import new_id
from tenants.models import Tenant


def make_alert(tenant: Tenant, number: int = 0, *, kind: str = "final_failure") -> Alert:
    now = database_now()
    return Alert.objects.create(
        tenant=tenant,
        kind=kind,
        error_signature="http_status:503",
        destination=f"host-{number}.example.com",
        cause=f"HTTP 503 from host-{number}.example.com",
        task_id=new_id(),
        task_name=f"task {number}",
        execution_id=new_id(),
        count=2,
        task_count=1,
        first_at=now,
        last_at=now,
        next_notice_at=now - timedelta(seconds=1),
    )
