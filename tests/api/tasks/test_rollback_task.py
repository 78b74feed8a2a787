from __future__ import annotations

import pytest

from events.models import AuditEntry
from tasks.revisions import read_definition
from tests.factories import TARGET, daily, make_task, reload


@pytest.fixture
def task(client, alpha):
    task = make_task(alpha)
    client.patch(f"/v1/tasks/{task.id}", {"name": "two", "schedule": {"every": "PT5M"}})
    return task


def rollback(client, task, body, **headers):
    return client.post(f"/v1/tasks/{task.id}/rollback", body, **headers)


def test_an_earlier_definition_comes_back_as_a_new_version(client, task):
    answer = rollback(client, task, {"version": 1})

    assert (answer.status_code, answer["ETag"]) == (200, '"3"')
    shown = answer.json()
    assert (shown["name"], shown["version"]) == ("Daily report", 3)
    assert shown["schedule"]["cron_expression"] == "0 8 * * *"
    assert shown["payload"] == {"report": 1}
    assert task.revisions.count() == 3


def test_the_current_version_again_changes_nothing(client, task):
    assert rollback(client, task, {"version": 2}).json()["version"] == 2


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"version": 3},
        {"version": 0},
        {"version": "1"},
        {"version": 2**40},
        {"version": 1, "a": 1},
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_changes(client, task, body):
    answer = rollback(client, task, body)

    assert answer.status_code == 400
    assert answer.json()["errors"]
    assert reload(task).version == 2


def test_the_same_call_again_is_one_version(client, task):
    first = rollback(client, task, {"version": 1}, idempotency_key="b1")
    second = rollback(client, task, {"version": 1}, idempotency_key="b1")

    assert second.content == first.content
    assert reload(task).version == 3


def test_the_rollback_is_recorded(client, task):
    rollback(client, task, {"version": 1})

    assert AuditEntry.objects.filter(action="task.updated", object_id=task.id).count() == 2


def test_a_secret_comes_back_with_its_version_and_is_in_no_answer(client, alpha):
    auth = {"type": "bearer", "token": "s3cret"}
    task = make_task(alpha, daily(target={**TARGET, "auth": auth}))
    client.patch(f"/v1/tasks/{task.id}", {"target": {"auth": None}})

    answer = rollback(client, task, {"version": 1})

    assert b"s3cret" not in answer.content
    assert b"s3cret" not in client.get(f"/v1/tasks/{task.id}/revisions").content
    assert read_definition(reload(task)).target["auth"] == auth


def test_a_version_takes_its_secrets_back_to_where_it_sent_them(client, alpha):
    there = {"url": "https://a.example/", "headers": {"Authorization": "first"}}
    task = make_task(alpha, daily(target=there))
    moved = {"url": "https://b.example/", "headers": {"Authorization": "second"}}
    assert client.patch(f"/v1/tasks/{task.id}", {"target": moved}).status_code == 200

    assert rollback(client, task, {"version": 1}).status_code == 200

    target = read_definition(reload(task)).target
    assert {key: target[key] for key in there} == there
