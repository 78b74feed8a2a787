"""The truth table of what has not started: each situation, and the alerts that it opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executions.external.pools import change_pool
from executions.models import MinuteStat, SchedulerNode
from shared.ids import new_id
from tenants.models import Tenant
from tests.executions.changes.changes import pause
from tests.executions.leasing import POOL
from tests.factories import ACTOR, daily, make_execution, once
from tests.notifications.time_checks.world import (
    LATE,
    MINUTE,
    NONE,
    ago,
    beat_of,
    both,
    due,
    judged,
    pulled,
    rule,
    unprepared,
)
from tests.support.beats import silence
from tests.support.calendars import make_calendar, under
from tests.support.limits_world import limit

pytestmark = pytest.mark.django_db

Situation = Callable[[Tenant], Any]


def excluded(tenant: Tenant, *days: int) -> None:
    dates = [f"{ago(86_400 * day):%Y-%m-%d}" for day in days]
    make_calendar(tenant, dates=dates)
    unprepared(tenant, 90, under("Holidays", cron="* * * * *"))


def waits_for_another(tenant: Tenant) -> None:
    first = make_execution(tenant, "RUNNING")
    unprepared(tenant, 90, once(depends_on=[str(first.task_id)]))


def let_dispatch() -> None:
    SchedulerNode.objects.create(id=new_id(), name="s1", pid=1)


def kill_schedulers(tenant: Tenant) -> None:
    SchedulerNode.objects.update(heartbeat_at=ago(60))


def beside(tenant: Tenant, status: str, **limits: int) -> None:
    """Make overdue work of a tenant with limits, beside another execution of it."""
    limit(tenant, **limits)
    make_execution(tenant, status)
    due(tenant, 25)
    let_dispatch()


def worked(tenant: Tenant, attempts: int, milliseconds: int, **limits: int) -> None:
    """Make overdue work of a tenant with limits whose attempts have just ended, all of them."""
    limit(tenant, **limits)
    for before in (0, 60):
        minute = ago(before).replace(second=0, microsecond=0)
        MinuteStat.objects.create(
            tenant_id=tenant.id,
            minute=minute,
            start_delays=[],
            attempts=attempts,
            execution_ms=attempts * milliseconds,
        )
    due(tenant, 25)
    let_dispatch()


def without_no_worker(tenant: Tenant) -> None:
    rule(tenant, "no_worker", built_in=True, enabled=False)


def paused_pool(tenant: Tenant) -> None:
    pulled(tenant, 90, targets=MINUTE)
    change_pool(tenant.id, POOL, {"paused": True}, actor=ACTOR)


SITUATIONS: dict[str, tuple[Situation, list[str]]] = {
    "an instant that no scheduler has prepared": (lambda t: unprepared(t, 25), LATE),
    "such an instant within the window": (lambda t: unprepared(t, 15), []),
    "the same with a target, 15 s beyond it": (lambda t: unprepared(t, 80, targets=MINUTE), LATE),
    "the same with a target, less beyond": (lambda t: unprepared(t, 70, targets=MINUTE), []),
    "the same with a short target": (
        lambda t: unprepared(t, 18, targets={"start_within_seconds": 1}),
        LATE,
    ),
    "of a task made, changed or resumed a moment ago": (
        lambda t: unprepared(t, 3600, changed=15),
        [],
    ),
    "of one that was so longer ago": (lambda t: unprepared(t, 3600, changed=25), LATE),
    "prepared work of a task changed a moment ago": (lambda t: due(t, 3600, changed=15), []),
    "of a paused task": (lambda t: pause(unprepared(t, 90)), []),
    "of a task that waits for another": (waits_for_another, []),
    "before its jitter is over": (
        lambda t: unprepared(
            t, 25, daily(schedule={"cron_expression": "0 8 * * *", "jitter_seconds": 60})
        ),
        [],
    ),
    "on a day off": (lambda t: excluded(t, -1, 0, 1), []),
    "on no day off": (lambda t: excluded(t, 30), LATE),
    "prepared work that no worker has taken": (lambda t: due(t, 25), LATE),
    "the same within its target": (lambda t: due(t, 70, body=once(targets=MINUTE)), []),
    "prepared work within the window": (lambda t: due(t, 15), []),
    "handed out and not started": (lambda t: due(t, 25, "QUEUED", queued_at=ago(25)), LATE),
    "handed out a moment ago": (lambda t: due(t, 3600, "QUEUED", queued_at=ago(15)), []),
    "started": (lambda t: due(t, 25, "RUNNING"), []),
    "on hold": (lambda t: due(t, 90, held=True), []),
    "waiting for its destination": (lambda t: due(t, 90, parked=True), []),
    "at the limit of its tenant in flight": (
        lambda t: beside(t, "RUNNING", executions_in_flight=1),
        [],
    ),
    "with half of it taken": (lambda t: beside(t, "QUEUED", executions_in_flight=2), []),
    "below that": (lambda t: beside(t, "RUNNING", executions_in_flight=3), LATE),
    # A look between two short executions finds all places empty.
    "at the limit between one execution and the next": (
        lambda t: worked(t, 600, 1, executions_in_flight=1),
        [],
    ),
    "at a limit of many that are short": (
        lambda t: worked(t, 6000, 1, executions_in_flight=20),
        [],
    ),
    "at the limit between two long ones": (
        lambda t: worked(t, 1, 30_000, executions_in_flight=1),
        [],
    ),
    "at a limit of many that is far away": (
        lambda t: worked(t, 60, 100, executions_in_flight=20),
        LATE,
    ),
    "at a limit with every scheduler dead": (
        both(lambda t: worked(t, 600, 1, executions_in_flight=1), kill_schedulers),
        LATE,
    ),
    "at a limit while nothing ends": (lambda t: worked(t, 0, 0, executions_in_flight=1), LATE),
    "at the rate of its tenant": (lambda t: beside(t, "QUEUED", executions_per_second=1), []),
    "asked for by a person": (lambda t: due(t, 90, trigger="manual"), []),
    "a retry": (lambda t: due(t, 90, attempt=1), []),
    "for a tenant's own workers": (lambda t: pulled(t, 25), []),
    "for them, with a target": (both(beat_of, lambda t: pulled(t, 80, targets=MINUTE)), LATE),
    "of a pool without a worker": (lambda t: due(t, 70, pool="gpu"), NONE),
    "the same for a retry": (lambda t: due(t, 70, pool="gpu", attempt=1), NONE),
    "of such a pool where no rule is about workers": (
        both(without_no_worker, lambda t: due(t, 70, pool="gpu")),
        LATE,
    ),
    "the same for a retry there": (
        both(without_no_worker, lambda t: due(t, 70, pool="gpu", attempt=1)),
        [],
    ),
    "of such a pool within the window": (lambda t: due(t, 50, pool="gpu"), []),
    "of a pool whose worker is lost": (
        both(lambda t: silence("w1", 3600), lambda t: due(t, 70)),
        NONE,
    ),
    "of an own pool without a worker": (lambda t: pulled(t, 70), NONE),
    "of an own pool with one": (both(beat_of, lambda t: pulled(t, 70)), []),
    "of a paused pool without a worker": (paused_pool, []),
    "of a workflow that no scheduler begins": (lambda t: due(t, 70, pool="workflow"), LATE),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_alert_opens_where_something_is_overdue_and_nowhere_else(alpha: Tenant, situation: str):
    make, expected = SITUATIONS[situation]
    make(alpha)

    assert judged(alpha) == expected
