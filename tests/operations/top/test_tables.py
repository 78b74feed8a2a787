from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError
from pytest_django import DjangoAssertNumQueries

from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from operations.top.screen import Act, Screen
from operations.top.tables import TABS
from operations.top.terminal import act, read
from tenants.models import Tenant
from tests.factories import make_dead_letter, make_execution, once

pytestmark = pytest.mark.django_db


def test_executions_stand_under_what_they_do(alpha: Tenant, beta: Tenant):
    running = make_execution(alpha, "RUNNING")
    due, later = (make_execution(beta, "PENDING") for _ in range(2))
    now = database_now()
    Execution.objects.filter(id=due.id).update(due_at=now - timedelta(seconds=90))
    Execution.objects.filter(id=later.id).update(due_at=now + timedelta(hours=1))

    [row] = TABS["under way"]().rows
    assert (row.id, row.tenant_id, row.cells[1]) == (running.id, alpha.id, "RUNNING")
    assert row.cells[-2] == alpha.name
    [row] = TABS["waiting"]().rows
    assert (row.id, row.cells[1]) == (due.id, "PENDING")
    assert row.cells[2].startswith("1 m")


def test_letters_are_those_that_are_open_and_can_be_retried(alpha: Tenant):
    letter = make_dead_letter(alpha)

    [row] = TABS["failed"]().rows
    said = act(Act("R", row))

    made = Execution.objects.exclude(id=letter.execution_id).get(task_id=letter.task_id)
    assert said == f"Retried as {made.id}."
    assert TABS["failed"]().rows == ()
    assert act(Act("R", row)) == "The dead letter was resolved as retried."


def test_an_execution_can_be_cancelled_until_it_has_ended(alpha: Tenant):
    make_execution(alpha, "PENDING", once())
    Execution.objects.update(due_at=database_now() - timedelta(seconds=1))

    [row] = TABS["waiting"]().rows

    assert act(Act("C", row)).endswith(" is CANCELLED.")
    assert "CANCELLED already" in act(Act("C", row))


def test_the_overview_and_workers_are_those_of_the_other_commands():
    told = [row.cells[0] for row in TABS["overview"]().rows]

    assert told[0] in ("healthy", "NOT HEALTHY")
    assert any(line.startswith("Start delay") for line in told)
    assert TABS["workers"]().rows == ()


@pytest.mark.parametrize("name", ["under way", "waiting", "failed"])
def test_a_tab_is_read_by_few_queries_however_many_rows_it_has(
    name: str, alpha: Tenant, django_assert_max_num_queries: DjangoAssertNumQueries
):
    for _ in range(3):
        make_dead_letter(alpha) if name == "failed" else make_execution(
            alpha, "RUNNING" if name == "under way" else "PENDING"
        )
    Execution.objects.filter(status="PENDING").update(due_at=database_now())

    with django_assert_max_num_queries(4):
        found = TABS[name]()

    assert len(found.rows) == 3
    assert DeadLetter.objects.count() == (3 if name == "failed" else 0)


def test_what_does_not_answer_is_said_and_what_was_read_stays(monkeypatch: pytest.MonkeyPatch):
    screen = Screen()
    read(screen)
    before = screen.table
    away = OperationalError("server closed the connection\nunexpectedly")

    def gone() -> None:
        raise away

    monkeypatch.setattr("operations.top.terminal.TABS", {"overview": gone})
    monkeypatch.setattr("operations.top.terminal.connection.close", lambda: None)
    read(screen)

    assert screen.table == before
    assert screen.message == "The database does not answer. server closed the connection"
