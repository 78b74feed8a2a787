"""Due work that has not started, in a bounded number of rows for a backlog of any size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from executions.choices import Trigger
from shared.conf import conf
from shared.exceptions import PunctualError
from shared.sql import rows, run
from tasks.calendars import SpecOf, spec_reader
from tasks.definition import PULL_PREFIX, WORKFLOW_POOL
from tasks.models import Task
from tenants.quotas import known
from tenants.quotas.limits import Limits
from wire.heartbeats import WorkerInfo

#: Bounds of one pass: executions of a pool, tenant and priority, or tasks of a tenant; such groups;
#: and rows of a statement.
_BOUNDS = {"each": 100, "groups": 20_000, "most": 20_000}
#: How long a place of a limit may stay empty between two executions: the first has to be recorded,
#: the next to be handed out.
_REFILL_SECONDS = 0.1
#: A pool, with the tenant's id where its own workers serve it.
Served = tuple[str | None, str]
_STATEMENTS = (
    "time_checks/overdue_cursors",
    "time_checks/overdue_work",
    "time_checks/overdue_pull_work",
    "time_checks/handed_out",
)


@dataclass(frozen=True, slots=True)
class Unstarted:
    """An instant or an execution that is due and has not started.

    ``due_at`` is since when it could have started: never before the last change of its task, nor
    before it was given to a worker that has it.
    ``own`` is the start target of its task, in seconds. ``execution_id`` is None, and ``instant``
    the nominal time, while no scheduler has prepared it.
    """

    tenant_id: UUID
    task_id: UUID
    execution_id: UUID | None
    #: As the ledger names it.
    pool: str
    trigger: str
    attempt: int
    due_at: datetime
    own: float | None
    instant: datetime | None

    @property
    def is_of_schedule(self) -> bool:
        """Return whether it is an instant of a schedule, in its first attempt."""
        return self.trigger == Trigger.SCHEDULE and self.attempt == 0

    @property
    def is_pulled(self) -> bool:
        """Return whether a tenant's own workers run it."""
        return self.pool.startswith(PULL_PREFIX)

    def is_served(self, served: Collection[Served]) -> bool:
        """Return whether a worker serves its pool; a scheduler begins the runs of workflows."""
        tenant = str(self.tenant_id) if self.is_pulled else None
        return self.pool == WORKFLOW_POOL or (tenant, self.pool) in served


def tenants_at_a_limit(found: Sequence[Unstarted], now: datetime) -> set[UUID]:
    """Return the tenants whose prepared work may wait for a limit: in flight, or a rate.

    None where every scheduler is dead: then it waits for one, however busy its tenant has been.
    """
    limits = known.limits_of_executions()
    oldest: dict[UUID, datetime] = {}
    for one in found:
        if one.execution_id and one.tenant_id in limits:
            oldest[one.tenant_id] = min(one.due_at, oldest.get(one.tenant_id, now))
    if not oldest or not _has_schedulers():
        return set()
    at_workers = rows("dispatch/leased_of_tenants", {"tenants": list(oldest)})
    reached = {
        tenant
        for tenant, leased, queued in at_workers
        if _is_reached(limits[tenant], leased, queued)
    }
    return reached | _kept_busy(oldest, limits, now)


def _has_schedulers() -> bool:
    *_, live = rows("metric_reads/partitions", {"ttl": conf().partition_lease_seconds})[0]
    return bool(live)


def _kept_busy(
    oldest: Mapping[UUID, datetime], limits: Mapping[UUID, Limits], now: datetime
) -> set[UUID]:
    """Return the tenants whose places in flight were taken at least half of the time lately.

    Short executions leave their places empty between one and the next, all of them where there are
    few, so that a look at one moment would find a limit reached and not reached by turns.
    """
    began = now.replace(second=0, microsecond=0) - timedelta(minutes=1)
    busy = set()
    for tenant, attempts, taken_ms in rows(
        "time_checks/ended_lately", {"tenants": list(oldest), "since": began}
    ):
        most = limits[tenant].executions_in_flight
        waited = (now - max(began, oldest[tenant])).total_seconds()
        taken = taken_ms / 1000 + attempts * _REFILL_SECONDS
        if most is not None and 2 * taken >= most * waited:
            busy.add(tenant)
    return busy


def _is_reached(limits: Limits, leased: int, queued: int) -> bool:
    most, rate = limits.executions_in_flight, limits.executions_per_second
    # Workers have what waits for the rate. Of a limit some places are empty at any moment, since
    # dispatch fills them again and again: half of them taken say that it is the limit.
    return (most is not None and 2 * leased >= most) or (rate is not None and queued > 0)


def pools_served(workers: Iterable[WorkerInfo]) -> set[Served]:
    """Return the pools with a worker that takes work; a quiet one serves nothing."""
    return {(one.tenant, one.pool) for one in workers if one.takes_work}


def unstarted(now: datetime, least: float) -> list[Unstarted]:
    """Return what is due for more than ``least`` seconds and waits for no condition of its own.

    Called in a transaction.
    """
    asked = {"now": now, "least": least, **_BOUNDS}
    run("time_checks/plan_in_order")
    found = [Unstarted(*row) for name in _STATEMENTS for row in rows(name, asked)]
    run("time_checks/plan_freely")
    return _without_days_off(found, now)


def _without_days_off(found: Sequence[Unstarted], now: datetime) -> list[Unstarted]:
    """Return the work; where a calendar excludes the instant, the next one counts."""
    ids = {one.task_id for one in found if one.instant is not None}
    if not ids:
        return list(found)
    # The condition of the index tasks_with_calendars_idx.
    with_calendars = Task.objects.filter(id__in=ids).exclude(schedule__calendars=[])
    tasks = {task.id: task for task in with_calendars}
    read = spec_reader((task.tenant_id, task.schedule) for task in tasks.values())
    judged = (
        _not_excluded(one, tasks[one.task_id], read, now) if one.task_id in tasks else one
        for one in found
    )
    return [one for one in judged if one is not None]


def _not_excluded(one: Unstarted, task: Task, read: SpecOf, now: datetime) -> Unstarted | None:
    if one.instant is None:
        return one
    try:
        spec = read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)
    except PunctualError:
        return one  # no scheduler can read the schedule either: the task does not run
    just_before = one.instant - timedelta(microseconds=1)
    expected = next(spec.walk_open(just_before, now), None)
    if expected is None:
        return None
    return replace(one, due_at=one.due_at + (expected.at - one.instant))
