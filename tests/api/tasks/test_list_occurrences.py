from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.changes import changing
from executions.models import Execution
from shared.instants import format_instant
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import (
    ACTOR,
    ApiClient,
    daily,
    every_second,
    executions_of,
    make_task,
    prepare,
)


def get(client: ApiClient, task_id: Any, query: str = "") -> dict[str, Any]:
    answer = client.get(f"/v1/tasks/{task_id}/occurrences?{query}")
    assert answer.status_code == 200, answer.content
    shown: dict[str, Any] = answer.json()
    return shown


def test_past_and_future_are_one_list_in_order(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    rows = executions_of(task)
    until = format_instant(rows[-1].scheduled_for + timedelta(seconds=3))
    since = format_instant(rows[0].scheduled_for)

    found = get(client, task.id, f"from={since}&to={until}&limit=200")["occurrences"]

    assert [one["execution_id"] for one in found] == [str(row.id) for row in rows] + [None] * 3
    assert found[0] == {
        "scheduled_for": since,
        "due_at": since,
        "status": "PENDING",
        "reason": None,
        "execution_id": str(rows[0].id),
        "notes": [],
    }
    assert [one["status"] for one in found[-3:]] == ["EXPECTED"] * 3


def test_the_ends_of_the_range_are_in_it(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, daily())
    assert task.next_run_at is not None
    at = format_instant(task.next_run_at)

    [only] = get(client, task.id, f"from={at}&to={at}")["occurrences"]

    assert only["scheduled_for"] == at


def test_without_a_range_it_is_a_day_on_either_side_of_now(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, daily())

    found = get(client, task.id)

    assert len(found["occurrences"]) == 1
    assert found["pagination"] == {"limit": 20, "next_cursor": None}


def test_a_cursor_goes_on_where_the_page_ended(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    rows = executions_of(task)
    query = f"from={format_instant(rows[0].scheduled_for)}&limit=10"
    first = get(client, task.id, query)

    cursor = first["pagination"]["next_cursor"]
    second = get(client, task.id, f"{query}&cursor={cursor}")

    instants = [one["scheduled_for"] for one in first["occurrences"] + second["occurrences"]]
    begin = rows[0].scheduled_for
    assert instants == [format_instant(begin + timedelta(seconds=n)) for n in range(20)]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("cursor=made.up", "cursor"),
        ("from=yesterday", "from"),
        ("to=2026-01-01", "to"),
        ("from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", "to"),
        ("from=2026-01-01T00:00:00Z&to=2027-01-02T00:00:01Z", "to"),
        ("since=2026-11-02T00:00:00Z", "since"),
        ("page=1", "page"),
    ],
)
def test_a_query_that_makes_no_sense_is_400(
    client: ApiClient, alpha: Tenant, query: str, name: str
):
    answer = client.get(f"/v1/tasks/{make_task(alpha).id}/occurrences?{query}")

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"][0]["pointer"] == f"?{name}"


def test_a_deleted_task_is_404_and_its_executions_stay(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    path = f"/v1/tasks/{task.id}/occurrences"

    changing.delete_task(alpha.id, task.id, actor=ACTOR)
    assert problem(client.get(path)) == (404, "not_found")
    kept = Execution.objects.filter(task_id=task.id).first()
    assert kept is not None
    assert client.get(f"/v1/executions/{kept.id}").status_code == 200
