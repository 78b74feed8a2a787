"""Released executions and the ends of their attempts, as tests of counts make them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from executions.transitions import Finish
from tenants.models import Tenant
from tests.factories import WORKER, make_task, once, prepare, release
from wire.messages import Claimed


def queued(tenant: Tenant, count: int = 1) -> list[Claimed]:
    for _ in range(count):
        make_task(tenant, once())
    prepare()
    return [row for row in release() if row.tenant_id == tenant.id]


def ended(row: Claimed, status: str = "SUCCEEDED", **parts: Any) -> Finish:
    """Return an outcome whose attempt began 30 ms after it was due and took no time."""
    at = row.due_at + timedelta(milliseconds=30)
    outcome = "SUCCEEDED" if status == "SUCCEEDED" else "FAILED"
    fields = {"outcome": outcome, "worker": WORKER, "started_at": at, "finished_at": at, **parts}
    return Finish(row.id, row.token, row.attempt + 1, status, **fields)
