"""A tenant at this moment: open work, the last hour, running executions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from executions.loop.clocks import database_now
from executions.models import DeadLetter
from insight.statistics.minutes import StartDelay, start_delay, throughput
from shared.sql import rows
from tasks.choices import TaskStatus
from tasks.models import Pause, Task

#: From here on work that has not started is late.
LATE_SECONDS = 1.0
#: Open rows that one read counts, of each kind and of all tenants.
_SCAN = 20_000
#: Open dead letters, and paused tasks, that are counted.
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class Overview:
    """One moment of a tenant; ``at`` is the database's time.

    ``due_now`` waits for a worker, ``queued`` is with one, ``late`` is either of them a second
    after its time. Where ``exact`` is false there is more open work than one read counts, and
    the counts are lower bounds. ``dead_letters_open`` and ``paused_tasks`` stop at 10,000.
    ``start_delay`` covers the last hour. Successes and failures are those of tasks and of runs;
    retries and delays are those of calls, also of steps.
    """

    at: datetime
    due_now: int
    late: int
    queued: int
    running: int
    retrying: int
    exact: bool
    oldest_due_seconds: float | None
    succeeded_last_hour: int
    failed_last_hour: int
    retried_last_hour: int
    late_last_hour: int
    start_delay: StartDelay
    dead_letters_open: int
    paused_tasks: int
    standing_pauses: int

    @property
    def success_rate(self) -> float | None:
        """Return the share of successes among what ended in the last hour, 0 to 1."""
        ended = self.succeeded_last_hour + self.failed_last_hour
        return self.succeeded_last_hour / ended if ended else None


@dataclass(frozen=True, slots=True)
class RunningNow:
    """An execution under way."""

    id: UUID
    task_id: UUID
    task_name: str
    started_at: datetime
    running_seconds: float
    timeout_seconds: float
    attempt: int
    max_attempts: int
    worker: str
    cancel_requested: bool

    @property
    def remaining_seconds(self) -> float:
        """Return the seconds until its timeout; it may end at any time before."""
        return max(0.0, self.timeout_seconds - self.running_seconds)


def overview(tenant_id: UUID) -> Overview:
    """Return the tenant's overview of this moment."""
    now = database_now()
    due, late, queued, running, retrying, oldest, exact = rows(
        "statistics/open_work",
        {"tenant": tenant_id, "late": LATE_SECONDS, "scan": _SCAN},
    )[0]
    hour = throughput(tenant_id, now=now)
    paused = Task.objects.for_tenant(tenant_id).filter(status=TaskStatus.PAUSED)
    letters = DeadLetter.objects.for_tenant(tenant_id).filter(resolved=False)
    return Overview(
        at=now,
        due_now=due,
        late=late,
        queued=queued,
        running=running,
        retrying=retrying,
        exact=exact,
        oldest_due_seconds=oldest,
        succeeded_last_hour=sum(minute.results[0] for minute in hour),
        failed_last_hour=sum(minute.results[1] for minute in hour),
        retried_last_hour=sum(minute.retried for minute in hour),
        late_last_hour=sum(minute.late for minute in hour),
        start_delay=start_delay(hour),
        dead_letters_open=letters.order_by()[:MOST_COUNTED].count(),
        paused_tasks=paused.order_by()[:MOST_COUNTED].count(),
        standing_pauses=Pause.objects.asked_for(tenant_id).open().count(),
    )


def running_now(tenant_id: UUID, limit: int = 20) -> list[RunningNow]:
    """Return the tenant's running executions, the longest first."""
    found = rows(
        "statistics/running_now",
        {"tenant": tenant_id, "limit": limit},
    )
    return [RunningNow(*row) for row in found]
