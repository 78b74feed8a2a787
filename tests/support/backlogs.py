"""Backlogs of tenants that wait for the capacity of workers."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from django.db import connection

from executions.models import Execution
from tasks.models import Task
from tenants.models import Tenant
from tenants.quotas import weights
from tests.factories import make_task

_WAITING = """
INSERT INTO executions (id, tenant_id, task_id, partition, priority, pool, revision, status, reason,
    trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
    worker, held, error_code, error_message)
SELECT uuidv7(), %(tenant)s, %(task)s, coalesce(%(partition)s::int, n %% 256), %(priority)s,
    'default', %(revision)s, 'PENDING', '', 'schedule', now(),
    now() - %(age)s * interval '1 second' + n * interval '1 microsecond', 0, 5, 0, 30, '', '',
    false, '', ''
FROM generate_series(1, %(count)s) AS n
"""


def backlog(
    tenant: Tenant,
    count: int,
    *,
    priority: int = 5,
    age: float = 60.0,
    partition: int | None = None,
    task: Task | None = None,
) -> Task:
    """Let so many executions be due for ``age`` seconds, the first one longest; return their task.

    They lie in all partitions unless told one.
    """
    task = task or make_task(tenant)
    with connection.cursor() as cursor:
        # The claim's clock, which stands still in a test's transaction.
        cursor.execute(
            _WAITING,
            {
                "tenant": tenant.id,
                "task": task.id,
                "revision": task.version,
                "partition": partition,
                "priority": priority,
                "age": age,
                "count": count,
            },
        )
    return task


def take_queued() -> Counter[UUID]:
    """Remove what workers have, as if all of it had ended; return how many of each tenant."""
    found = Execution.objects.filter(status="QUEUED")
    counted = Counter(found.values_list("tenant_id", flat=True))
    found.delete()
    return counted


def weigh(tenant: Tenant, weight: int) -> Tenant:
    """Give the tenant a weight."""
    Tenant.objects.filter(pk=tenant.pk).update(weight=weight)
    tenant.weight = weight
    weights.forget()
    return tenant
