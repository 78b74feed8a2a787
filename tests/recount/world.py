"""An installation with something of every kind in it, for the pages to count.

Everything is made by the product's own steps; only times are moved, before a step that counts
them. No time lies so near to now that a count changes while a page is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from executions.changes import changing
from executions.changes.pauses import Wanted, create_pause
from executions.dead_letters import letters as dead_letters
from executions.destinations import limits as destinations
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution, SchedulerNode
from executions.ownership.partitions import Partitions
from shared.redis_client import WORKERS_KEY, client
from shared.sql import run
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.executions.leasing import take, work
from tests.factories import ACTOR, daily, finish, make_task, once, prepare, release, start
from tests.support.recorder import ask_for_outcomes
from tests.support.scripts import Moved
from wire import heartbeats
from wire.destination_key import key_of

BUSY, CALM, QUIET = "busy.example.com", "calm.example.com", "quiet.example.com"
#: Calls of the last minute to each host, and how many of them failed.
CALLS = {BUSY: (20, 15), CALM: (8, 2)}
#: Starts that each schedule has in 60 consecutive minutes.
HOURLY = {"* * * * *": 60, "*/10 * * * *": 6, "30 * * * * *": 60}


def ask(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return what the database answers."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found


def one(sql: str, *parameters: Any) -> Any:
    """Return the single value that the database answers."""
    [[value]] = ask(sql, *parameters)
    return value


def make_work(*tenants: Tenant) -> None:
    """Give each tenant work of each state, ended runs of more than an hour, and dead letters.

    The second has twice as much of all as the first, and so on.
    """
    several = [tenant for times, tenant in enumerate(tenants, start=1) for _ in range(times)]
    for tenant in several:
        _ended_runs(tenant)
        _dead_letters(tenant)
        _in_hand(tenant)
    # Only now: what waits would be released with the others.
    for tenant in several:
        _waiting(tenant)
    for tenant in tenants:
        _held(tenant)
        limits = {"max_in_flight": 4, "rate_per_second": 2.5}
        destinations.change_limits(tenant.pk, CALM, limits, actor=ACTOR)
    call_hosts(*tenants)


def call_hosts(*tenants: Tenant) -> None:
    """Report the calls of the last minute to Redis."""
    for tenant in tenants:
        for host, (calls, failures) in CALLS.items():
            redis = Moved()
            redis.at = int(client().time()[0] * 1000 - redis.now)
            redis.report(calls, failures, destination=key_of(tenant.id, host))


def make_schedules(*tenants: Tenant) -> None:
    """Schedule what comes; last of all, so that nothing is prepared that soon comes due."""
    for times, tenant in enumerate(tenants, start=1):
        for _ in range(times):
            _coming(tenant)


def make_fleet(*tenants: Tenant) -> None:
    """Start schedulers, workers and a recorder, with history; a pull worker for each tenant."""
    for place, tenant in enumerate(tenants):
        work(tenant, 3 + place)
        take(tenant, 2 + place, worker="puller")
    Partitions().run_once()
    # As a worker below, a scheduler lives on while pages are shown.
    SchedulerNode.objects.update(lease_expires_at=database_now() + timedelta(hours=1))
    moved = database_now() - timedelta(seconds=30)
    Execution.objects.filter(pool="pull.batch").update(due_at=moved)
    _history()
    hear_fleet(*tenants)


def hear_fleet(*tenants: Tenant) -> None:
    """Let workers and a recorder tell Redis of themselves."""
    for place, tenant in enumerate(tenants):
        heartbeats.beat(
            f"puller{place}",
            {
                "pool": "pull.batch",
                "tenant": str(tenant.pk),
                "name": "puller",
                "slots": 20,
                "patience": 600,
            },
        )
    for name, details in (
        ("slow", {"slots": 40, "running": 7, "held": 3, "cpu_percent": 12.4}),
        ("quick", {"slots": 8, "running": 8, "held": 0, "memory_bytes": 64 * 2**20}),
        ("leaving", {"slots": 5, "running": 2, "held": 1, "draining": True}),
        ("lost", {"slots": 99, "running": 50, "held": 9}),
    ):
        # They are heard of once only, and live on while pages are shown.
        patient = {} if name == "lost" else {"patience": 600}
        known: Any = {"name": name, "host": "host", "pid": 4711, **patient, **details}
        heartbeats.beat(f"{name}@host:1", known)
    now = client().time()[0]
    client().zadd(WORKERS_KEY, {"lost@host:1": now - 600, "slow@host:1": now - 3})
    ask_for_outcomes("recorder@host")


def _history() -> None:
    """Write minutes of a worker: some of the last 6 hours, some of days ago, and their hours."""
    minute = database_now().replace(second=0, microsecond=0)
    for back, ended in ((1, 13), (2, 26), (3, 25), (90, 19), (400, 5), (3000, 77), (3001, None)):
        ask_nothing(
            "INSERT INTO worker_minutes (worker, minute, pool, host, version, slots, running, held,"
            " cpu_percent, memory_bytes, ended, ended_in_minute)"
            " VALUES ('slow@host:1', %s, 'default', 'host', '', 40, %s, %s, %s, %s, %s, %s)",
            minute - timedelta(minutes=back),
            *(back % 9, back % 4, 10.0 + back % 7, 32 * 2**20, 10_000 - back, ended),
        )
    run("workers/roll_up", {"now": database_now()})


def ask_nothing(sql: str, *parameters: Any) -> None:
    """Run a statement that answers nothing."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def _claim(tenant: Tenant, count: int, host: str = BUSY, **parts: Any) -> list[Any]:
    """Return as many released executions of new one-time tasks that call the host."""
    target = {"url": f"https://{host}/hook", "timeout_seconds": 30}
    tasks = [make_task(tenant, once(target=target, **parts)) for _ in range(count)]
    prepare()
    wanted = {task.pk: place for place, task in enumerate(tasks)}
    found = [row for row in release() if row.task_id in wanted]
    assert len(found) == count
    return sorted(found, key=lambda row: wanted[row.task_id])


def _end(row: Any, minutes_ago: float, status: str, delay_ms: float, **parts: Any) -> None:
    """End an attempt some minutes ago that had started so late, and took 40 ms."""
    finished = database_now() - timedelta(minutes=minutes_ago)
    started = finished - timedelta(milliseconds=40)
    due = started - timedelta(milliseconds=delay_ms)
    Execution.objects.filter(pk=row.id).update(due_at=due)
    finish(row, status, started_at=started, finished_at=finished, **parts)


def _ended_runs(tenant: Tenant) -> None:
    """End runs within the hour and before it, late ones, retried ones and a cancelled one."""
    delays = (0.4, 3, 12, 88.9, 88.9, 340, 700, 1_500, 12_000, 95_000)
    ago = (0, 1, 5, 5, 5, 17, 30, 44, 58, 58)
    rows = _claim(tenant, 14)
    for row, minutes, delay in zip(rows, ago, delays, strict=False):
        _end(row, minutes, "SUCCEEDED", delay)
    for row, long_ago in zip(rows[10:12], (61.5, 130.0), strict=True):
        _end(row, long_ago, "SUCCEEDED", 60_000)
    _end(rows[12], 20, "CANCELLED", 5)
    _end(rows[13], 9, "RETRYING", 5, retry_in=0.0)
    again = next(row for row in release() if row.id == rows[13].id)
    _end(again, 8, "SUCCEEDED", 5)


def _dead_letters(tenant: Tenant) -> None:
    """Fail for good of two causes, some hours ago; resolve and archive some of them."""
    shared = _claim(tenant, 3, CALM, name="Fails")
    other = _claim(tenant, 5, BUSY, name="Fails otherwise")
    for hours, row in enumerate(shared):
        _end(row, 2 + 60 * hours, "FAILED", 7, reason="attempts_exhausted")
    for row in other:
        _end(row, 3, "FAILED", 2_000, reason="attempts_exhausted", error_code="timeout",
             response_status=None)  # fmt: skip
    letters = {one.execution_id: one for one in DeadLetter.objects.for_tenant(tenant.pk)}
    for hours, row in enumerate(shared):
        DeadLetter.objects.filter(execution_id=row.id).update(
            created_at=database_now() - timedelta(hours=hours, minutes=2)
        )
    fixed, archived = (letters[row.id].pk for row in other[:2])
    dead_letters.resolve_dead_letter(tenant.pk, fixed, resolution="fixed", note="", actor=ACTOR)
    dead_letters.archive_dead_letter(tenant.pk, archived, note="", actor=ACTOR)


def _in_hand(tenant: Tenant) -> None:
    """Leave work queued, running and retrying."""
    rows = _claim(tenant, 6, BUSY, name="Runs")
    start(rows[:3])
    _back(rows[3:5], 90)
    calm = _claim(tenant, 2, CALM, name="Runs at the other")
    start(calm[:1])
    for row in [*rows[5:], *calm[1:]]:
        _end(row, 4, "RETRYING", 5, retry_in=900.0)
    Execution.objects.filter(pk=rows[5].id).update(parked=True)


def _waiting(tenant: Tenant) -> None:
    """Leave work due, parked and yet to come."""
    for seconds, parts in ((40, {}), (70, {}), (25, {"parked": True}), (-900, {"parked": True})):
        waiting = make_task(tenant, once(target={"url": f"https://{BUSY}/"}))
        prepare()
        moved = database_now() - timedelta(seconds=seconds)
        Execution.objects.filter(task_id=waiting.pk).update(due_at=moved, **parts)
    make_task(tenant, once(at=database_now() + timedelta(minutes=20)))


def _back(rows: Sequence[Any], seconds: float) -> None:
    ids = [row.id for row in rows]
    moved = database_now() - timedelta(seconds=seconds)
    Execution.objects.filter(pk__in=ids).update(due_at=moved)


def _coming(tenant: Tenant) -> None:
    """Schedule what fires within the hour and what does not, and pause some of it."""
    for expression in HOURLY:
        for name in ("Fires", "Is paused"):
            body = daily(name=name, schedule={"cron_expression": expression})
            body["target"] = {"url": f"https://{QUIET}/"}
            made = make_task(tenant, body)
            if name == "Is paused":
                changing.pause_task(tenant.pk, made.pk, Pause(), actor=ACTOR)
    make_task(tenant, daily(schedule={"cron_expression": "0 0 1 1 *"}))
    gone = make_task(tenant, daily(target={"url": f"https://{QUIET}/"}))
    changing.delete_task(tenant.pk, gone.pk, actor=ACTOR)
    ended = make_task(tenant, daily(target={"url": f"https://{QUIET}/"}))
    changing.cancel_task(tenant.pk, ended.pk, actor=ACTOR)


def _held(tenant: Tenant) -> None:
    """Hold due work by a standing pause of a label."""
    held = make_task(tenant, once(name="Held", labels={"on": "hold"}))
    prepare()
    moved = database_now() - timedelta(seconds=55)
    Execution.objects.filter(task_id=held.pk).update(due_at=moved)
    create_pause(tenant.pk, Wanted("label", "on:hold"), actor=ACTOR)


def tasks_of(tenant_id: UUID, *statuses: str) -> int:
    """Return how many tasks of the tenant are in one of the states."""
    found = Task.objects.filter(tenant_id=tenant_id, status__in=statuses, deleted_at=None)
    return len(list(found.values_list("pk", flat=True)))


def minute_of(moment: datetime) -> datetime:
    """Return the minute in which the moment lies."""
    return moment.replace(second=0, microsecond=0)
