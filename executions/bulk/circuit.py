"""Decide whether a guarded bulk job calls a destination that is down: its circuit is open.

Work for an open circuit waits without using up attempts, so its results would never stop the job.
The job stops before it adds its other items to that work.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from executions.choices import FINAL
from executions.dispatch import circuits
from executions.models import BulkJob, BulkJobItem, DeadLetter, Execution
from executions.querysets import ExecutionQuerySet
from shared.redis_client import ConnectionFailed
from tasks.destination_names import name_of_url
from tasks.models import Task
from tasks.sealed_targets import ORIGIN
from wire.destination_key import key_of

#: Number of items checked: the next ones, and the latest ones that are done.
_AHEAD = 200
_BEHIND = 1000
_GUARDS = ("canary", "stop_on_failure_rate")


def meets_open_circuit(job: BulkJob) -> bool:
    """Return whether the next items, or executions of the latest ones, call an open circuit.

    False for a job without canary and limit of failures, and while Redis cannot be asked.
    """
    if all(job.options.get(name) is None for name in _GUARDS):
        return False
    hosts = (_next_hosts(job) | _waiting_hosts(job)) - {""}
    if not hosts:
        return False
    try:
        found = circuits.standing([key_of(job.tenant_id, host) for host in hosts])
    except ConnectionFailed:
        return False
    return any(circuit.state == "open" for circuit in found.values())


def _next_hosts(job: BulkJob) -> set[str]:
    into = job.options.get("into")
    if into is not None:
        url = into.get("url") or into.get(ORIGIN)
        return {name_of_url(url)} if url else set()
    ahead = BulkJobItem.objects.filter(
        job_id=job.id, position__gte=job.position, position__lt=job.position + _AHEAD
    )
    ids = list(ahead.values_list("item_id", flat=True))
    tasks = Task.objects.filter(pk__in=_tasks_of(job.kind, ids))
    return set(tasks.values_list("destination", flat=True))


def _tasks_of(kind: str, ids: list[UUID]) -> Collection[UUID]:
    if kind == "tasks" or not ids:
        return ids
    if kind == "executions":
        found = _executions(ids)
        return set(found.values_list("task_id", flat=True))
    return set(DeadLetter.objects.filter(pk__in=ids).values_list("task_id", flat=True))


def _waiting_hosts(job: BulkJob) -> set[str]:
    """Return the hosts of the executions that the job made and that are not final yet."""
    behind = BulkJobItem.objects.filter(
        job_id=job.id,
        position__gte=max(0, job.position - _BEHIND),
        position__lt=job.position,
        result_id__isnull=False,
    )
    ids = [one for one in behind.values_list("result_id", flat=True) if one is not None]
    if not ids:
        return set()
    waiting = _executions(ids).exclude(status__in=FINAL)
    return set(waiting.values_list("destination", flat=True))


def _executions(ids: list[UUID]) -> ExecutionQuerySet:
    # The bounds keep it to the days of these ids.
    return Execution.objects.filter(pk__in=ids, pk__gte=min(ids), pk__lte=max(ids))
