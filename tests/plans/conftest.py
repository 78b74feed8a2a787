"""A ledger of 400 days, and the plans of the statements that the stages really run on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from psycopg import Cursor

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from shared.conf import conf
from shared.ids import first_id_at
from shared.sql import load, rows
from tests.factories import make_tenant
from tests.support import vacuuming
from tests.support.emptying import empty

DAYS = 400
#: Rows of a day long past, and of each of the last two.
_FEW, _MANY = 20, 6000
_DAY = timedelta(days=1)
_CHUNK = 50
_PARTITIONED = ("executions", "attempts")
#: Today, those made ahead, and in a day's first hour, where the last hour is asked for, yesterday.
_FEW_DAYS = 2 + conf().partition_days_ahead
#: Tables in which work waits.
_WAITING = ("open_executions", "tasks")
#: What the ledger is filled with and counted, and what is in the tables from the beginning.
_COUNTED = ("tasks", "task_cursors", "task_revisions")
_SEEDED = ("auth_permission", "django_content_type", "django_migrations", "partition_leases")


@dataclass
class Plan:
    """What PostgreSQL would do: the tables it would touch, those it would read whole, by what."""

    statement: str
    touched: set[str] = field(default_factory=set)
    indexes: set[str] = field(default_factory=set)
    read_whole: set[str] = field(default_factory=set)
    #: Read for a sort of what was found in them.
    sorted: set[str] = field(default_factory=set)

    def add(self, node: dict[str, Any], below_sort: bool = False) -> None:
        # A sort reads all of what is below it, up to another part of the statement and to a limit.
        ends = "Subplan Name" in node or node["Node Type"] == "Limit"
        below_sort = node["Node Type"] == "Sort" or (below_sort and not ends)
        if index := node.get("Index Name"):
            self.indexes.add(index)
        table = node.get("Relation Name")
        if table:
            self.touched.add(table)
            if node["Node Type"] == "Seq Scan":
                self.read_whole.add(table)
            if below_sort:
                self.sorted.add(table)
        for child in node.get("Plans", []):
            self.add(child, below_sort)

    def large_read_whole(self) -> set[str]:
        """Which of the tables that it would read whole hold more than a thousand rows."""
        return {table for table in self.read_whole if _is_large(table)}

    def days(self, parent: str) -> set[str]:
        return {table for table in self.touched if table.startswith(f"{parent}_2")}


class Plans:
    """The plans of the named statements that ran."""

    def __init__(self) -> None:
        self.found: dict[str, list[Plan]] = {}
        self._names = {
            text: f"{stage}/{name}"
            for stage in (
                "transitions",
                "backfill",
                "materialize",
                "dispatch",
                "shares",
                "gate",
                "keys",
                "rescue",
                "complete",
                "callback",
                "pull",
                "changing",
                "pausing",
                "statistics",
                "stored",
                "occurrences",
                "explain",
                "destinations",
                "workflow_ends",
                "metric_reads",
                "installation_reads",
                "objectives",
                "objective_reads",
                "totals",
                "doctor",
                "workflow_limits",
                "workflow_deadlocks",
                "time_checks",
                "timing_targets",
                "alert_rules",
                "maintenance_windows",
                "month_reads",
                "task_reads",
            )
            for name, text in load(stage).items()
            # What sets how the next statement is planned has no plan itself.
            if not name.startswith("plan_")
        }

    def explain(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        name = self._names.get(sql)
        if name:
            with Cursor(context["connection"].connection) as cursor:
                cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params)
                [(answer,)] = cursor.fetchall()
            plan = Plan(name)
            parsed = orjson.loads(answer) if isinstance(answer, str | bytes) else answer
            plan.add(parsed[0]["Plan"])
            self.found.setdefault(name, []).append(plan)
        return execute(sql, params, many, context)

    def check(self, *names: str) -> None:
        """Assert of each statement that it ran, reads no large table whole, touches few days."""
        for name in names:
            assert name in self.found, f"{name} did not run"
            for plan in self.found[name]:
                large = plan.large_read_whole()
                assert not large, f"{name} reads {large} from end to end"
                for parent in _PARTITIONED:
                    days = plan.days(parent)
                    assert len(days) <= _FEW_DAYS, f"{name} touches {len(days)} days of {parent}"

    def check_within(self, indexes: set[str], *names: str) -> None:
        """Assert of each statement that it ran, and goes by no other index."""
        for name in names:
            assert name in self.found, f"{name} did not run"
            for plan in self.found[name]:
                assert plan.indexes <= indexes, f"{name} goes by {plan.indexes - indexes}"

    def check_in_order(self, *names: str) -> None:
        """Assert of each statement that it ran, and sorts nothing that waits to find its first."""
        for name in names:
            assert name in self.found, f"{name} did not run"
            for plan in self.found[name]:
                waiting = plan.sorted.intersection(_WAITING)
                assert not waiting, f"{name} sorts {waiting}"


def _is_large(table: str) -> bool:
    with connection.cursor() as cursor:
        # What an analysis has counted stays when the rows of its test are rolled back.
        cursor.execute(
            "SELECT reltuples > 1000 AND EXISTS (SELECT FROM"
            f" {table} OFFSET 1000) FROM pg_class WHERE relname = %s",
            [table],
        )
        return bool(cursor.fetchone()[0])


#: Counted tables and those of some pages, to which no other refers; of the ledger the open part.
_WORN = """
SELECT relname FROM pg_class c
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
  AND (NOT relispartition OR relname = ANY (%s)) AND relname != ALL (%s)
  AND (reltuples >= 0 OR pg_relation_size(oid) > 8 * current_setting('block_size')::bigint)
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = c.oid)
  -- What may not be emptied is only appended to.
  AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND tgtype & 32 != 0)
ORDER BY relname
"""


@pytest.fixture(autouse=True)
def as_new(db: None) -> None:
    """Give the test tables and indexes that earlier tests have neither filled nor counted.

    The rows of a test that was rolled back stay in the indexes until a vacuum, and what an analysis
    counted stays in the catalogue: plans would go by what happens to have run before. A table that
    is emptied in the test's transaction has new files, and the old ones return with its end.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WORN, [list(_WAITING), [*_COUNTED, *_SEEDED]])
        if names := [name for (name,) in cursor.fetchall()]:
            cursor.execute(f"TRUNCATE {', '.join(names)}")


@pytest.fixture
def plans(db: None) -> Callable[[], Any]:
    """Gather the plans of what runs within ``with plans() as found``."""

    @contextmanager
    def gather() -> Iterator[Plans]:
        found = Plans()
        with connection.execute_wrapper(found.explain):
            yield found

    return gather


@pytest.fixture(scope="package", autouse=True)
def full_ledger(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Fill the days; commit, since one transaction cannot hold the locks of so many tables."""
    with django_db_blocker.unblock():
        now = database_now()
        days = [now - ago * _DAY for ago in range(DAYS)]
        present = {row[0] for row in rows("prune/existing_days", {"parent": "ended_executions"})}
        made = [day for day in days if f"executions_{day:%Y%m%d}" not in present]
        tenant = make_tenant("Full")
        try:
            _in_chunks(made, _create)
            _fill(tenant.id, days)
            with vacuuming.held():
                yield
        finally:
            _in_chunks(made, _drop)
            empty()
            connection.close()


def _in_chunks(days: list[datetime], work: Callable[[Any, str, datetime], None]) -> None:
    for start in range(0, len(days), _CHUNK):
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            for day in days[start : start + _CHUNK]:
                for parent in _PARTITIONED:
                    work(cursor, parent, day)
            cursor.execute("COMMIT")


def _create(cursor: Any, parent: str, day: datetime) -> None:
    midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
    cursor.execute(
        f"CREATE TABLE {parent}_{day:%Y%m%d} PARTITION OF {ledger.parent_of(parent)} FOR"
        f" VALUES FROM ('{first_id_at(midnight)}') TO ('{first_id_at(midnight + _DAY)}')"
    )


def _drop(cursor: Any, parent: str, day: datetime) -> None:
    cursor.execute(f"DROP TABLE {parent}_{day:%Y%m%d}")


_TASKS = """
INSERT INTO tasks (id, tenant_id, name, type, status, version, partition, priority, schedule,
    labels, pause_note, on_resume, last_execution_status)
SELECT uuidv7(), %(tenant)s, 'task', 'RECURRING', 'SCHEDULED', 1, n %% 256, 5,
    '{"every": "PT1H"}', '{}', '', 'skip', ''
FROM generate_series(1, 30000) AS n
"""
_CURSORS = """
INSERT INTO task_cursors (task_id, tenant_id, partition, next_run_at, occurrence_count, held)
SELECT id, tenant_id, partition, now() + (60 + row_number() OVER ()) * interval '1 minute', 0, false
FROM tasks WHERE tenant_id = %(tenant)s
"""
_REVISIONS = """
INSERT INTO task_revisions (task_id, version, definition, sealed, changed_by)
SELECT id, 1, '{}', '', 'test' FROM tasks WHERE tenant_id = %(tenant)s
"""
_EXECUTIONS = """
INSERT INTO executions (id, tenant_id, task_id, partition, priority, pool, revision, status, reason,
    trigger, scheduled_for, due_at, finished_at, attempt, max_attempts, lost_count,
    timeout_seconds, incarnation, worker, held, error_code, error_message)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '8000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
    %(tenant)s, tasks.id, tasks.partition, 5, 'default', 1, 'SUCCEEDED', '', 'schedule',
    at, at, at, 1, 5, 0, 30, '', 'w', false, '', ''
FROM (
    SELECT n, %(start)s::timestamptz + (n %% 600) * interval '1 second' AS at
    FROM generate_series(1, %(count)s) AS n
) AS r
JOIN (
    SELECT id, partition, row_number() OVER () AS number FROM tasks
    WHERE tenant_id = %(tenant)s
) AS tasks ON tasks.number = r.n %% 5000 + 1
"""
_ATTEMPTS = """
INSERT INTO attempts (id, execution_id, tenant_id, number, fencing_token, worker, outcome,
    error_code, error_message, timings)
SELECT id, id, tenant_id, 1, 1, 'w', 'SUCCEEDED', '', '', '{}' FROM executions
WHERE tenant_id = %(tenant)s
"""


_FORGET_COUNTS = """
SELECT pg_clear_relation_stats('public', relname::text) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


def _fill(tenant: Any, days: list[datetime]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_COUNTS)
        # In the gaps that rolled back rows have left, rows would lie in no order of their ids.
        cursor.execute(f"TRUNCATE {', '.join(_recent(days))}")
        cursor.execute(_TASKS, {"tenant": tenant})
        cursor.execute(_CURSORS, {"tenant": tenant})
        cursor.execute(_REVISIONS, {"tenant": tenant})
        for ago, day in enumerate(days):
            start = day.replace(hour=0, minute=0, second=0, microsecond=0)
            count = _MANY if ago < 2 else _FEW
            cursor.execute(_EXECUTIONS, {"tenant": tenant, "start": start, "count": count})
        cursor.execute(_ATTEMPTS, {"tenant": tenant})
        for table in (*_COUNTED, *_recent(days)):
            cursor.execute(f"ANALYZE {table}")


def _recent(days: list[datetime]) -> list[str]:
    return [f"{parent}_{day:%Y%m%d}" for parent in _PARTITIONED for day in days[:2]]
