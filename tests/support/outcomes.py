"""Outcomes of attempts as workers report them."""

from __future__ import annotations

from datetime import UTC, datetime

from executions.transitions import Finish
from tenants.models import Tenant
from tests.factories import make_task, once, prepare, release

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def finished(tenant: Tenant, count: int) -> list[Finish]:
    """Return that new executions have succeeded."""
    for _ in range(count):
        make_task(tenant, once())
    prepare()
    return [
        Finish(one.id, one.token, 1, "SUCCEEDED", "SUCCEEDED", started_at=NOW, finished_at=NOW)
        for one in release()
    ]
