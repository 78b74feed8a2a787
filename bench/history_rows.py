"""Fills a ledger with history by SQL: millions of finished executions in a number of past days.

One in fifty has failed. Tasks are real ones whose only instant is far ahead, so that nothing of
them runs meanwhile. Used by ``bench.history``; knows the installation's models by ``enter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from bench.members import Member, make_member

_DAY = timedelta(days=1)
_AHEAD = timedelta(days=300)
_BATCH = 500

_EXECUTIONS = """
INSERT INTO {table} (id, tenant_id, task_id, partition, priority, pool, revision, status, reason,
    trigger, scheduled_for, due_at, queued_at, started_at, finished_at, start_delay_ms, attempt,
    max_attempts, lost_count, timeout_seconds, incarnation, worker, held, response_status,
    error_code, error_message)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '8000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
    %(tenant)s, tasks.id, tasks.partition, 5, 'default', 1,
    CASE WHEN n %% 50 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END,
    CASE WHEN n %% 50 = 0 THEN 'attempts_exhausted' ELSE '' END,
    'schedule', at, at, at, at + interval '3 milliseconds', at + interval '80 milliseconds', 3, 1,
    5, 0, 30, '', 'worker-1', false, CASE WHEN n %% 50 = 0 THEN 503 ELSE 200 END,
    CASE WHEN n %% 50 = 0 THEN 'http_status' ELSE '' END,
    CASE WHEN n %% 50 = 0 THEN 'The answer was 503.' ELSE '' END
FROM (
    SELECT n, %(start)s::timestamptz + n * interval '86399 seconds' / %(count)s AS at
    FROM generate_series(0, %(count)s - 1) AS n
) AS r
JOIN (
    SELECT id, partition, row_number() OVER (ORDER BY id) AS number FROM tasks
    WHERE tenant_id = %(tenant)s
) AS tasks ON tasks.number = (r.n::bigint * 7919) %% %(tasks)s + 1
"""
_ATTEMPTS = """
INSERT INTO {table} (id, execution_id, tenant_id, number, fencing_token, worker, due_at,
    started_at, finished_at, outcome, error_code, error_message, response_status, timings)
SELECT id, id, tenant_id, 1, 1, worker, due_at, started_at, finished_at,
    CASE status WHEN 'FAILED' THEN 'FAILED' ELSE 'SUCCEEDED' END, error_code, error_message,
    response_status, '{{"total": 77.0}}'
FROM (
    SELECT *, row_number() OVER (ORDER BY id) AS place FROM executions
    WHERE id >= %(low)s AND id < %(high)s AND tenant_id = %(tenant)s
) AS e
WHERE place %% %(every)s = 0
"""
_MINUTES = """
INSERT INTO minute_stats (tenant_id, minute, succeeded, failed, retried, cancelled, late,
    start_delays)
SELECT %(tenant)s, at, %(count)s * 49 / 50, %(count)s / 50, 0, 0, 0,
    ARRAY[0, 0, %(count)s, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
FROM generate_series(%(start)s::timestamptz, %(end)s::timestamptz - interval '1 minute',
    interval '1 minute') AS at
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much history: rows in all, over ``days`` days before today."""

    rows: int
    days: int
    tasks: int
    #: One execution in this many has an attempt; 1: each, 0: none.
    attempts_every: int


@dataclass(frozen=True, slots=True)
class History:
    """A filled ledger: whose it is, a task of it, and the day that its middle is in."""

    member: Member
    task: UUID
    middle: datetime
    #: Bytes of the day tables with their indexes.
    bytes: int


def fill(wanted: Wanted, executions: str = _EXECUTIONS) -> History:
    """Write the rows, day by day, and let the planner know of them.

    ``executions`` is the statement that makes the rows of a day.
    """
    from django.db import connection

    from executions.loop.clocks import database_now

    member = make_member()
    tasks = _make_tasks(member, wanted.tasks)
    today = database_now().replace(hour=0, minute=0, second=0, microsecond=0)
    per_day = max(1, wanted.rows // wanted.days)
    with connection.cursor() as cursor:
        # A day of millions takes longer than any statement of the product may.
        cursor.execute("SET statement_timeout = 0")
        for ago in range(wanted.days, 0, -1):
            _fill_day(cursor, member, today - ago * _DAY, per_day, wanted, executions)
        span = {"start": today - wanted.days * _DAY, "end": today}
        per_minute: dict[str, Any] = {"tenant": member.tenant_id, "count": per_day // 1440, **span}
        cursor.execute(_MINUTES, per_minute)
        cursor.execute("ANALYZE tasks, task_revisions, minute_stats, executions, attempts")
        size = _size(cursor)
        cursor.execute("RESET statement_timeout")
    return History(member, tasks[len(tasks) // 2], today - wanted.days / 2 * _DAY, size)


def _make_tasks(member: Member, count: int) -> list[UUID]:
    from executions.loop.clocks import database_now
    from shared.actor import COMMAND
    from shared.instants import format_instant
    from tasks.creation import create_tasks
    from tasks.limits import current_limits
    from tasks.validation.bodies import parse_create

    now, limits = database_now(), current_limits()
    bodies = [
        {
            "name": f"Report {number}",
            "schedule": {"run_at": format_instant(now + _AHEAD)},
            "target": {"url": "https://api.example.com/reports"},
            "payload": {"report": number},
            "labels": {"team": f"team-{number % 20}"},
        }
        for number in range(count)
    ]
    for begin in range(0, count, _BATCH):
        part = bodies[begin : begin + _BATCH]
        definitions = [parse_create(body, now=now, limits=limits) for body in part]
        create_tasks(member.tenant_id, definitions, actor=COMMAND, now=now)
    from tasks.models import Task

    found = Task.objects.filter(tenant_id=member.tenant_id).order_by("id")
    return list(found.values_list("id", flat=True))


def _fill_day(
    cursor: Any, member: Member, day: datetime, count: int, wanted: Wanted, executions: str
) -> None:
    from shared.ids import first_id_at

    values = {
        "tenant": member.tenant_id,
        "start": day,
        "count": count,
        "tasks": wanted.tasks,
        "low": first_id_at(day),
        "high": first_id_at(day + _DAY),
        "every": wanted.attempts_every,
    }
    _fill_table(cursor, "executions", day, executions, values)
    if wanted.attempts_every:
        _fill_table(cursor, "attempts", day, _ATTEMPTS, values)
    else:
        _fill_table(cursor, "attempts", day, "", values)
    _fill_table(cursor, "events", day, "", values)


def _fill_table(cursor: Any, parent: str, day: datetime, text: str, values: dict[str, Any]) -> None:
    """Fill a day before it is attached: indexes are made at once, not row by row."""
    from executions.ledger.days import parent_of

    table, whole = f"{parent}_{day:%Y%m%d}", parent_of(parent)
    cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [table])
    there = cursor.fetchone()[0]
    if not there:
        cursor.execute(
            f"CREATE TABLE {table} (LIKE {whole} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
        )
    if text:
        cursor.execute(text.format(table=table), values)
    if not there:
        bounds = f"FROM ('{values['low']}') TO ('{values['high']}')"
        cursor.execute(f"ALTER TABLE {whole} ATTACH PARTITION {table} FOR VALUES {bounds}")


def _size(cursor: Any) -> int:
    cursor.execute(
        "SELECT coalesce(sum(pg_total_relation_size(i.inhrelid)), 0) FROM pg_inherits i"
        " WHERE i.inhparent IN ('ended_executions'::regclass, 'attempts'::regclass)"
    )
    return int(cursor.fetchone()[0])
