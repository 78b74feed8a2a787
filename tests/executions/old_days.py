"""Days long past: filling them, looking at their tables, and removing what tests leave of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from events.models import Event
from executions.choices import FINAL
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from shared.ids import attempt_id, execution_id, first_id_at
from shared.sql import json_value, rows
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_task
from tests.support.loops import by_the_owner

_DAY = timedelta(days=1)
#: How many tables a day has.
A_DAY = len(ledger.DAILY_TABLES)
_TABLES = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND pg_table_is_visible(oid)
  AND relname ~ '^(executions|attempts|events|runs|steps)_[0-9]{8}'
  AND substring(relname FROM '_([0-9]{8})') < %s
ORDER BY relname
"""


def ago(days: int) -> datetime:
    """Return noon of the day so many days before today, by the database's clock."""
    today = database_now().replace(hour=12, minute=0, second=0, microsecond=0)
    return today - days * _DAY


def name_of(days: int) -> str:
    """Return the name of the day so many days ago, as tables have it."""
    return f"{ago(days):%Y%m%d}"


def make_days(*days: int) -> None:
    """Make the tables of these days, without rows."""
    ledger.make_days([ago(one) for one in days])


@by_the_owner
def put(
    tenant: Tenant, days: int, status: str = "SUCCEEDED", task: Task | None = None, **fields: Any
) -> Execution:
    """Write an execution of that day, with an attempt and an event where it is at its end."""
    at = ago(days)
    make_days(days)
    task = task or make_task(tenant)
    ended = {"finished_at": at, "attempt": 1} if status in FINAL else {}
    # Each a second after the one before, so that a task may have several.
    at += timedelta(seconds=Execution.objects.filter(task_id=task.id).count())
    execution = Execution.objects.create(
        id=execution_id(task.id, at),
        tenant=tenant,
        task=task,
        partition=task.partition,
        revision=1,
        status=status,
        scheduled_for=at,
        due_at=at,
        **{**ended, **fields},
    )
    if ended:
        _put_attempt(execution)
        Event.objects.create(
            id=UUID(int=execution.id.int),
            tenant_id=tenant.id,
            name="execution.succeeded",
            subject_id=execution.id,
            task_id=task.id,
            data={"reason": 'a "quoted"\nword', "n": 1.5},
        )
    return execution


def days_of(parent: str = "executions") -> list[str]:
    """Return the names of the days whose tables are in the ledger."""
    found = rows("prune/existing_days", {"parent": ledger.parent_of(parent)})
    return [row[0].rpartition("_")[2] for row in found]


def tables() -> list[str]:
    """Return every table of a day long past, be it in the ledger or not."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES, [name_of(5)])
        return [row[0] for row in cursor.fetchall()]


def all_rows(parent: str, day: datetime) -> list[dict[str, Any]]:
    """Return the rows of a day, each as a document."""
    low, high = first_id_at(day - timedelta(hours=12)), first_id_at(day + timedelta(hours=12))
    # The view of both parts, where there is one.
    table = parent if parent == "executions" else ledger.parent_of(parent)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT to_jsonb(t) FROM {table} t WHERE id >= %s AND id < %s ORDER BY id",
            [low, high],
        )
        return [json_value(row[0]) for row in cursor.fetchall()]


def address() -> dict[str, Any]:
    """Return how to connect to the tests' database beside Django."""
    found = connection.get_connection_params()
    found.pop("cursor_factory", None)
    found.pop("context", None)
    return found


def half_detach(parent: str, days: int) -> None:
    """Cut a day's detachment off in the middle: a reader outlasts its patience."""
    table, parent = f"{parent}_{name_of(days)}", ledger.parent_of(parent)
    with (
        psycopg.connect(**address()) as reader,
        psycopg.connect(**address(), autocommit=True) as session,
    ):
        reader.execute(f"SELECT 1 FROM {parent} LIMIT 1")
        session.execute("SET lock_timeout = 50")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            session.execute(f"ALTER TABLE {parent} DETACH PARTITION {table} CONCURRENTLY")


@by_the_owner
def mark(table: str, text: str) -> None:
    """Say of a table what becomes of it, as retention and archive do."""
    with connection.cursor() as cursor:
        cursor.execute(f"COMMENT ON TABLE {table} IS '{text}'")


@by_the_owner
def forget() -> None:
    """Drop the tables of days long past, of this test and of others."""
    with connection.cursor() as cursor:
        for table in tables():
            cursor.execute(f"DROP TABLE {table}")


def _put_attempt(execution: Execution) -> None:
    Attempt.objects.create(
        id=attempt_id(execution.id, 1, 1),
        execution_id=execution.id,
        tenant_id=execution.tenant_id,
        number=1,
        fencing_token=1,
        outcome="SUCCEEDED",
        timings={"total": 12.5},
        sealed_response=b"\x00\xff sealed",
        started_at=execution.scheduled_for,
        finished_at=execution.scheduled_for,
    )
