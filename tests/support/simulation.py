"""The real materializer under a clock of the test's own: days pass in seconds.

Leases stay on the database's clock: a scheduler that is killed here keeps them until the test
lets them expire. Schedules, the cursor and the horizon follow the simulated clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from executions.choices import Status
from executions.ledger import days as ledger
from executions.materialize import stage as materialize
from executions.models import PartitionLease
from executions.ownership.partitions import Partitions
from shared.instants import format_instant, parse_instant
from tasks.creation import create_tasks
from tasks.editing import spec_of
from tasks.limits import current_limits
from tasks.models import Task
from tasks.preview import preview
from tasks.validation.bodies import parse_create
from tenants.models import Tenant
from tests.factories import ACTOR, TARGET, executions_of

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_JUST_BEFORE = timedelta(microseconds=1)
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
#: A preview answers at most so many.
_PAGE = 1000


@dataclass
class Simulation:
    """Schedulers that live by ``now``; ``start`` says which days the ledger gets."""

    monkeypatch: pytest.MonkeyPatch
    start: datetime
    days: int = 2
    now: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.start
        if connection.in_atomic_block:
            with connection.cursor() as cursor:
                # The test's transaction waits while thousands of previews are computed.
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        self.monkeypatch.setattr(materialize, "database_now", lambda: self.now)
        ledger.make_days(self.start + day * _DAY for day in range(-1, self.days))

    def create(self, tenant: Tenant, schedules: Iterable[Mapping[str, Any]]) -> list[Task]:
        """Create a task for each schedule, in this moment of the simulation."""
        bodies = [
            {"name": "simulated", "schedule": dict(one), "target": TARGET} for one in schedules
        ]
        limits = current_limits()
        definitions = [parse_create(body, now=self.now, limits=limits) for body in bodies]
        return create_tasks(tenant.id, definitions, actor=ACTOR, now=self.now)

    def scheduler(self) -> Partitions:
        """Return a scheduler that has taken what is free of its share."""
        partitions = Partitions()
        partitions.run_once()
        return partitions

    def run_until(self, partitions: Partitions, end: datetime, step: timedelta) -> None:
        """Let time pass in steps, each with all the passes that a scheduler makes of it."""
        renew_at = 0.0
        clean_at = self.now + _HOUR
        while self.now < end:
            self.now = min(end, self.now + step)
            if self.now >= clean_at and not connection.in_atomic_block:
                clean_at += _HOUR
                _vacuum()
            if time.monotonic() >= renew_at:
                renew_at = time.monotonic() + partitions.run_once()
            self.materialize(partitions)

    def materialize(self, partitions: Partitions) -> None:
        """Let a scheduler make its passes of this moment."""
        while materialize.run_once(partitions).done:
            pass

    def let_leases_expire(self, partitions: Partitions) -> None:
        """Let the time of a killed scheduler's leases run out; it does not know of it."""
        PartitionLease.objects.filter(owner=partitions.node).update(expires_at=_LONG_AGO)

    def previewed(self, task: Task, end: datetime) -> list[datetime]:
        """Return what a preview of the task's schedule shows from its creation to an end."""
        found: list[datetime] = []
        after = self.start - _JUST_BEFORE
        while True:
            body = {
                "type": task.type,
                "schedule": _as_written(task.schedule),
                "from": format_instant(after),
                "count": _PAGE,
            }
            page = preview(body, now=self.start)["occurrences"]
            instants = [parse_instant(item["utc"]) for item in page]
            found += [at for at in instants if at <= end]
            if len(instants) < _PAGE or instants[-1] > end:
                return found
            after = instants[-1]


def _vacuum() -> None:
    """Do what the server does by itself every minute, of which a simulated day has few."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) tasks, task_cursors, executions")


def expected(task: Task, since: datetime, until: datetime) -> list[datetime]:
    """Return every instant of the task's schedule from one moment to another, both included."""
    occurrences = spec_of(task).between(since - _JUST_BEFORE, until, 1_000_000)
    return [occurrence.at for occurrence in occurrences]


def accounted(task: Task) -> list[tuple[datetime, str, str]]:
    """Return every instant that the ledger holds, with state and reason; spans one by one."""
    found = []
    for row in executions_of(task):
        if row.span_last is None:
            found.append((row.scheduled_for, row.status, row.reason))
            continue
        instants = expected(task, row.scheduled_for, row.span_last)
        assert len(instants) == row.span_count
        assert row.status == Status.SKIPPED
        found += [(at, row.status, row.reason) for at in instants]
    return sorted(found)


def _as_written(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored schedule without what is null, as a caller would write it."""
    return {key: value for key, value in schedule.items() if value is not None}
