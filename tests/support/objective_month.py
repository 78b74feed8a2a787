"""A month of work with outages, and the recount of its objectives over the rows of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import cycle, islice
from typing import Any

import pytest
from django.db import connection

from executions import transitions
from executions.ledger import objectives, usage_days
from executions.ledger.minute_stats import prune
from executions.ledger.objectives import OWN_FAULTS, Answers
from executions.loop.clocks import database_now
from executions.materialize import instants
from executions.materialize.planning import Row
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.transitions import Finish
from tenants.models import Tenant
from tests.executions.leasing import call, let_expire, rescue, take_one, work
from tests.factories import WORKER, daily, make_task, once, prepare, release
from wire.messages import Claimed
from wire.priorities import BAND_NAMES, band_of

_AGES = (
    *(timedelta(minutes=one) for one in (0, 2, 4, 7, 40, 59, 90, 300, 350, 365)),
    *(timedelta(hours=one) for one in (7, 23, 30, 49, 71, 71.9, 73, 200, 500, 718, 721, 900)),
)
_DELAYS = (0.02, 4.999, 5.0, 5.001, 61.0, 0.4, 9.0)
_PRIORITIES = (0, 2, 3, 5, 9)
#: Status, outcome, error code.
_ENDS = (
    ("SUCCEEDED", "SUCCEEDED", ""),
    ("FAILED", "FAILED", "http_status"),
    ("FAILED", "WORKER_LOST", "worker_lost"),
    ("RETRYING", "FAILED", "internal"),
    ("FAILED", "TIMED_OUT", "timeout_total"),
    ("CANCELLED", "CANCELLED", ""),
    ("SUCCEEDED", "SUCCEEDED", ""),
    ("FAILED", "FAILED", "decryption_failed"),
    ("RETRYING", "WORKER_LOST", "worker_lost"),
)
#: Answers of the API, and errors among them.
ANSWERS, ERRORS = 1_234, 3
_LATE_SECONDS = 5.0
#: Each attempt as the history has it, without those of tenants' own workers for the start.
_ATTEMPTS = """
SELECT e.priority, a.number, a.finished_at, a.outcome, a.error_code, e.pool LIKE 'pull.%%',
       extract(epoch FROM a.started_at - a.due_at)::float8
FROM attempts a JOIN executions e ON e.id = a.execution_id
WHERE a.tenant_id = ANY(%s)
"""
_MISSED = """
SELECT e.priority, coalesce(e.span_count, 1) FROM executions e
WHERE e.tenant_id = ANY(%s) AND e.reason LIKE 'misfire_%%' AND e.reason <> 'misfire_replayed'
"""


def make_month(tenant: Tenant, count: int = 60) -> None:
    """Let executions of a month end in each way, and an outage pass."""
    bodies = islice(cycle(_PRIORITIES), count)
    tasks = [make_task(tenant, once(priority=priority)) for priority in bodies]
    prepare()
    found = {row.task_id: row for row in release()}
    rows = [found[task.pk] for task in tasks]
    places = list(zip(rows, cycle(_AGES), cycle(_DELAYS), cycle(_ENDS), strict=False))
    _end(places)
    again = {row.id: row for row in release() if row.tenant_id == tenant.id}
    ends = cycle(reversed(_ENDS[:3]))
    _end([(again[row.id], age / 2, delay, next(ends))
          for row, age, delay, (status, *_) in places if status == "RETRYING"])  # fmt: skip
    _lose_leased(tenant)
    _miss(tenant)
    objectives.add_answers([Answers(tenant.id, ANSWERS - 4, 0), Answers(tenant.id, 4, ERRORS)])


def stop_the_clock(patch: pytest.MonkeyPatch) -> datetime:
    """Let two reads of the objectives be of the same moment, and return it."""
    at = database_now()
    patch.setattr("insight.statistics.objectives.database_now", lambda: at)
    return at


def keep_house() -> None:
    """Roll up and fold as housekeeping does, where minutes are kept for a week."""
    now = database_now()
    prune(usage_days.roll_up(now, now - timedelta(days=7)))
    objectives.fold(now)


def recount(tenants: list[Tenant], begins: datetime) -> dict[tuple[str, str], tuple[int, int]]:
    """Return total and bad by objective and band (empty for all), of the rows since a moment."""
    found: dict[tuple[str, str], list[int]] = {}
    for objective, band, total, bad in _counted(tenants, begins):
        for name in ("", band) if band else ("",):
            sums = found.setdefault((objective, name), [0, 0])
            sums[0] += total
            sums[1] += bad
    return {key: (total, bad) for key, (total, bad) in found.items()}


def _counted(tenants: list[Tenant], begins: datetime) -> Iterator[tuple[str, str, int, int]]:
    for priority, number, ended_at, outcome, code, is_pulled, delay in _ask(_ATTEMPTS, tenants):
        if ended_at < begins:
            continue
        band = BAND_NAMES[band_of(priority)]
        lost = outcome == "WORKER_LOST" and not is_pulled
        broke = outcome == "FAILED" and code in OWN_FAULTS
        yield "success", band, 1, int(lost or broke)
        if number == 1 and not is_pulled:
            yield "start", band, 1, int(round(delay, 6) > _LATE_SECONDS)
    # All of them, and the answers, are of this moment.
    for priority, instants_missed in _ask(_MISSED, tenants):
        yield "success", BAND_NAMES[band_of(priority)], instants_missed, instants_missed
    for _ in tenants:
        yield "api", "", ANSWERS, ERRORS


def _ask(sql: str, tenants: list[Tenant]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [[tenant.pk for tenant in tenants]])
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _end(places: list[tuple[Claimed, timedelta, float, tuple[str, str, str]]]) -> None:
    now = database_now()
    finishes = []
    for row, age, delay, (status, outcome, code) in places:
        ended_at = now - age
        started_at = ended_at - timedelta(milliseconds=40)
        due_at = started_at - timedelta(seconds=delay)
        Execution.objects.filter(pk=row.id).update(due_at=due_at)
        finishes.append(
            Finish(row.id, row.token, row.attempt + 1, status, outcome, worker=WORKER,
                   started_at=started_at, finished_at=ended_at, error_code=code)
        )  # fmt: skip
    assert len(transitions.finish(finishes)) == len(finishes)
    # A report that comes again counts nothing twice.
    assert transitions.finish(finishes) == []


def _lose_leased(tenant: Tenant) -> None:
    """Lose a worker of the tenant's own: no fault of the installation."""
    work(tenant)
    lease = take_one(tenant)
    call(lease.execution_id, "heartbeat", lease.token)
    let_expire(lease.execution_id)
    assert rescue() == 1


def _miss(tenant: Tenant) -> None:
    """Miss a span of instants, one that runs for others, one that is replayed; skip another."""
    task = make_task(tenant, daily(priority=8))
    scheduler = Partitions()
    scheduler.run_once()
    now = database_now()
    at = [now - timedelta(seconds=second) for second in range(6)]
    rows = [
        Row(task.id, at[5], at[5], "SKIPPED", "misfire_skipped", at[4], 7),
        Row(task.id, at[3], at[3], "PENDING", "misfire_coalesced"),
        Row(task.id, at[2], at[2], "PENDING", "misfire_replayed"),
        Row(task.id, at[1], at[1], "SKIPPED", "calendar_excluded"),
    ]
    instants.insert(rows, scheduler.parameters(), now, set())
    scheduler.release_all()
