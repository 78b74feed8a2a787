from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.list_filters import with_bounds
from insight.statistics import overview
from shared.ids import execution_id
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, ApiClient, make_execution, once
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def statement_time() -> datetime:
    """Return the time of the statements, which stands still in the test's transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        found: datetime = cursor.fetchone()[0]
    return found


def by_query(tenant: Tenant, **filters: Any) -> set[Any]:
    rows = Execution.objects.for_tenant(tenant.id)
    bounded = with_bounds(filters, statement_time())
    found = {row.pk for row in rows.filtered(bounded)}
    assert found == {row.pk for part in rows.parts(tenant.id, bounded) for row in part}
    return found


def make(tenant: Tenant, status: str, **columns: Any) -> Execution:
    execution = make_execution(tenant, status, once(name=f"{status} {columns}"))
    if columns:
        Execution.objects.filter(pk=execution.pk).update(**columns)
    return execution


@pytest.fixture
def ledger_of(alpha: Tenant) -> Callable[[], dict[str, Execution]]:
    """Return open work of every kind, due at several times, and what ended at several."""

    def fill() -> dict[str, Execution]:
        now = statement_time()
        ago, ahead = now - 5 * timedelta(seconds=1), now + 10 * MINUTE
        made = {
            "ended long ago": make(alpha, "SUCCEEDED", finished_at=now - 61 * MINUTE),
            "failed long ago": make(alpha, "FAILED", finished_at=now - 61 * MINUTE),
            "succeeded": make(alpha, "SUCCEEDED"),
            "failed": make(alpha, "FAILED"),
            "running": make(alpha, "RUNNING"),
            "retrying": make(alpha, "RETRYING", due_at=ahead),
            "queued late": make(alpha, "QUEUED", due_at=ago),
            "queued": make(alpha, "QUEUED", due_at=now),
            "retrying late": make(alpha, "RETRYING", due_at=ago),
            "due": make(alpha, "PENDING", due_at=now),
            "late": make(alpha, "PENDING", due_at=ago),
            "parked": make(alpha, "PENDING", due_at=ago, parked=True),
            "coming": make(alpha, "PENDING", due_at=ahead),
            "paused": make(alpha, "PENDING", due_at=ago),
        }
        changing.pause_task(alpha.id, made["paused"].task_id, Pause(), actor=ACTOR)
        return made

    return fill


def ids(made: dict[str, Execution], *names: str) -> set[Any]:
    return {made[name].pk for name in names}


def test_what_is_due_and_what_is_late_are_lists_of_the_overviews_counts(
    alpha: Tenant, beta: Tenant, ledger_of: Callable[[], dict[str, Execution]]
):
    made = ledger_of()
    make(beta, "PENDING")

    due, late = by_query(alpha, due="now"), by_query(alpha, due="late")

    assert due == ids(made, "due", "late", "parked", "retrying late")
    assert late == ids(made, "late", "parked", "retrying late", "queued late")
    now = overview(alpha.id)
    assert (now.due_now, now.late, now.retrying) == (len(due), len(late), 2)


def test_what_ended_in_the_last_hour_is_a_list_of_the_overviews_count(
    alpha: Tenant, ledger_of: Callable[[], dict[str, Execution]]
):
    made = ledger_of()

    assert by_query(alpha, ended="last_hour") == ids(made, "succeeded", "failed")
    assert by_query(alpha, ended="last_hour", status=["FAILED"]) == ids(made, "failed")


def test_what_ended_lately_is_listed_though_it_is_days_old(alpha: Tenant):
    old = make(alpha, "FAILED")
    days_ago = execution_id(old.task_id, database_now() - timedelta(days=1))
    Execution.objects.filter(pk=old.pk).update(
        id=days_ago, scheduled_for=database_now() - timedelta(days=1)
    )

    assert by_query(alpha, ended="last_hour") == {days_ago}


def test_every_door_lists_the_same(
    client: ApiClient, alpha: Tenant, ledger_of: Callable[[], dict[str, Execution]]
):
    made = ledger_of()
    # By the clock they would become late while the doors are asked one after another.
    Execution.objects.filter(pk__in=ids(made, "due", "queued")).update(
        due_at=made["late"].due_at - MINUTE
    )

    for name, value in (("due", "now"), ("due", "late"), ("ended", "last_hour")):
        wanted = {str(one) for one in by_query(alpha, **{name: value})}
        shown = client.get(f"/v1/executions?{name}={value}&limit=200").json()
        said = call("executions", "list", f"--{name}", value, "--json").out
        listed = read_document("executions-list", said)

        assert {one["id"] for one in shown["executions"]} == wanted
        assert shown["pagination"]["total"] == len(wanted)
        assert {one["id"] for one in listed["executions"]} == wanted
        assert listed["since"] is None
        task = shown["executions"][0]["task_id"]
        of_task = client.get(f"/v1/tasks/{task}/executions?{name}={value}").json()["executions"]
        assert {one["id"] for one in of_task} <= wanted
    assert client.get("/v1/executions?due=soon").status_code == 400
    assert client.get("/v1/executions?ended=1h").status_code == 400
