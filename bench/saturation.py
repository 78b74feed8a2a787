"""Workers that are saturated by several tenants, and what each of these gets of them.

Slots are what is scarce: each call takes a tenth of a second, so that the processor of a small
machine is not. Every backlog is larger than what can start meanwhile; where one runs out before the
end, nothing was saturated and the report could not run.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from bench import backlogs, installation
from bench.backlogs import Backlog
from bench.installation import Installation, InstallationError
from bench.members import Member

#: By how much of itself a share may be missed.
TOLERANCE = 0.05
#: Each call of the saturated workers takes this long; they start no more than slots by this.
CALL_MS = 100
#: From the order to write backlogs until they are due, and from then until the workers' hold is
#: full and the measurement begins.
LEAD_SECONDS, SETTLE_SECONDS = 15.0, 10.0
#: What the worker buffers: with less due than this no capacity is scarce.
HOLD = 8000
#: More than can start meanwhile.
_MORE = 1.15


@contextmanager
def opened(chosen: argparse.Namespace) -> Iterator[Installation]:
    """Start an installation with one worker of ``chosen.capacity`` slots, and yield it."""
    installation.require_start(chosen)
    environment = {
        "SCHEDULERS": chosen.schedulers,
        "WORKERS": 1,
        "WORKER_CAPACITY": chosen.capacity,
    }
    known = {name: str(value) for name, value in environment.items()}
    with installation.opened(chosen, **known) as product:
        yield product


def a_second(capacity: int) -> float:
    """Return how many calls that many slots can start in a second."""
    return capacity * 1000 / CALL_MS


def counts_of(capacity: int, seconds: float, weights: Sequence[int]) -> list[int]:
    """Return how large each tenant's backlog has to be so that none runs out."""
    whole = a_second(capacity) * (seconds + SETTLE_SECONDS) * _MORE + HOLD + capacity
    return [round(whole * weight / sum(weights)) for weight in weights]


def errors_of(starts: Sequence[int], weights: Sequence[int]) -> list[float]:
    """Return by which part of its share each tenant's starts miss it."""
    whole, weight = sum(starts), sum(weights)
    if not whole:
        return [-1.0 for _ in weights]
    return [count * weight / (whole * own) - 1 for count, own in zip(starts, weights, strict=True)]


def is_fair(errors: Sequence[float]) -> bool:
    """Return whether no tenant misses its share by more than is allowed."""
    return all(abs(error) <= TOLERANCE for error in errors)


def weigh(member: Member, weight: int) -> None:
    """Give the member's tenant a weight."""
    from shared.actor import COMMAND
    from tenants.services import change_quotas

    change_quotas(member.tenant_id, actor=COMMAND, weight=weight)


def wait(seconds: float) -> None:
    """Let the installation work meanwhile."""
    asyncio.run(asyncio.sleep(max(0.0, seconds)))


def fall_due(product: Installation, work: Sequence[tuple[Member, Backlog]]) -> float:
    """Write backlogs that come due together; return when that is (seconds since 1970).

    Raise InstallationError where writing took until then.
    """
    tasks = [backlogs.tasks_of(product, member, one) for member, one in work]
    due = time.time() + LEAD_SECONDS
    for (_, one), of_it in zip(work, tasks, strict=True):
        backlogs.fill(product, one, of_it, due)
    if time.time() > due:
        raise InstallationError("the backlogs took too long to write")
    return due


def saturate(
    product: Installation, work: Sequence[tuple[Member, Backlog]], seconds: float
) -> tuple[list[int], float]:
    """Saturate the workers for some seconds; return each backlog's starts, and all a second.

    Raise InstallationError where a backlog runs out meanwhile.
    """
    members = [member for member, _ in work]
    due = fall_due(product, work)
    wait(due + SETTLE_SECONDS - time.time())
    begin = time.time()
    wait(seconds)
    end = time.time()
    backlogs.require_waiting(product, members)
    starts = [started(member, begin, end) for member in members]
    for member in members:
        backlogs.clear(product, member.tenant_id)
    return starts, round(sum(starts) / (end - begin), 1)


def started(member: Member, begin: float, end: float) -> int:
    """Return how many executions of a member's tenant started between two moments."""
    from executions.models import Execution

    first, last = (datetime.fromtimestamp(moment, UTC) for moment in (begin, end))
    found = Execution.objects.for_tenant(member.tenant_id)
    return found.filter(started_at__gte=first, started_at__lt=last).count()
