from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from insight.statistics import of_task
from tenants.models import Tenant
from tests.factories import daily, make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.ended_rows import ended

pytestmark = pytest.mark.django_db


def test_statistics_are_printed_as_tables_and_as_json(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha, daily())
    for minutes, status in ((3, "SUCCEEDED"), (4, "FAILED")):
        ended(task, database_now() - timedelta(minutes=minutes), status)

    said = call("tasks", "stats", str(task.pk))
    document = read_document("tasks-stats", call("tasks", "stats", str(task.pk), "--json").out)
    monkeypatch.setattr(of_task, "MOST_ROWS", 1)
    cut = call("tasks", "stats", str(task.pk), "--window", "24h")

    assert "2 ended, 1 succeeded, 1 failed: 50.0 %" in said.out
    assert "http_status" in said.out
    assert document["total"]["succeeded"] == 1
    assert "executions, from" in cut.err


def test_the_days_are_printed(alpha: Tenant):
    task = make_task(alpha, daily())
    ended(task, database_now())

    said = call("tasks", "calendar", str(task.pk))
    printed = call("tasks", "calendar", str(task.pk), "--json")

    assert "today" in said.out
    assert "day (Europe/Berlin)" in said.out
    assert len(read_document("tasks-calendar", printed.out)["days"]) == 31
