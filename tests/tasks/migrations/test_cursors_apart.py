"""Cursors leave their tasks, and come back to them; none is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from executions.loop.clocks import database_now
from tasks.models import TaskCursor
from tests.factories import daily, every_second, make_task, make_tenant, once
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db(transaction=True)

_BEFORE = "0019_name_zone_rules"
_OF_TASKS = "SELECT name, next_run_at, occurrence_count, replayed_until FROM tasks ORDER BY name"


@pytest.fixture(autouse=True)
def _apart_again() -> Iterator[None]:
    yield
    call_command("migrate", "tasks", verbosity=0)


def asked(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def cursors() -> list[dict[str, Any]]:
    return list(TaskCursor.objects.order_by("task_id").values())


def indexes() -> set[str]:
    found = asked(
        "SELECT indexdef, c.reloptions::text FROM pg_indexes i"
        " JOIN pg_class c ON c.oid = (quote_ident(schemaname) || '.' || quote_ident(indexname))"
        "::regclass WHERE tablename IN ('tasks', 'task_cursors')"
        " AND schemaname = current_schema()"
    )
    return {str(row) for row in found}


def test_every_cursor_is_kept_on_both_ways(capsys: pytest.CaptureFixture[str]):
    alpha, now = make_tenant("Alpha"), database_now()
    for name, body in (
        ("ahead", once(now + timedelta(hours=1))),
        ("counted", every_second()),
        ("ended", daily()),
        ("paused", daily()),
        ("taken", once(now + timedelta(hours=2))),
    ):
        make_task(alpha, {**body, "name": name})
    ids = {name: task_id for task_id, name in asked("SELECT id, name FROM tasks")}
    change_task(ids["counted"], occurrence_count=7, replayed_until=now)
    change_task(ids["ended"], next_run_at=None, status="COMPLETED", occurrence_count=3)
    change_task(ids["paused"], status="PAUSED", paused_at=now)
    change_task(ids["taken"], next_run_at=None, status="COMPLETED")
    # Whose instant nothing decides about is not known on the way back.
    TaskCursor.objects.update(execution_id=None)
    before, indexed = cursors(), indexes()
    assert len(before) == 4

    call_command("migrate", "tasks", _BEFORE, verbosity=0)
    back = {row[0]: row[1:] for row in asked(_OF_TASKS)}

    assert back["ahead"] == (before_of(before, ids["ahead"])["next_run_at"], 0, None)
    assert back["counted"][1:] == (7, now)
    assert back["ended"] == (None, 3, None)
    assert back["paused"][0] is not None
    assert back["taken"] == (None, 0, None)
    assert "4 tasks have their cursors again" in capsys.readouterr().out

    call_command("migrate", "tasks", verbosity=0)

    assert cursors() == before
    assert {row["task_id"] for row in before if row["held"]} == {ids["ended"], ids["paused"]}
    assert indexes() == indexed
    assert "4 cursors are rows of their own" in capsys.readouterr().out


def before_of(rows: list[dict[str, Any]], task_id: Any) -> dict[str, Any]:
    [found] = [row for row in rows if row["task_id"] == task_id]
    return found
