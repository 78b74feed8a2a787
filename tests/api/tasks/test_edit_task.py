from __future__ import annotations

import pytest

from events.models import AuditEntry
from tasks.definition import target_defaults
from tasks.revisions import read_definition
from tests.factories import (
    TARGET,
    daily,
    every_second,
    executions_of,
    make_client,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
)


@pytest.fixture
def task(alpha):
    return make_task(alpha)


def edit(client, task, body, **headers):
    return client.patch(f"/v1/tasks/{task.id}", body, **headers)


def test_an_edit_is_merged(client, task):
    answer = edit(client, task, {"labels": {"env": "prod"}, "target": {"headers": {"X-A": "1"}}})

    assert answer.status_code == 200
    assert answer["ETag"] == '"2"'
    shown = answer.json()
    assert shown["version"] == 2
    assert shown["labels"] == {"team": "billing", "env": "prod"}
    assert shown["target"]["headers"] == {"X-A": "1"}
    assert shown["schedule"]["cron_expression"] == "0 8 * * *"


def test_null_takes_away(client, task):
    shown = edit(client, task, {"labels": {"team": None}, "payload": None}).json()

    assert shown["labels"] == {}
    assert shown["payload"] is None


def test_the_short_form_edits_too(client, task):
    body = {"cron_expression": "*/5 * * * *", "payload": {"webhook_url": "https://b.example/x"}}

    shown = edit(client, task, body).json()

    assert shown["schedule"]["cron_expression"] == "*/5 * * * *"
    assert shown["target"]["url"] == "https://b.example/x"


def test_the_status_pauses_and_resumes(client, task):
    assert edit(client, task, {"status": "PAUSED"}).json()["status"] == "PAUSED"
    assert edit(client, task, {"status": "PAUSED"}).json()["status"] == "PAUSED"
    assert edit(client, task, {"status": "SCHEDULED"}).json()["status"] == "SCHEDULED"


def test_work_handed_to_a_worker_starts_only_as_edited(client, alpha):
    task = make_task(alpha, once())
    prepare()
    handed = release()

    assert edit(client, task, {"payload": {"n": 2}}).status_code == 200

    assert pass_guard(handed) == [0]
    assert [row.revision for row in executions_of(task)] == [2]


def test_redis_away_is_503_and_changes_nothing(client, alpha, no_redis):
    task = make_task(alpha, once())
    prepare()
    release()
    no_redis()

    answer = edit(client, task, {"payload": {"n": 2}}, idempotency_key="e1")

    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert reload(task).version == 1
    assert [(row.status, row.revision) for row in executions_of(task)] == [("QUEUED", 1)]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"oops": 1}, "#/oops"),
        ({"status": "RUNNING"}, "#/status"),
        ({"version": 3}, "#/version"),
        ({"schedule": {"cron_expression": "x"}}, "#/schedule/cron_expression"),
        ({"schedule": {"cron_expression": "* * * * *", "every": "PT5M"}}, None),
        ({"target": {"url": "http://10.0.0.1/"}}, "#/target/url"),
        ({"labels": {"a": 1}}, "#/labels/a"),
        ({"cron_expression": "* * * * *", "schedule": {"timezone": "UTC"}}, None),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_changes(client, task, body, pointer):
    answer = edit(client, task, body)

    assert answer.status_code == 400
    pointers = {error["pointer"] for error in answer.json()["errors"]}
    assert pointer is None or pointer in pointers
    assert (reload(task).version, task.revisions.count()) == (1, 1)


@pytest.mark.parametrize("header", ['"1"', "1", "*"])
def test_if_match_lets_the_named_version_be_edited(client, task, header):
    assert edit(client, task, {"name": "New"}, if_match=header).status_code == 200


def test_if_match_of_another_version_is_412(client, task):
    answer = edit(client, task, {"name": "New"}, if_match='"2"')

    assert answer.status_code == 412
    assert reload(task).name == "Daily report"
    assert edit(client, task, {"name": "New"}, if_match="abc").status_code == 400


def test_a_key_that_may_not_read_learns_which_version_it_made_and_no_more(alpha, task):
    answer = edit(make_client(alpha, ["write"]), task, {})
    edited = edit(make_client(alpha, ["write"]), task, {"priority": 3})

    assert answer.json() == {"id": str(task.id), "status": "SCHEDULED", "version": 1}
    assert edited.json() == {"id": str(task.id), "status": "SCHEDULED", "version": 2}
    assert edited["ETag"] == '"2"'


def test_a_cancelled_task_is_not_resumed_by_its_status(client, task):
    client.post(f"/v1/tasks/{task.id}/cancel")

    assert edit(client, task, {"status": "SCHEDULED"}).status_code == 409


def test_the_same_edit_again_is_one_version(client, alpha):
    task = make_task(alpha, every_second())
    body = {"name": "New"}

    first = edit(client, task, body, idempotency_key="e1")
    second = edit(client, task, body, idempotency_key="e1")

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
    assert reload(task).version == 2
    assert edit(client, task, {"name": "Other"}, idempotency_key="e1").status_code == 422


def test_the_edit_is_recorded_once(client, task):
    edit(client, task, {"name": "New"})
    edit(client, task, {"name": "New"})

    assert AuditEntry.objects.filter(action="task.updated").count() == 1


def test_an_empty_edit_answers_the_task(client, task):
    assert edit(client, task, {}).json()["version"] == 1
    assert edit(client, task, daily()).json()["version"] == 1


@pytest.fixture
def secretive(alpha):
    auth = {"type": "basic", "username": "u", "password": "s3cret"}
    return make_task(alpha, daily(target={**TARGET, "auth": auth}))


def test_a_masked_secret_that_is_sent_back_stays_what_it_is(client, secretive):
    target = client.get(f"/v1/tasks/{secretive.id}").json()["target"]

    answer = client.patch(f"/v1/tasks/{secretive.id}", {"name": "Other", "target": target})

    assert (answer.status_code, answer.json()["version"]) == (200, 2)
    assert b"s3cret" not in answer.content
    assert read_definition(reload(secretive)).target["auth"]["password"] == "s3cret"


def test_kept_secrets_do_not_follow_another_host_and_nothing_is_dropped(client, secretive):
    path = f"/v1/tasks/{secretive.id}"
    edit = {"target": {"url": "https://elsewhere.example.com/"}}

    answer = client.patch(path, edit)

    [error] = answer.json()["errors"]
    assert (answer.status_code, error["pointer"], error["code"]) == (
        400,
        "#/target/auth/password",
        "secret_required",
    )
    assert "host" in error["message"]
    assert reload(secretive).version == 1
    anew = {"target": {**edit["target"], "auth": {"password": "an0ther"}}}
    assert client.patch(path, anew).status_code == 200
    assert read_definition(reload(secretive)).target["auth"]["password"] == "an0ther"


def test_another_kind_leaves_nothing_of_the_old_one(client, secretive):
    answer = client.patch(
        f"/v1/tasks/{secretive.id}", {"target": {"kind": "handler", "handler": "reports.daily"}}
    )

    assert answer.json()["target"] == target_defaults("handler") | {"handler": "reports.daily"}
    assert (reload(secretive).pool, reload(secretive).destination) == ("handlers", "")
    assert "s3cret" not in str(AuditEntry.objects.filter(object_id=secretive.id).values())
