"""The facts about one instant of one task; each is read when a check first asks for it.

Only reads, and none that fails when data is missing: an unknown fact is None or empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

import redis
from django.contrib.auth.models import User

from events.models import AuditEntry
from executions.attempts import attempts_of
from executions.choices import FINAL, Status, Trigger
from executions.destinations.limits import Shown, get_destination
from executions.dispatch import scarcity
from executions.gate import stage as gate
from executions.gate.overlap import Standing
from executions.models import Attempt, BulkJob, DeadLetter, Execution, UnownedStretch, WorkflowRun
from insight.explain.timetable import Timetable, occurrence_at
from insight.run_part import RunPart, part_of
from shared import tenant_scope
from shared.conf import conf
from shared.exceptions import NotFound
from shared.sql import rows
from shared.tenant_scope import Purpose
from tasks import quotas
from tasks.budgets.purses import Purse
from tasks.budgets.purses import read as read_purses
from tasks.choices import TaskType
from tasks.definition import Definition
from tasks.dependencies import open_prerequisites
from tasks.models import Pause, Task
from tasks.revisions import read_readable_version
from tasks.schedules.base import Occurrence, Spec
from tasks.schedules.jitter import due_at, jitter_of
from tasks.versions import into_of, is_redirected
from tenants.models import Tenant
from tenants.quotas.known import limits_of
from tenants.quotas.limits import NONE, Limits, resolve
from wire.heartbeats import WorkerInfo, workers

_REDIS_FAULTS = (redis.RedisError, OSError)
_HOLDERS = 20


@dataclass(frozen=True, slots=True)
class Owner:
    """A partition's lease; ``name`` and ``heartbeat_at`` are those of the scheduler, if known."""

    owner: UUID | None
    epoch: int
    expires_at: datetime | None
    name: str | None
    heartbeat_at: datetime | None


@dataclass(frozen=True, slots=True)
class PoolRoom:
    """A pool's workers, their capacity, the executions in flight, and whether others wait."""

    workers: Sequence[WorkerInfo]
    room: int
    in_flight: int
    is_scarce: bool = False


class Situation:
    """One instant ``at`` of a task, with its ledger row if there is one, at the moment ``now``."""

    def __init__(self, task: Task, at: datetime, now: datetime, row: Execution | None) -> None:
        self.task = task
        self.at = at
        self.now = now
        self.row = row
        self.timetable = Timetable(task)

    # --- the row ------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """The row's state, '' without a row."""
        return "" if self.row is None else str(self.row.status)

    @property
    def reason(self) -> str:
        """The row's reason, '' without one."""
        return "" if self.row is None else self.row.reason

    @property
    def is_span(self) -> bool:
        """Whether the row is a span row: one for a whole stretch of instants."""
        return self.row is not None and self.row.span_count is not None

    @property
    def final(self) -> bool:
        """Whether its state is final."""
        return self.status in FINAL

    @property
    def waiting(self) -> bool:
        """Whether the row waits to be released."""
        return self.status in (Status.PENDING, Status.RETRYING)

    @property
    def started(self) -> bool:
        """Whether an attempt has begun."""
        row = self.row
        return row is not None and (
            row.started_at is not None or row.attempt > 0 or row.status == Status.RUNNING
        )

    @property
    def scheduled(self) -> bool:
        """Whether the schedule must contain the instant; false for a run beside the schedule."""
        return self.row is None or self.row.trigger == Trigger.SCHEDULE

    @cached_property
    def into(self) -> dict[str, str] | None:
        """The URL or pool that a replay sent it to in place of its task's; None of other rows."""
        if self.row is None or not is_redirected(self.row.revision):
            return None
        target = read_readable_version(self.task, self.row.revision).definition.target
        return into_of(self.row.revision, target)

    @cached_property
    def attempts(self) -> list[Attempt]:
        """The attempts that have ended, in order."""
        return [] if self.row is None else attempts_of([self.row.pk])[self.row.pk]

    @cached_property
    def letter(self) -> DeadLetter | None:
        """The dead letter, if it has one."""
        if self.row is None:
            return None
        return DeadLetter.objects.filter(execution_id=self.row.pk).first()

    @cached_property
    def part(self) -> RunPart | None:
        """The run of a workflow that it is a part of: as a take, or as a step."""
        return None if self.row is None else part_of(self.row, self.task)

    @property
    def is_step(self) -> bool:
        """Whether it is a step of a run that calls something."""
        return self.part is not None and self.part.is_step

    @property
    def is_run(self) -> bool:
        """Whether it is a take of a run, which no worker runs."""
        return self.part is not None and not self.part.is_step

    @cached_property
    def run_row(self) -> WorkflowRun | None:
        """The run that it is a part of, until that has ended."""
        if self.part is None:
            return None
        return WorkflowRun.objects.filter(pk=self.part.run_id).first()

    # --- the schedule -------------------------------------------------------------------------

    @cached_property
    def spec(self) -> Spec | None:
        """The schedule that the instant belongs to: the row's version, or the one in force."""
        if self.row is None or not self.scheduled:
            return self.timetable.current
        return self.timetable.of(self.row.revision)

    @cached_property
    def without_calendars(self) -> Spec | None:
        """The schedule in force, but for its calendars."""
        if not self.task.schedule.get("calendars"):
            return self.timetable.current
        return self.timetable.altered(calendars=[])

    @cached_property
    def occurrence(self) -> Occurrence | None:
        """The schedule's occurrence at the instant, if it has one."""
        return occurrence_at(self.spec, self.at)

    @property
    def passed(self) -> bool:
        """Whether the task's cursor is past the instant, or the task has no cursor any more."""
        cursor = self.task.next_run_at
        return cursor is None or self.at < cursor

    @cached_property
    def due_at(self) -> datetime:
        """When it is due: its time, jitter included, or that of its next attempt."""
        if self.row is not None:
            return self.row.due_at
        jitter = jitter_of(self.task.schedule)
        return due_at(self.spec, self.at, str(self.task.pk), jitter) if self.spec else self.at

    @property
    def due(self) -> bool:
        """Whether its time has come."""
        return self.due_at <= self.now

    @cached_property
    def first_due_at(self) -> datetime:
        """When it was due at first, before it waited for a scheduler, its turn or a retry."""
        if self.row is not None and not self.scheduled:
            first = self.attempts[0].due_at if self.attempts else None
            return first or self.row.due_at
        jitter = jitter_of(self.task.schedule)
        return due_at(self.spec, self.at, str(self.task.pk), jitter) if self.spec else self.at

    @cached_property
    def first_start(self) -> datetime | None:
        """When its first attempt began, None before."""
        first = self.attempts[0].started_at if self.attempts else None
        return first or (None if self.row is None else self.row.started_at)

    # --- around it ----------------------------------------------------------------------------

    @cached_property
    def tenant(self) -> Tenant | None:
        """The tenant."""
        return Tenant.objects.filter(pk=self.task.tenant_id).first()

    @cached_property
    def tenant_limits(self) -> Limits:
        """The quotas of the tenant."""
        tenant = self.tenant
        if tenant is None:
            return NONE
        return resolve(tenant.tier, tenant.quotas, unlimited=tenant.unlimited)

    @cached_property
    def pause(self) -> Pause | None:
        """The standing pause that holds the task."""
        return standing_pause_of(self.task)

    @property
    def partition(self) -> int:
        """The partition that it belongs to."""
        return self.task.partition if self.row is None else self.row.partition

    @cached_property
    def _definition(self) -> Definition:
        return read_readable_version(self.task, self.task.version).definition

    @property
    def depends_on(self) -> Sequence[str]:
        """The ids of the tasks that the task depends on."""
        return self._definition.depends_on if self.task.type == TaskType.ONE_TIME else ()

    @property
    def on_dependency_failure(self) -> str:
        """What becomes of it when one of these has ended without success."""
        return self._definition.on_dependency_failure

    @cached_property
    def waits_for(self) -> list[Task]:
        """Those that have not succeeded."""
        return open_prerequisites(self.task)

    def in_flight(self, quota: str) -> tuple[int, int | None]:
        """Return how many are in flight of a quota of the tenant, and its limit."""
        tenant_id = self.task.tenant_id
        return quotas.in_flight(tenant_id, quota), limits_of(tenant_id).of(quota)

    @cached_property
    def purses(self) -> Sequence[Purse]:
        """The budgets of the task, in the present period; those of a step are its run's."""
        if self.is_step:
            return ()
        found = read_purses([self.task.pk]).get(self.task.pk)
        return found.all if found else ()

    @cached_property
    def outage(self) -> UnownedStretch | None:
        """The stretch without a scheduler in which it came due, if it did in one."""
        over = UnownedStretch.objects.filter(
            partition=self.partition, since__lte=self.first_due_at, until__gt=self.first_due_at
        )
        return over.order_by("until").first()

    @cached_property
    def owner(self) -> Owner:
        """The lease of the task's partition."""
        found = rows("explain/partition", {"partition": self.partition})
        return Owner(*found[0]) if found else Owner(None, 0, None, None, None)

    @cached_property
    def job(self) -> BulkJob | None:
        """The bulk job that made the row."""
        if self.row is None or self.row.series_id is None:
            return None
        return BulkJob.objects.filter(tenant_id=self.task.tenant_id, pk=self.row.series_id).first()

    @cached_property
    def standing(self) -> Standing:
        """The occupancy of its group at the gate: policy, limit, and the counted executions."""
        return gate.standing(self.task, None if self.row is None else self.row.series_id)

    @cached_property
    def holders(self) -> list[Execution]:
        """The executions that take the places the row waits for, the first due first."""
        ids = [held for held in self.standing.active if self.row is None or held != self.row.pk]
        return list(Execution.objects.filter(pk__in=ids[:_HOLDERS]).order_by("due_at", "id"))

    @cached_property
    def before_in_line(self) -> int:
        """How many earlier executions wait for the same place."""
        parameters: dict[str, Any] = {
            "task": self.task.pk,
            "series": None if self.row is None else self.row.series_id,
            "due": self.due_at,
        }
        found: int = rows("explain/before_in_line", parameters)[0][0]
        return found

    @cached_property
    def destination(self) -> Shown | None:
        """The state of the host that it calls; None when the host is not known."""
        try:
            return get_destination(self.task.tenant_id, self.row.destination) if self.row else None
        except NotFound:
            return None

    @cached_property
    def pool(self) -> str:
        """The pool whose workers run it."""
        return self.task.pool if self.row is None else self.row.pool

    @cached_property
    def pool_room(self) -> PoolRoom | None:
        """The pool's workers and their capacity; None when Redis cannot be reached."""
        try:
            of_pool = [worker for worker in workers() if worker.pool == self.pool]
            is_scarce = not scarcity.without([self.pool])
        except _REDIS_FAULTS:
            return None
        room = sum(worker.slots + worker.hold for worker in of_pool if worker.takes_work)
        with tenant_scope.across(Purpose.POOL_ROOM):
            flying = dict(rows("dispatch/in_flight"))
        return PoolRoom(of_pool, room, flying.get(self.pool, 0), is_scarce)

    def change(self, *actions: str, kind: str = "task", until: datetime | None = None) -> str:
        """Return the actor of the latest of these changes as words; '' without an audit entry."""
        subject = self.task.pk if kind == "task" else self.row.pk if self.row else None
        found = AuditEntry.objects.filter(
            tenant_id=self.task.tenant_id,
            object_kind=kind,
            object_id=str(subject),
            action__in=actions,
            **({"at__lte": until} if until else {}),
        )
        entry = found.order_by("-sequence").values_list("actor", flat=True).first()
        return "" if entry is None else name_of(entry)


def end_of_pause(task: Task, standing: Pause | None) -> datetime | None:
    """Return when a paused task resumes by itself: its own pause, or the one that holds it."""
    return standing.until if standing is not None else task.paused_until


def standing_pause_of(task: Task) -> Pause | None:
    """Return the standing pause that holds a task, if one does."""
    if task.pause_id is None:
        return None
    return Pause.objects.for_tenant(task.tenant_id).filter(pk=task.pause_id).first()


def name_of(actor: str) -> str:
    """Return a member's name for ``user:<id>``, words for other actors."""
    kind, _, number = actor.partition(":")
    if kind == "user" and number.isdecimal():
        found = User.objects.filter(pk=int(number)).values_list("username", flat=True).first()
        return found or actor
    if kind == "command":
        # With the account that ran it; entries of older versions have none.
        return f"a command of {number}" if number else "a command"
    return "the scheduler" if actor == "system" else actor


def horizon_end(now: datetime) -> datetime:
    """Return the end of the horizon: the latest instant that schedulers prepare at ``now``."""
    return now + timedelta(seconds=conf().horizon_seconds)
