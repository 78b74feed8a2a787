"""A day that has just begun has no statistics: batches are no slower for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from psycopg import Cursor

from executions import transitions
from executions.complete import progress
from executions.complete.outcome_reports import Progress
from executions.loop.clocks import database_now
from executions.loop.lower_bounds import NEVER
from executions.transitions import Finish
from shared.conf import conf
from shared.instants import format_instant
from shared.sql import json_value, statement
from tasks.models import TaskCursor
from tenants.models import Tenant
from tests.factories import daily, make_task, once, prepare, release
from tests.support.counted_rows import count_as_empty
from wire.messages import Claimed

pytestmark = pytest.mark.django_db

_COUNT = 150
_AHEAD = timedelta(minutes=10)
_STATEMENTS = {
    statement(path): path
    for path in (
        "materialize/take_plain",
        "materialize/lock_due_tasks",
        "materialize/insert_open",
        "materialize/take_cursors",
        "materialize/advance_cursors",
        "dispatch/claim_due",
        "complete/start",
        "complete/finish",
        "complete/lock_tasks",
        "transitions/settle",
        "complete/note_last_runs",
        "transitions/count_failures",
    )
}
_BY_TOKEN = {
    statement(path): path
    for path in (
        "complete/start",
        "complete/note_progress",
        "complete/hand_back",
        "complete/defer",
        "complete/cancel",
        "callback/accept",
    )
}


class Compared:
    """How many pairs of rows each statement has compared and dropped, and how it was planned."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}
        self.loops: dict[str, str] = {}
        self.indexes: dict[str, set[str]] = {}

    def explain(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        path = (_STATEMENTS | _BY_TOKEN).get(sql)
        if path is not None:
            session = context["connection"].connection
            with transaction.atomic(), Cursor(session) as cursor:
                cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + sql, params)
                [(answer,)] = cursor.fetchall()
                [(self.loops[path],)] = cursor.execute("SHOW enable_nestloop").fetchall()
                transaction.set_rollback(True)
            parsed = json_value(answer)
            self.indexes[path] = indexes(parsed[0]["Plan"])
            self.of[path] = max(self.of.get(path, 0), _dropped(parsed[0]["Plan"]))
        return execute(sql, params, many, context)


def _dropped(node: dict[str, Any]) -> int:
    own = node.get("Rows Removed by Join Filter", 0) * node["Actual Loops"]
    return int(own) + sum(_dropped(child) for child in node.get("Plans", []))


@contextmanager
def compared() -> Iterator[Compared]:
    found = Compared()
    with connection.execute_wrapper(found.explain):
        yield found


def believe(rows: int, pages: int) -> None:
    """Tell the planner so of every table, whatever an earlier test or a vacuum left behind."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace)"
        )
        cursor.execute(
            "UPDATE pg_class SET reltuples = %s, relpages = %s"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
            [rows, pages],
        )


def leave_pages_behind() -> None:
    """Let the cursors have been many more: their table and its indexes stay that long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO task_cursors"
            " (task_id, tenant_id, partition, next_run_at, occurrence_count, held)"
            " SELECT gen_random_uuid(), gen_random_uuid(), 0, now() + i * interval '1 h', 0, true"
            " FROM generate_series(1, 20000) AS i"
        )
        cursor.execute("DELETE FROM task_cursors WHERE held")


def succeeded(row: Claimed) -> Finish:
    now = database_now()
    return Finish(
        row.id,
        row.token,
        row.attempt + 1,
        "SUCCEEDED",
        "SUCCEEDED",
        started_at=now,
        finished_at=now,
    )


@pytest.fixture(autouse=True)
def _far_horizon(settings: Any) -> None:
    """Prepare minutes ahead: work that is late when it is prepared would start spread in time."""
    settings.PUNCTUAL = replace(conf(), horizon_seconds=2 * _AHEAD.total_seconds())


def make_tasks(tenant: Tenant) -> None:
    at = database_now() + _AHEAD
    for number in range(_COUNT):
        make_task(tenant, once(at, name=str(number)))


def make_series(tenant: Tenant) -> None:
    at = format_instant(database_now() + _AHEAD)
    for number in range(_COUNT):
        make_task(tenant, daily(name=str(number), schedule={"every": "PT1H", "start_at": at}))


def release_all() -> list[Claimed]:
    return release(window_seconds=2 * _AHEAD.total_seconds())


@pytest.mark.parametrize(
    "table",
    [None, "tasks", "task_cursors", "task_revisions", "partition_leases", "open_executions"],
)
def test_no_batch_compares_its_rows_with_each_of_the_day(alpha: Tenant, table: str | None):
    leave_pages_behind()
    believe(-1, 0)
    if table is not None:
        count_as_empty(table)
    make_tasks(alpha)
    # As those are that something may decide about.
    TaskCursor.objects.update(execution_id=None)

    with compared() as found:
        prepare()
        claimed = release_all()
        assert len(claimed) == _COUNT
        half = claimed[: _COUNT // 2]
        now = database_now()
        transitions.mark_running([(row.id, row.token, "w", now) for row in half])
        assert len(transitions.finish([succeeded(row) for row in claimed])) == _COUNT
        make_series(alpha)
        make_tasks(alpha)
        prepare()
        others = release_all()
        assert len(transitions.finish([succeeded(row) for row in others])) == 2 * _COUNT

    assert set(found.of) == set(_STATEMENTS.values())
    # Each with each would be more than ten thousand.
    assert not {path: count for path, count in found.of.items() if count > _COUNT}


@pytest.mark.parametrize("path", sorted(_BY_TOKEN.values()))
def test_no_statistics_make_a_batch_read_all_that_is_leased_or_compare_each(
    alpha: Tenant, path: str
):
    make_tasks(alpha)
    prepare()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions")  # As if nothing were ever leased.
    leased = release_all()
    now = database_now()

    with compared() as found:
        if path == "complete/start":
            transitions.mark_running([(row.id, row.token, "w", now) for row in leased])
        elif path == "complete/note_progress":
            progress.note(Progress(row.id, row.token, b"half") for row in leased)
        elif path == "complete/hand_back":
            transitions.release([(row.id, row.token) for row in leased])
        elif path == "complete/defer":
            transitions.defer([(row.id, row.token, "rate_limited", now) for row in leased])
        elif path == "complete/cancel":
            transitions.cancel([(row.id, row.token) for row in leased], "")
        else:
            transitions.accept([(row.id, row.token, "w", now, now) for row in leased])

    assert (len(leased), found.of[path], found.loops[path]) == (_COUNT, 0, "off")
    assert "open_executions_leased_idx" not in found.indexes[path]


def test_no_claim_is_compared_with_each_revision_of_a_table_that_counts_as_empty(alpha: Tenant):
    make_tasks(alpha)
    prepare()
    believe(0, 1000)

    with compared() as found:
        assert len(release_all()) == _COUNT

    assert found.of == {"dispatch/claim_due": 0}


def indexes(node: dict[str, Any]) -> set[str]:
    own = {node["Index Name"]} if "Index Name" in node else set()
    return own.union(*(indexes(child) for child in node.get("Plans", [])))


@pytest.mark.parametrize("path", ["dispatch/in_flight", "dispatch/leased"])
def test_what_is_leased_is_found_without_reading_all_of_the_day(path: str):
    believe(-1, 0)
    wanted: dict[str, Any] = {"tenants": [], "hosts": [], "many": 1, "since": NEVER}
    wanted |= {"shared": ["default"], "before": NEVER}

    with connection.cursor() as cursor:
        # As the sessions of schedulers have it.
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        # A table of no rows may be read whole, too, which is not what is asked here.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN (FORMAT JSON) " + statement(path), wanted)
        [explained] = json_value(cursor.fetchone()[0])

    found = indexes(explained["Plan"])
    assert found, explained
    assert all(name == "open_executions_leased_idx" for name in found), found
