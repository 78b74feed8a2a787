from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from django.db import connection

from events.models import AuditEntry
from executions.models import Pool
from shared.conf import conf
from tasks.masking import mask_target
from tasks.models import Task, TaskRevision
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.factories import TARGET, daily, make_client, once
from tests.tasks.bodies import LONG, SHORT, TARGETS

LONG_NOW = {**LONG, "schedule": {**LONG["schedule"], "end_at": "2099-12-31T00:00:00Z"}}
SHORT_NOW = {**SHORT, "end_date": "2099-12-31T00:00:00Z"}


def create(client, body, key="k1", **headers):
    return client.post("/v1/tasks", body, idempotency_key=key, **headers)


@pytest.mark.parametrize("body", [LONG_NOW, SHORT_NOW])
def test_a_task_is_created_from_either_form_and_answered_in_the_long_one(client, alpha, body):
    answer = create(client, body)

    assert answer.status_code == 201
    shown = answer.json()
    assert answer["Location"] == f"/v1/tasks/{shown['id']}"
    assert answer["ETag"] == '"1"'
    assert (shown["status"], shown["version"], shown["type"]) == ("SCHEDULED", 1, "RECURRING")
    assert shown["target"]["url"] == "https://api.example.com/reports"
    assert shown["payload"] == {"report_type": "daily"}
    assert shown["next_execution"].endswith("Z")
    assert client.get(answer["Location"]).json()["id"] == shown["id"]
    task = Task.objects.get(pk=UUID(shown["id"]))
    assert task.tenant_id == alpha.id
    assert task.revisions.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_creation_takes_four_ways_to_the_database(client):
    create(client, once())
    ways: list[object] = []

    def note(execute, *arguments):
        # What a pipeline sends goes on one way, and with it the COMMIT of the last one.
        way = connection.connection._pipeline or object()
        if way not in ways:
            ways.append(way)
        return execute(*arguments)

    with connection.execute_wrapper(note):
        assert create(client, once(), "k2").status_code == 201

    # The key; locks, a stored answer and the clock; the task; the answer, the log and COMMIT.
    assert len(ways) == 4


def test_what_was_answered_can_be_sent_again(client):
    shown = create(client, LONG_NOW).json()
    sent = {key: shown[key] for key in LONG_NOW}

    again = create(client, sent, "k2")

    assert again.status_code == 201
    assert {key: again.json()[key] for key in LONG_NOW} == sent


def test_a_delay_is_answered_as_an_instant(client):
    shown = create(client, once()).json()

    assert shown["type"] == "ONE_TIME"
    assert shown["schedule"]["run_at"] == shown["next_execution"]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "#/schedule", "required"),
        (daily(oops=1), "#/oops", "unknown_field"),
        (daily(id="x"), "#/id", None),
        (daily(priority=10), "#/priority", None),
        (daily(name=""), "#/name", None),
        (daily(target={"url": "http://127.0.0.1/"}), "#/target/url", "address_forbidden"),
        (daily(target={**TARGET, "headers": {"Host": "x"}}), "#/target/headers/Host", None),
        (daily(schedule={"cron_expression": "61 * * * *"}), "#/schedule/cron_expression", None),
        (daily(schedule={"cron_expression": "0 0 31 2 *"}), "#/schedule/cron_expression", None),
        (daily(schedule={"run_at": "2020-01-01T00:00:00Z"}), "#/schedule/run_at", None),
        (daily(schedule={"every": "PT0S"}), "#/schedule/every", None),
        (daily(cron_expression="* * * * *"), None, None),
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_is_stored(client, body, pointer, code):
    answer = create(client, body)

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    errors = answer.json()["errors"]
    assert pointer is None or pointer in {error["pointer"] for error in errors}
    assert code is None or code in {error["code"] for error in errors}
    assert not Task.objects.exists()
    assert not TaskRevision.objects.exists()


@pytest.fixture
def everything_there(alpha, settings):
    Pool.objects.create(tenant=alpha, name="batch-etl")
    settings.PUNCTUAL = replace(
        conf(),
        allowed_commands={"backup": "/usr/bin/true"},
        command_variables={"backup": ("TOKEN", "MODE")},
    )


def test_owner_and_reference_are_stored_answered_and_kept_in_every_version(client, alpha):
    body = daily(payload=None, payload_ref="s3://bucket/key?sig=s3cret", owner="ops@example.com")

    made = create(client, body).json()
    path = f"/v1/tasks/{made['id']}"
    edited = client.patch(path, {"owner": None, "payload": {"n": 1}}).json()
    versions = client.get(f"{path}/revisions").json()["revisions"]

    assert (made["payload"], made["payload_ref"]) == (None, "s3://bucket/key?sig=s3cret")
    assert made["owner"] == "ops@example.com"
    assert (edited["payload"], edited["payload_ref"], edited["owner"]) == ({"n": 1}, None, None)
    shown = [(row["definition"]["payload_ref"], row["definition"]["owner"]) for row in versions]
    assert shown == [(None, None), ("s3://bucket/key?sig=s3cret", "ops@example.com")]
    assert audited(made["id"], "task.created")["after"]["owner"] == "ops@example.com"
    assert audited(made["id"], "task.updated")["after"]["owner"] is None
    assert "s3cret" not in str(list(AuditEntry.objects.values()))


def test_a_key_of_the_tenant_may_own_a_task(client):
    assert create(client, daily(owner="test")).status_code == 201
    refused = create(client, daily(owner="tests"), key="b").json()["errors"]
    assert [(error["pointer"], error["code"]) for error in refused] == [
        ("#/owner", "owner_unknown")
    ]
    assert "'test'" in refused[0]["message"]


@pytest.mark.parametrize("kind", TARGETS)
def test_a_target_of_each_kind_is_stored_and_answered_without_its_secrets(
    client, everything_there, kind
):
    answer = create(client, daily(target=TARGETS[kind]))

    assert answer.status_code == 201, answer.content
    shown = answer.json()
    assert shown["target"] == mask_target(TARGETS[kind])
    task = Task.objects.get(pk=UUID(shown["id"]))
    assert read_definition(task).target == TARGETS[kind]
    assert (task.pool, task.destination) == {
        "webhook": ("default", "api.example.com"),
        "pool": ("pull.batch-etl", ""),
        "handler": ("reports", ""),
        "command": ("commands", ""),
    }[kind]
    assert "s3cret" not in str(AuditEntry.objects.get(action="task.created").after)
    for seen in (client.get(answer["Location"]), client.get("/v1/tasks")):
        assert b"s3cret" not in seen.content


@pytest.mark.parametrize(
    ("target", "pointer", "code"),
    [
        (TARGETS["pool"], "#/target/pool", "pool_unknown"),
        (TARGETS["command"], "#/target/kind", "commands_disabled"),
        (mask_target(TARGETS["webhook"]), "#/target/auth/password", "secret_masked"),
        ({**TARGET, "template": True, "url": "https://a.example/{{ x }}"}, "#/target/url", None),
        ({**TARGET, "tls": {"verify": False}}, "#/target/tls/verify", "tls_unverified_forbidden"),
    ],
)
def test_what_the_deployment_or_the_tenant_does_not_have_is_refused(client, target, pointer, code):
    answer = create(client, daily(target=target))

    assert answer.status_code == 400
    found = {error["pointer"]: error["code"] for error in answer.json()["errors"]}
    assert pointer in found
    assert code is None or found[pointer] == code
    assert not Task.objects.exists()


def test_the_pool_of_another_tenant_is_unknown(client, beta):
    Pool.objects.create(tenant=beta, name="batch-etl")

    answer = create(client, daily(target=TARGETS["pool"]))

    assert [error["code"] for error in answer.json()["errors"]] == ["pool_unknown"]


def test_a_payload_over_the_limit_is_413(client, settings):
    answer = create(client, daily(payload="x" * settings.PUNCTUAL.payload_bytes))

    assert answer.status_code == 413
    assert not Task.objects.exists()


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"name": NaN}', b"\xff", b'{"name": "\\u0000"}'])
def test_a_body_that_is_not_a_json_object_is_400(client, body):
    assert create(client, body).status_code == 400


def test_only_json_is_taken(client):
    assert create(client, b"a=b", content_type="text/plain").status_code == 415


def test_a_key_that_may_not_read_learns_what_it_made_and_no_more(alpha, client):
    writer = make_client(alpha, ["write"])

    answer = writer.post("/v1/tasks", daily(), idempotency_key="k1")
    again = writer.post("/v1/tasks", daily(), idempotency_key="k1")

    made = answer["Location"].removeprefix("/v1/tasks/")
    assert answer.status_code == 201
    assert answer.json() == {"id": made, "status": "SCHEDULED", "version": 1}
    assert again.content == answer.content
    assert client.get(answer["Location"]).json()["name"] == "Daily report"


def test_the_same_call_again_is_the_same_task(client):
    first = create(client, daily())
    second = create(client, daily())

    assert (second.status_code, second.content) == (201, first.content)
    assert second["Idempotent-Replayed"] == "true"
    assert second["Location"] == first["Location"]
    assert Task.objects.count() == 1


def test_the_same_key_for_another_body_is_422(client):
    create(client, daily())

    assert create(client, daily(name="Other")).status_code == 422
    assert Task.objects.count() == 1


def test_the_same_key_of_another_tenant_is_another_call(client, stranger):
    create(client, daily())

    assert create(stranger, daily()).status_code == 201


def test_a_call_without_a_key_is_400(client):
    assert client.post("/v1/tasks", daily()).status_code == 400
    assert not Task.objects.exists()


def test_the_creation_is_recorded(client):
    shown = create(client, daily()).json()

    entry = AuditEntry.objects.get(action="task.created")
    assert (entry.object_kind, entry.object_id) == ("task", shown["id"])
    assert entry.actor.startswith("api_key:")


@pytest.mark.parametrize("body", [LONG_NOW, SHORT_NOW])
def test_the_tenants_default_jitter_is_the_tasks_own_from_its_creation_on(client, alpha, body):
    Tenant.objects.filter(pk=alpha.pk).update(default_jitter_seconds=30)
    said = {**LONG_NOW["schedule"], "jitter_seconds": 0}
    unsaid = {key: value for key, value in said.items() if key != "jitter_seconds"}
    wanted = {**body, "schedule": unsaid} if "schedule" in body else body

    shown = create(client, wanted).json()

    assert shown["schedule"]["jitter_seconds"] == 30
    assert (
        create(client, {**LONG_NOW, "schedule": said}, "k2").json()["schedule"]["jitter_seconds"]
        == 0
    )
    Tenant.objects.filter(pk=alpha.pk).update(default_jitter_seconds=60)
    assert client.get(f"/v1/tasks/{shown['id']}").json()["schedule"]["jitter_seconds"] == 30
