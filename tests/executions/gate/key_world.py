"""Tasks that share a concurrency key, and a scheduler that looks, as tests of keys need them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import F

from executions.gate import keys
from executions.gate.keys import Seen
from executions.loop.counts import Counts
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_task, once, prepare, release, start
from wire.messages import Claimed

KEY = "customer-7"
FIFO: dict[str, Any] = {"key": KEY, "order": "fifo"}


def at_most(most: int) -> dict[str, Any]:
    """Return the key with a number."""
    return {"key": KEY, "max": most}


def make(
    tenant: Tenant, count: int, shared: dict[str, Any] | None = None, **parts: Any
) -> list[Task]:
    """Return so many one-time tasks of one key, due long ago, a second apart."""
    body = once(concurrency=shared or at_most(1), **parts)
    tasks = [make_task(tenant, body) for _ in range(count)]
    prepare()
    for number, task in enumerate(tasks):
        ago = timedelta(seconds=100 - number)
        Execution.objects.filter(task_id=task.id).update(
            due_at=F("due_at") - ago, scheduled_for=F("scheduled_for") - ago
        )
    return tasks


def look(seen: Seen | None = None) -> Counts:
    """Let a scheduler that owns everything look once."""
    partitions = Partitions()
    partitions.run_once()
    counts = keys.run_once(partitions, seen or Seen())
    partitions.release_all()
    return counts


def own_everything() -> None:
    """Let a scheduler own everything, and live."""
    Partitions().run_once()


def begin() -> list[Claimed]:
    """Hand out what may start, and start it."""
    # A test that does much may take longer than a lease.
    claimed = release(margin_seconds=86_400.0)
    start(claimed)
    return claimed


def row_of(task: Task) -> Execution:
    """Return the only execution of a task."""
    return Execution.objects.get(task_id=task.id)
