"""Backfill: run a task's past instants of a range again, as a bulk job that can be cancelled.

Every door plans with :func:`plan_backfill`, which changes nothing, and begins with
:func:`create_backfill`. The task's current schedule gives the instants, with its calendars;
``max_occurrences`` does not bound them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn
from uuid import UUID

from django.db import transaction
from django.db.models import Avg, F

from executions.bulk.backfill_steps import ACTION, KIND, REFUSALS, execution_of
from executions.bulk.jobs import begin_job, new_job
from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from executions.triggering.triggers import require_input
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput
from shared.instants import format_instant
from shared.sql import run
from tasks import standing_pauses
from tasks.choices import TaskStatus
from tasks.editing import spec_of
from tasks.models import Task
from tasks.schedules.base import MICROSECOND, Occurrence
from tenants.suspension import require_active

#: Maximum number of instants of a backfill; a longer range is run in parts.
MAX_INSTANTS = 100_000
MAX_PARALLEL = 1000
#: How instants of a backfill may overlap: beside each other, or one after the other.
OVERLAP_POLICIES = ("allow", "queue_all")
SAMPLE = 5
#: Executions that run at a time by default; a lower limit of the task takes its place.
DEFAULT_PARALLEL = 10
#: Maximum number of instants read, with the ones that calendars exclude; more: range too long.
_MAX_WALKED = 10 * MAX_INSTANTS
#: Number of the task's latest runs whose average duration gives the estimate.
_RUNS_JUDGED = 20
#: Instants per second for which the engine makes executions at least.
_RATE_PER_SECOND = 1000
_BEGINNING = datetime.min.replace(tzinfo=UTC) + MICROSECOND


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request: instants from ``start`` to ``end``, both included, and how fast."""

    start: datetime
    end: datetime
    max_parallel: int | None = None
    overlap_policy: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The instants and limits of a backfill.

    Calendars leave ``excluded`` instants out. ``estimated_seconds`` follows from the latest runs;
    None while there is none.
    """

    task: Task
    instants: tuple[Occurrence, ...]
    excluded: int
    max_parallel: int
    overlap_policy: str
    estimated_seconds: float | None

    @property
    def count(self) -> int:
        """Return how many instants there are; at least one."""
        return len(self.instants)

    @property
    def sample(self) -> tuple[Occurrence, ...]:
        """Return the first few."""
        return self.instants[:SAMPLE]


def plan_backfill(tenant_id: UUID, task_id: UUID, wanted: Wanted) -> Plan:
    """Return the plan for a backfill of the task; change nothing.

    Raise NotFound, TenantSuspended, Conflict for a task that was cancelled or that a standing
    pause holds, InvalidInput (``nothing_matches``, ``too_many``, ``schema_mismatch`` for a workflow
    that needs an input, or for a wrong request).
    """
    return _plan(Task.objects.get_for_tenant(tenant_id, task_id), wanted, database_now())


@transaction.atomic
def create_backfill(
    tenant_id: UUID,
    task_id: UUID,
    wanted: Wanted,
    *,
    actor: Actor,
    name: str = "",
    expected_count: int | None = None,
) -> BulkJob:
    """Fix the instants of a backfill and hand it to a worker after the commit.

    Raise the errors of :func:`plan_backfill`, and Conflict ``scope_changed`` when there are not
    exactly ``expected_count`` instants.
    """
    standing_pauses.share_active(tenant_id)
    # The race: a concurrent edit is read here, or waits until the instants are fixed.
    task = Task.objects.get_for_tenant(tenant_id, task_id, lock=True)
    job = new_job(tenant_id, KIND, ACTION, name or f"Backfill of {task.name}", actor)
    plan = _plan(task, wanted, job.created_at)
    if expected_count is not None and plan.count != expected_count:
        message = f"There are {plan.count} instants now, not {expected_count}; look again."
        raise Conflict(message, code="scope_changed")
    job.filters = {
        "task": str(task.id),
        "start": format_instant(wanted.start),
        "end": format_instant(wanted.end),
    }
    job.options = {"max_parallel": plan.max_parallel, "overlap_policy": plan.overlap_policy}
    job.total = plan.count
    _fix_instants(job, plan)
    begin_job(job, actor)
    return job


def _plan(task: Task, wanted: Wanted, now: datetime) -> Plan:
    _require_runnable(task)
    _require_range(wanted, now)
    max_parallel, overlap_policy = _limits(task, wanted)
    found, excluded = _instants(task, wanted)
    return Plan(
        task, tuple(found), excluded, max_parallel, overlap_policy,
        _estimate(task, len(found), max_parallel),
    )  # fmt: skip


def _require_runnable(task: Task) -> None:
    require_active(task.tenant_id)
    if task.status == TaskStatus.CANCELLED:
        raise Conflict(REFUSALS["task_cancelled"], code="task_cancelled")
    if task.pause_id is not None:
        raise Conflict("A standing pause holds the task.", code="task_paused")
    # The instants of a schedule have no input.
    require_input(task, None)


def _require_range(wanted: Wanted, now: datetime) -> None:
    if wanted.end < wanted.start:
        _refuse("#/end", "end_before_start", "'end' is before 'start'.")
    if wanted.end > now:
        _refuse("#/end", "in_the_future", "Only past instants can be run again: end by now.")


def _limits(task: Task, wanted: Wanted) -> tuple[int, str]:
    """Return how many run at a time, and the policy; the task's own limits where none is given."""
    policy, most = wanted.overlap_policy, wanted.max_parallel
    if policy is not None and policy not in OVERLAP_POLICIES:
        message = f"Give one of {', '.join(OVERLAP_POLICIES)}: every instant of a range runs."
        _refuse("#/overlap_policy", "invalid_choice", message)
    if most is not None and not 1 <= most <= MAX_PARALLEL:
        _refuse("#/max_parallel", "out_of_range", f"Give a number from 1 to {MAX_PARALLEL}.")
    if policy == "queue_all" and most not in (None, 1):
        message = "With queue_all one runs after the other: leave max_parallel out."
        _refuse("#/max_parallel", "conflict", message)
    alone = task.schedule.get("overlap_policy", "allow") != "allow"
    if policy is None:
        policy = "queue_all" if alone and most is None else "allow"
    if policy == "queue_all":
        return 1, policy
    limit = task.schedule.get("max_concurrent") or DEFAULT_PARALLEL
    return most or min(limit, DEFAULT_PARALLEL), policy


def _instants(task: Task, wanted: Wanted) -> tuple[list[Occurrence], int]:
    found: list[Occurrence] = []
    excluded = 0
    for occurrence in _walk(task, wanted):
        if occurrence.excluded:
            excluded += 1
        else:
            found.append(occurrence)
        if len(found) > MAX_INSTANTS or len(found) + excluded > _MAX_WALKED:
            message = (
                f"There are more than {min(len(found), MAX_INSTANTS):,} instants by "
                f"{format_instant(occurrence.at)}, and one backfill has {MAX_INSTANTS:,} at most; "
                "run the range in parts."
            )
            _refuse("#/end", "too_many", message)
    if not found:
        message = "The task's schedule has no instant in this range."
        error = InvalidInput([FieldError("#/start", "nothing_matches", message)], message)
        error.code = "nothing_matches"
        raise error
    return found, excluded


def _walk(task: Task, wanted: Wanted) -> Iterator[Occurrence]:
    for occurrence in spec_of(task).walk(max(wanted.start, _BEGINNING) - MICROSECOND):
        if occurrence.at > wanted.end:
            return
        yield occurrence


def _estimate(task: Task, count: int, max_parallel: int) -> float | None:
    """Return about how long the backfill takes, in seconds, if it runs like the latest runs."""
    ended = Execution.objects.filter(
        task_id=task.id,
        status__in=[Status.SUCCEEDED, Status.FAILED],
        started_at__isnull=False,
    )
    latest: Any = ended.order_by("-id")[:_RUNS_JUDGED]
    average = latest.aggregate(took=Avg(F("finished_at") - F("started_at")))["took"]
    if average is None:
        return None
    running = math.ceil(count / max_parallel) * max(0.0, float(average.total_seconds()))
    return round(max(running, count / _RATE_PER_SECOND), 1)


def _fix_instants(job: BulkJob, plan: Plan) -> None:
    run("bulk/take_time")
    instants = [occurrence.at for occurrence in plan.instants]
    ids = [execution_of(job, plan.task.id, at) for at in instants]
    run("backfill/fix_instants", {"job": job.id, "ids": ids, "instants": instants})


def _refuse(pointer: str, code: str, message: str) -> NoReturn:
    error = InvalidInput([FieldError(pointer, code, message)], message)
    if code == "too_many":
        error.code = code
    raise error
