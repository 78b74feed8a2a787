from __future__ import annotations

import pytest

from tests.factories import (
    every_second,
    executions_of,
    make_execution,
    make_task,
    prepare,
)


def ids(answer):
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["executions"]]


@pytest.fixture
def task(alpha):
    make_execution(alpha, "SUCCEEDED")
    task = make_task(alpha, every_second())
    prepare()
    return task


def test_only_the_tasks_executions_are_listed_newest_first(client, task):
    rows = executions_of(task)

    answer = client.get(f"/v1/tasks/{task.id}/executions")

    assert ids(answer) == [str(row.id) for row in reversed(rows)]
    assert answer.json()["pagination"]["total"] == len(rows)


def test_a_cursor_goes_on_where_the_page_ended(client, task):
    path = f"/v1/tasks/{task.id}/executions?limit=10"
    first = client.get(path)

    cursor = first.json()["pagination"]["next_cursor"]
    second = client.get(f"{path}&cursor={cursor}")

    assert ids(first) + ids(second) == [str(row.id) for row in reversed(executions_of(task))]


def test_filters_narrow_the_list(client, task):
    rows = executions_of(task)
    path = f"/v1/tasks/{task.id}/executions"
    since = rows[3].scheduled_for.isoformat().replace("+00:00", "Z")

    assert ids(client.get(f"{path}?status=SUCCEEDED,FAILED")) == []
    assert len(ids(client.get(f"{path}?status=PENDING"))) == len(rows)
    assert len(ids(client.get(f"{path}?since={since}"))) == len(rows) - 3
    assert len(ids(client.get(f"{path}?until={since}"))) == 3


@pytest.mark.parametrize(
    "query", ["status=DONE", "since=2026-01-01", "limit=0", "task=1", "cursor=x"]
)
def test_parameters_that_are_not_valid_are_400(client, task, query):
    assert client.get(f"/v1/tasks/{task.id}/executions?{query}").status_code == 400
