from __future__ import annotations

import pytest

from events.models import AuditEntry
from shared.redaction import MASK
from tasks.revisions import read_definition
from tasks.validation.bodies import LONG_FIELDS
from tests.factories import TARGET, daily, make_task, once, reload


@pytest.fixture
def task(alpha):
    return make_task(alpha)


def replace(client, task, body, **headers):
    return client.put(f"/v1/tasks/{task.id}", body, **headers)


def test_the_definition_is_replaced_and_the_rest_takes_its_default(client, task):
    body = {"schedule": {"every": "PT5M"}, "target": TARGET, "name": "New"}

    answer = replace(client, task, body)

    assert answer.status_code == 200
    assert answer["ETag"] == '"2"'
    shown = answer.json()
    assert (shown["id"], shown["name"], shown["version"]) == (str(task.id), "New", 2)
    assert (shown["labels"], shown["payload"]) == ({}, None)
    assert shown["schedule"]["every"] == "PT5M"
    assert shown["schedule"]["timezone"] == "UTC"


def test_the_short_form_replaces_too(client, task):
    body = {"delay_seconds": 60, "payload": {"webhook_url": TARGET["url"], "body": [1]}}

    shown = replace(client, task, body).json()

    assert (shown["type"], shown["payload"]) == ("ONE_TIME", [1])


@pytest.mark.parametrize(
    "body", [{}, {"name": "New"}, daily(status="PAUSED"), daily(version=1), daily(oops=1)]
)
def test_what_is_not_valid_is_refused_and_nothing_changes(client, task, body):
    assert replace(client, task, body).status_code == 400
    assert reload(task).version == 1


def test_if_match_of_another_version_is_412(client, task):
    assert replace(client, task, once(), if_match='"9"').status_code == 412
    assert replace(client, task, once(), if_match='"1"').status_code == 200


def test_the_same_call_again_is_one_version(client, task):
    first = replace(client, task, once(), idempotency_key="p1")
    second = replace(client, task, once(), idempotency_key="p1")

    assert second.content == first.content
    assert reload(task).version == 2


def test_the_replacement_is_recorded(client, task):
    replace(client, task, once())

    assert AuditEntry.objects.filter(action="task.updated", object_id=task.id).count() == 1


def test_a_masked_secret_that_is_sent_back_stays_what_it_is(client, alpha):
    target = {**TARGET, "proxy": {"url": "http://p.example:3128", "username": "u", "password": "x"}}
    task = make_task(alpha, daily(target=target))
    shown = client.get(f"/v1/tasks/{task.id}").json()
    assert shown["target"]["proxy"]["password"] == MASK

    answer = replace(client, task, {**daily(name="Other"), "target": shown["target"]})

    assert answer.status_code == 200, answer.content
    assert read_definition(reload(task)).target["proxy"]["password"] == "x"


def test_a_mask_where_nothing_is_stored_is_refused(client, task):
    target = {**TARGET, "auth": {"type": "bearer", "token": MASK}}

    answer = replace(client, task, daily(target=target))

    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("#/target/auth/token", "secret_masked")


def test_a_mask_does_not_follow_another_host(client, alpha):
    headers = {"Authorization": "Bearer s3cret"}
    task = make_task(alpha, daily(target={**TARGET, "headers": headers}))
    path = f"/v1/tasks/{task.id}"
    shown = client.get(path).json()
    body = {name: shown[name] for name in LONG_FIELDS if name in shown}
    body["target"]["url"] = "https://elsewhere.example.com/"

    answer = client.put(path, body)

    [error] = answer.json()["errors"]
    assert (answer.status_code, error["pointer"], error["code"]) == (
        400,
        "#/target/headers/Authorization",
        "secret_required",
    )
    assert reload(task).version == 1
