from __future__ import annotations

from uuid import uuid4

import pytest

from executions.erasure import steps
from executions.models import Erasure
from tenants.models import Tenant
from tests.factories import ApiClient, make_task, once
from tests.support.api import make_client

pytestmark = pytest.mark.django_db


def test_a_task_is_erased_and_its_certificate_read(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)

    answer = client.post(f"/v1/tasks/{task.id}/erase", {"reason": "asked for"})

    shown = answer.json()
    assert answer.status_code == 202
    assert answer["Location"] == f"/v1/erasures/{shown['id']}"
    assert (shown["status"], shown["object_id"]) == ("RUNNING", str(task.id))
    while steps.run_some(Erasure.objects.get().id):
        pass
    certificate = client.get(answer["Location"]).json()
    assert certificate["status"] == "COMPLETED"
    assert certificate["counts"]["tasks"] == 1
    assert "backups" in certificate["by_hand"]
    assert client.get("/v1/erasures").json()["erasures"] == [certificate]


def test_a_repeat_under_the_same_key_gets_the_same_answer_also_afterwards(
    client: ApiClient, alpha: Tenant
):
    task = make_task(alpha)
    path, body = f"/v1/tasks/{task.id}/erase", {"reason": "asked for"}
    first = client.post(path, body, idempotency_key="once")
    while steps.run_some(Erasure.objects.get().id):
        pass

    assert client.post(path, body, idempotency_key="once").json() == first.json()
    assert Erasure.objects.count() == 1


def test_the_stored_answer_that_made_the_task_has_no_content_afterwards(
    client: ApiClient, alpha: Tenant
):
    body = once(name="secret-name")
    made = client.post("/v1/tasks", body, idempotency_key="make")
    assert made.status_code == 201, made.content
    client.post(f"/v1/tasks/{made.json()['id']}/erase", {"reason": "asked for"})
    while steps.run_some(Erasure.objects.get().id):
        pass

    again = client.post("/v1/tasks", body, idempotency_key="make")

    assert (again.status_code, again.json()) == (201, {"erased": True})


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": 5}, {"reason": "x" * 501}])
def test_a_wrong_reason_is_refused_with_its_place(
    client: ApiClient, alpha: Tenant, body: dict[str, object]
):
    answer = client.post(f"/v1/tasks/{make_task(alpha).id}/erase", body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/reason"


def test_a_second_one_is_a_conflict_while_the_first_is_under_way(client: ApiClient, alpha: Tenant):
    path = f"/v1/tasks/{make_task(alpha).id}/erase"
    client.post(path, {"reason": "asked for"})

    answer = client.post(path, {"reason": "asked for"})

    assert (answer.status_code, answer.json()["code"]) == (409, "already_erasing")


@pytest.mark.parametrize("scope", ["read", "write", "operate", "worker"])
def test_it_needs_the_scope_admin(alpha: Tenant, scope: str):
    task = make_task(alpha)
    weaker = make_client(alpha, [scope])

    for answer in (
        weaker.post(f"/v1/tasks/{task.id}/erase", {"reason": "asked for"}),
        weaker.get("/v1/erasures"),
        weaker.get(f"/v1/erasures/{uuid4()}"),
    ):
        assert answer.status_code == 403


def test_another_tenants_task_is_not_found(stranger: ApiClient, alpha: Tenant):
    task = make_task(alpha)

    assert stranger.post(f"/v1/tasks/{task.id}/erase", {"reason": "x"}).status_code == 404
    assert not Erasure.objects.exists()
