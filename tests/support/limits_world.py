"""Processes for tests of limits that meet: each gets its turn until nothing happens any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from executions.gate import keys
from executions.gate import stage as gate
from executions.models import Execution, WorkflowRun
from executions.ownership.partitions import Partitions
from executions.triggering.triggers import run_task
from tasks.models import Task
from tenants.models import Tenant
from tenants.quotas import known
from tenants.services import change_quotas
from tests.factories import ACTOR, finish, release
from tests.support.workflows import EVERYWHERE, go_on
from wire.messages import Claimed
from workflows import deadlocks
from workflows.begin import begin_due
from workflows.stages import free_waiting

#: More passes than any world of a test needs.
_PASSES = 60


def limit(tenant: Tenant, **limits: Any) -> None:
    """Give a tenant these quotas."""
    change_quotas(tenant.id, actor=ACTOR, limits=limits)
    known.forget(tenant.id)


def queueing(most: int) -> dict[str, Any]:
    """Return the schedule of a workflow that has so many runs at a time; the others wait."""
    return {"every": "P1D", "overlap_policy": "queue_all", "max_concurrent": most}


def ask(task: Task) -> UUID:
    """Ask for a run, or an execution, of a task."""
    return run_task(task.tenant_id, task.id, None, actor=ACTOR).id


def look() -> None:
    """Let the gate and the keys give places once."""
    partitions = Partitions()
    partitions.run_once()
    gate.run_once(partitions)
    keys.run_once(partitions, keys.Seen())
    partitions.release_all()


def begin() -> list[UUID]:
    """Begin the runs that are due and have their places, with their first steps."""
    look()
    found = begin_due(EVERYWHERE, 100)
    go_on(*found)
    return found


def end_all(status: Callable[[Claimed], str] = lambda row: "SUCCEEDED") -> int:
    """Let workers end what is handed to them, and advance all runs; return how much it was."""
    claimed = release(margin_seconds=86_400.0)
    for row in claimed:
        finish(row, status(row))
    go_on(*open_runs())
    return len(claimed)


def open_runs() -> list[UUID]:
    """Return the runs that have begun and not ended."""
    return list(WorkflowRun.objects.order_by("id").values_list("id", flat=True))


def take_turns() -> bool:
    """Let every process have its turn; return whether anything moved."""
    before = _state()
    begin()
    end_all()
    free_waiting()
    deadlocks.end_some()
    go_on(*open_runs())
    return _state() != before


def rest() -> None:
    """Let them have their turns until nothing moves."""
    still = 0
    for _ in range(_PASSES):
        # What is freed in one pass may move in the next one only.
        still = 0 if take_turns() else still + 1
        if still == 3:
            return
    raise AssertionError("it does not come to rest")


def waiting() -> list[tuple[str, str]]:
    """Return status and reason of all that is open."""
    open_ = Execution.objects.filter(status__in=["PENDING", "QUEUED", "RUNNING", "RETRYING"])
    return [(row.status, row.reason) for row in open_.order_by("id")]


def _state() -> list[tuple[Any, ...]]:
    fields = ("id", "status", "held", "gated", "counted", "key_place", "reason")
    return list(Execution.objects.order_by("id").values_list(*fields))
