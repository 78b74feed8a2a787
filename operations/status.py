"""The state of the installation at this moment: open work, start delay, processes.

Called by the command. Counts of open work are exact at the moment of the query. The figures of the
last hour are sums of the minute statistics that tenants see.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from executions.loop import refusals
from executions.loop.clocks import database_now
from executions.models import DeadLetter
from insight.statistics.minutes import first_minute, percentiles, wire_bound
from operations.doctor.runtime import (
    OUTCOME_STUCK_SECONDS,
    live_recorders,
    oldest_outcome_seconds,
)
from operations.health import readiness
from shared.clock_watch import skews
from shared.conf import conf
from shared.sql import rows
from wire import heartbeats

#: A start that is later than this counts as late.
LATE_SECONDS = 1.0
#: Work that waits this long shows a fault, not a busy moment.
STUCK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Status:
    """One moment of an installation; ``problems`` are the reasons why it is not healthy.

    ``start_delay_ms`` are upper bounds, infinity for more than a minute. ``tenants`` counts the due
    work that waits for a tenant's matter: ``parked`` for a limit or the circuit of a destination,
    ``own_workers`` for the tenant's own workers. Such work is due, never late, and no problem.
    """

    due: int
    late: int
    queued: int
    running: int
    retrying: int
    succeeded_last_hour: int
    failed_last_hour: int
    start_delay_ms: dict[str, float | None]
    dead_letters_open: int
    schedulers: int
    workers: int
    worker_slots: int
    recorders: int
    partitions_owned: int
    partitions_total: int
    refused: dict[str, int]
    tenants: dict[str, int]
    problems: list[str]

    @property
    def healthy(self) -> bool:
        """Return whether due work runs."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """Return the form of ``status --json``."""
        delays = {name: wire_bound(bound) for name, bound in self.start_delay_ms.items()}
        return {"healthy": self.healthy, **asdict(self), "start_delay_ms": delays}


def read_status() -> Status:
    """Ask database and Redis; raise the error of a server that does not answer."""
    now = database_now()
    [work] = rows("status/open_work", {"late": LATE_SECONDS})
    due, late, queued, running, retrying, parked, own_workers = work
    succeeded, failed, starts = rows("status/recent", {"since": first_minute(now)})[0]
    delay = percentiles(starts or [0])
    taking = [worker for worker in heartbeats.workers() if worker.takes_work]
    owned, total = rows("leases/has_live_scheduler")[0]
    schedulers = rows("status/live_schedulers", {"ttl": conf().partition_lease_seconds})[0][0]
    recorders = live_recorders()
    return Status(
        due=due,
        late=late,
        queued=queued,
        running=running,
        retrying=retrying,
        succeeded_last_hour=succeeded,
        failed_last_hour=failed,
        start_delay_ms={"p50": delay.p50, "p95": delay.p95, "p99": delay.p99},
        dead_letters_open=DeadLetter.objects.filter(resolved=False).count(),
        schedulers=schedulers,
        workers=len(taking),
        worker_slots=sum(worker.slots for worker in taking),
        recorders=recorders,
        partitions_owned=owned,
        partitions_total=total,
        refused=refusals.read(),
        tenants={"parked": parked, "own_workers": own_workers},
        problems=_problems(recorders),
    )


def _problems(recorders: int) -> list[str]:
    found = [what for what in readiness().values() if what != "ok"]
    if not recorders:
        found.append("no live recorder writes outcomes")
    found += [str(skew) for skew in skews()]
    unwritten = oldest_outcome_seconds()
    if unwritten > OUTCOME_STUCK_SECONDS:
        found.append(f"outcomes are not written since {unwritten:.0f} s")
    waiting = rows("doctor/oldest_due")
    if waiting and waiting[0][2] > STUCK_SECONDS:
        found.append(f"execution {waiting[0][1]} is due since {waiting[0][2]:.0f} s")
    return found
