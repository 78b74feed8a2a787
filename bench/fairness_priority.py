"""Priority on saturated workers: it counts within a tenant, and takes nothing from another one.

Overtaking: 500 executions of priority 0, 50 a second, alone and beside 10,000 of priority 5 of the
same tenant that are due. Sharing: two tenants of one weight, one of which has priority 0 alone and
the other priority 9. Ageing: a thousand of priority 9 are due just before more of priority 0 than
the workers can run; in order of due time they would go first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from bench import backlogs, installation, saturation
from bench.backlogs import Backlog
from bench.installation import Installation
from bench.members import Member, make_member
from bench.saturation import CALL_MS, errors_of, is_fair
from operations.proof.percentiles import Distribution, distribution

URGENT, ORDINARY, LOW = 0, 5, 9
#: By how much the p95 of urgent work may rise beside the tenant's own backlog.
MOST_MS = 50.0
#: How many times as long as in order of due time low priority may wait, what more it may wait for
#: the workers to take up their work, and by how much of itself a tenth may be missed.
MOST_TIMES, BEGIN_SECONDS = 10.0, 1.0
_OVERTAKEN, _URGENT_COUNT, _URGENT_STEP_MS = 10_000, 500, 20.0
_LOW_COUNT = 1000
_SHARE_SECONDS = 30.0
#: So long urgent work goes on, to be still there when the last of low priority starts.
_URGENT_SECONDS = 40.0


def priority_run(product: Installation, chosen: argparse.Namespace) -> tuple[dict[str, Any], bool]:
    """Run all three; return their figures, and whether each was kept."""
    runs = {"overtaking": overtaking, "sharing": sharing, "ageing": ageing}
    found = {name: run(product, chosen.capacity) for name, run in runs.items()}
    return {name: told for name, (told, _) in found.items()}, all(
        kept for _, kept in found.values()
    )


def overtaking(product: Installation, capacity: int) -> tuple[dict[str, Any], bool]:
    """Measure urgent work alone and beside the tenant's own backlog."""
    delays = {}
    backlog = max(_OVERTAKEN, _lasting(capacity, 20.0))
    for name, count in (("alone", 0), ("beside", backlog)):
        member = make_member()
        with installation.receiver() as target:
            url = f"{target.url}/slow?ms={CALL_MS}"
            urgent = Backlog(url, _URGENT_COUNT, priority=URGENT, step_ms=_URGENT_STEP_MS)
            tasks = backlogs.tasks_of(product, member, urgent)
            due = time.time() + saturation.LEAD_SECONDS
            if count:
                ordinary = Backlog(url, count, priority=ORDINARY)
                backlogs.fill(product, ordinary, tasks, due)
                saturation.wait(due + saturation.SETTLE_SECONDS - time.time())
                due = time.time() + 1.0
            backlogs.fill(product, urgent, tasks, due)
            saturation.wait(due - time.time() + _URGENT_COUNT * _URGENT_STEP_MS / 1000 + 3.0)
            if count:
                backlogs.require_waiting(product, [member])
            delays[name] = distribution(_delays_ms(member, URGENT, _URGENT_COUNT))
        backlogs.clear(product, member.tenant_id)
    figures: dict[str, Any] = {name: one.as_json() for name, one in delays.items()}
    return {"overtaken": backlog, **figures}, overtakes(delays["alone"], delays["beside"])


def overtakes(alone: Distribution, beside: Distribution) -> bool:
    """Return whether urgent work waits no longer than is allowed, and has all started."""
    return beside.count == alone.count > 0 and beside.p95 <= alone.p95 + MOST_MS


def sharing(product: Installation, capacity: int) -> tuple[dict[str, Any], bool]:
    """Let a tenant of urgent work share with one of low priority."""
    counts = saturation.counts_of(capacity, _SHARE_SECONDS, (1, 1))
    with installation.receiver() as target:
        url = f"{target.url}/slow?ms={CALL_MS}"
        work = [
            (make_member(), Backlog(url, count, priority=priority))
            for count, priority in zip(counts, (URGENT, LOW), strict=True)
        ]
        starts, _ = saturation.saturate(product, work, _SHARE_SECONDS)
    errors = errors_of(starts, (1, 1))
    return {"starts": starts, "errors": [round(one, 4) for one in errors]}, is_fair(errors)


def ageing(product: Installation, capacity: int) -> tuple[dict[str, Any], bool]:
    """Let a thousand of low priority wait beside urgent work that never ends."""
    member = make_member()
    with installation.receiver() as target:
        url = f"{target.url}/slow?ms={CALL_MS}"
        low = Backlog(url, _LOW_COUNT, priority=LOW)
        tasks = backlogs.tasks_of(product, member, low)
        due = time.time() + saturation.LEAD_SECONDS
        backlogs.fill(product, low, tasks, due)
        count = saturation.counts_of(capacity, _URGENT_SECONDS, (1,))[0]
        # Behind all of low priority: in order of due time these would go first.
        later = due + _LOW_COUNT * low.step_ms / 1000
        backlogs.fill(product, Backlog(url, count, priority=URGENT), tasks, later)
        saturation.wait(due + _URGENT_SECONDS - time.time())
        backlogs.require_waiting(product, [member])
        waits = [delay / 1000 for delay in _delays_ms(member, LOW, _LOW_COUNT)]
        rate = saturation.started(member, due + BEGIN_SECONDS, due + _URGENT_SECONDS) / (
            _URGENT_SECONDS - BEGIN_SECONDS
        )
    backlogs.clear(product, member.tenant_id)
    times = times_of([*waits, *[_URGENT_SECONDS] * (_LOW_COUNT - len(waits))], rate)
    figures = {
        "low": len(waits),
        "starts_a_second": round(rate, 1),
        "longest_wait_seconds": round(max(waits, default=0.0), 2),
        "times_of_due_order": round(times, 2),
    }
    return figures, times <= MOST_TIMES


def times_of(waits: Sequence[float], rate: float) -> float:
    """Return how many times as long as in order of due time the last of low priority waited.

    ``rate`` is how many executions of the tenant start in a second. What passes until the workers
    have taken up their work counts in neither order. Work that has not started has waited so far.
    """
    if not waits or not rate:
        return float("inf")
    return max(0.0, max(waits) - BEGIN_SECONDS) / (len(waits) / rate)


def _lasting(capacity: int, seconds: float) -> int:
    return saturation.counts_of(capacity, seconds, (1,))[0]


def _delays_ms(member: Member, priority: int, most: int) -> list[float]:
    """Return the start delays of a tenant's executions of a priority that have started."""
    from django.db.models import F

    from executions.models import Execution

    found = Execution.objects.for_tenant(member.tenant_id).filter(
        priority=priority, started_at__isnull=False
    )
    waits = found.annotate(wait=F("started_at") - F("due_at")).values_list("wait", flat=True)[:most]
    return [wait.total_seconds() * 1000 for wait in waits]
