from __future__ import annotations

import pytest

from tasks.models import Task
from tests.factories import daily, make_task


@pytest.fixture
def task(alpha):
    return make_task(alpha, daily(target={"url": "https://a.example/", "headers": {"X-Key": "k"}}))


def clone(client, task, body=None, key="k1"):
    headers = {"idempotency_key": key} if key else {}
    return client.post(f"/v1/tasks/{task.id}/clone", {} if body is None else body, **headers)


def test_a_clone_is_answered_as_a_new_task_without_its_secrets(client, task):
    answer = clone(client, task, {"priority": 1})

    shown = answer.json()
    assert (answer.status_code, answer["ETag"]) == (201, '"1"')
    assert answer["Location"] == f"/v1/tasks/{shown['id']}"
    assert (shown["name"], shown["priority"]) == ("Daily report (copy)", 1)
    assert shown["target"]["headers"] == {"X-Key": "[redacted]"}
    assert shown["next_execution"]
    assert client.get(answer["Location"]).json()["executions"] == []


def test_the_same_key_clones_once_and_none_is_refused(client, task):
    first = clone(client, task)

    again = clone(client, task)

    assert again["Idempotent-Replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]
    assert clone(client, task, {"name": "Other"}).status_code == 422
    assert clone(client, task, key=None).status_code == 400
    assert Task.objects.count() == 2


@pytest.mark.parametrize(
    "body",
    [
        {"oops": 1},
        {"status": "PAUSED"},
        {"id": "x"},
        {"priority": 10},
        {"target": {"url": "https://b.example/"}},
        {"schedule": {"cron_expression": "61 * * * *"}},
        [],
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_is_created(client, task, body):
    answer = clone(client, task, body)

    assert answer.status_code == 400
    assert answer.json()["errors"]
    assert Task.objects.count() == 1
