from __future__ import annotations

import pytest

from events.audit import verify
from events.models import AuditEntry
from tasks.models import Task, TaskRevision
from tests.factories import daily, make_client, once
from tests.support.recounting import recounts
from tests.tasks.bodies import SHORT

SHORT_NOW = {**SHORT, "end_date": None}


def create(client, tasks, key="k1", **parts):
    return client.post("/v1/tasks/bulk", {"tasks": tasks, **parts}, idempotency_key=key)


@recounts("bulk.created")
def test_each_definition_has_its_own_result(client, alpha):
    answer = create(client, [daily(), daily(priority=77), SHORT_NOW, "text", once()])

    assert answer.status_code == 200
    body = answer.json()
    assert (body["created"], body["failed"]) == (3, 2)
    assert [row["index"] for row in body["results"]] == [0, 1, 2, 3, 4]
    assert [row["status"] for row in body["results"]] == [201, 400, 201, 400, 201]
    assert body["results"][1]["problem"]["errors"][0]["pointer"] == "#/priority"
    assert body["results"][1]["problem"]["code"] == "invalid"
    assert body["results"][0]["task"]["version"] == 1
    shown = {row["task"]["id"] for row in body["results"] if "task" in row}
    assert shown == {str(key) for key in Task.objects.values_list("id", flat=True)}
    assert TaskRevision.objects.count() == 3
    assert client.get(f"/v1/tasks/{body['results'][2]['task']['id']}").status_code == 200


def test_all_or_nothing_creates_all(client):
    body = create(client, [daily(), once()], atomic=True).json()

    assert (body["created"], body["failed"]) == (2, 0)
    assert Task.objects.count() == 2


def test_all_or_nothing_creates_nothing_and_names_what_is_wrong(client):
    answer = create(client, [daily(), daily(priority=77), daily(oops=1)], atomic=True)

    assert answer.status_code == 400
    pointers = [error["pointer"] for error in answer.json()["errors"]]
    assert pointers == ["#/tasks/1/priority", "#/tasks/2/oops"]
    assert not Task.objects.exists()
    assert not AuditEntry.objects.filter(action="task.created").exists()


def test_a_payload_over_the_limit_is_413_for_its_definition_alone(client, settings):
    large = daily(payload="x" * settings.PUNCTUAL.payload_bytes)

    body = create(client, [daily(), large]).json()

    assert [row["status"] for row in body["results"]] == [201, 413]
    assert create(client, [daily(), large], "k2", atomic=True).status_code == 413
    assert Task.objects.count() == 1


def test_a_body_of_many_megabytes_is_taken(client):
    tasks = [daily(payload="x" * 200_000) for _ in range(20)]

    assert create(client, tasks).json()["created"] == 20


def test_a_body_over_16_mib_is_413(client):
    body = b'{"tasks": ["' + b"x" * (16 * 1024 * 1024) + b'"]}'

    answer = client.post("/v1/tasks/bulk", body, idempotency_key="k1")

    assert answer.status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"tasks": []},
        {"tasks": {}},
        {"tasks": None},
        {"tasks": [{}] * 10_001},
        {"tasks": [{}], "atomic": "yes"},
        {"tasks": [{}], "oops": 1},
    ],
)
def test_what_is_not_valid_is_refused(client, body):
    answer = client.post("/v1/tasks/bulk", body, idempotency_key="k1")

    assert answer.status_code == 400
    assert not Task.objects.exists()


def test_a_thousand_tasks_cost_few_statements(client, django_assert_max_num_queries):
    client.get("/v1/tasks")

    with django_assert_max_num_queries(100):
        body = create(client, [daily(name=str(number)) for number in range(1000)]).json()

    assert body["created"] == 1000


def test_the_tasks_are_the_callers_tenants(client, stranger):
    create(client, [daily()])

    assert stranger.get("/v1/tasks").json()["tasks"] == []


def test_the_same_call_again_is_the_same_tasks(client):
    first = create(client, [daily(), daily(priority=77)])
    second = create(client, [daily(), daily(priority=77)])

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
    assert Task.objects.count() == 1
    assert create(client, [once()]).status_code == 422
    assert client.post("/v1/tasks/bulk", {"tasks": [once()]}).status_code == 400


def test_every_creation_is_recorded(client, alpha):
    create(client, [daily(), once()])

    assert AuditEntry.objects.filter(action="task.created").count() == 2
    assert verify(alpha.id)[1] is None


def test_a_key_that_may_not_read_learns_what_it_made_and_no_more(alpha):
    answer = create(make_client(alpha, ["write"]), [daily(), daily(priority=77)])

    made, refused = answer.json()["results"]
    assert set(made["task"]) == {"id", "status", "version"}
    assert refused["problem"]["errors"][0]["pointer"] == "#/priority"
