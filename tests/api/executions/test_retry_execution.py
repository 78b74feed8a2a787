from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.models import Execution
from executions.payloads import payload_of
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.factories import ApiClient, make_execution


def url(execution_id: UUID) -> str:
    return f"/v1/executions/{execution_id}/retry"


def made(answer: Any) -> Execution:
    assert answer.status_code == 202, answer.content
    assert answer["Location"] == f"/v1/executions/{answer.json()['id']}"
    return Execution.objects.get(pk=answer.json()["id"])


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_finished_execution_runs_again_as_a_new_one(
    client: ApiClient, alpha: Tenant, status: str
):
    original = make_execution(alpha, status)

    answer = client.post(url(original.id), idempotency_key="1")

    execution = made(answer)
    shown = answer.json()
    assert execution.id != original.id
    assert (shown["parent_id"], shown["trigger"], shown["status"]) == (
        str(original.id),
        "retry",
        "PENDING",
    )
    assert (shown["attempt"], shown["task_id"]) == (0, str(original.task_id))
    assert payload_of(execution) == {"n": 1}
    assert Execution.objects.get(pk=original.id).status == status
    noted = audited(original.id, "execution.retried")
    assert noted["after"] == {"id": str(execution.id)}


@pytest.mark.parametrize("payload", [{"n": 2}, None, [], "", 0, False])
def test_a_payload_takes_the_place_of_the_original(client: ApiClient, alpha: Tenant, payload: Any):
    original = make_execution(alpha, "FAILED")

    answer = client.post(url(original.id), {"payload": payload}, idempotency_key="1")

    assert payload_of(made(answer)) == payload


def test_a_retry_of_a_retry_keeps_the_edited_payload(client: ApiClient, alpha: Tenant):
    original = make_execution(alpha, "FAILED")
    first = client.post(url(original.id), {"payload": "edited"}, idempotency_key="1")
    client.post(f"/v1/executions/{first.json()['id']}/cancel")

    second = client.post(url(UUID(first.json()["id"])), idempotency_key="2")

    assert payload_of(made(second)) == "edited"
    assert second.json()["parent_id"] == first.json()["id"]


@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RUNNING", "RETRYING"])
def test_an_unfinished_execution_is_409(client: ApiClient, alpha: Tenant, status: str):
    execution = make_execution(alpha, status)

    assert problem(client.post(url(execution.id), idempotency_key="1"))[0] == 409
    assert Execution.objects.count() == 1


def test_the_key_is_required(client: ApiClient, alpha: Tenant):
    original = make_execution(alpha, "FAILED")

    assert problem(client.post(url(original.id))) == (400, "idempotency_key_missing")
    assert Execution.objects.count() == 1


def test_the_same_key_makes_one_execution(client: ApiClient, alpha: Tenant):
    original = make_execution(alpha, "FAILED")

    first = client.post(url(original.id), idempotency_key="1")
    second = client.post(url(original.id), idempotency_key="1")
    other = client.post(url(original.id), {"payload": None}, idempotency_key="1")

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"
    assert problem(other) == (422, "idempotency_mismatch")
    assert Execution.objects.count() == 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"payloads": 1}, "#/payloads"),
        ({"payload": 1, "note": ""}, "#/note"),
        ([1], "#"),
        (b'{"payload": NaN}', "#/payload"),
        (b'{"payload": "\\u0000"}', "#/payload"),
        (b'{"payload": ' + b"[" * 100 + b"]" * 100 + b"}", "#/payload" + "/0" * 63),
    ],
)
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: Any, pointer: str):
    original = make_execution(alpha, "FAILED")

    answer = client.post(url(original.id), body, idempotency_key="1")

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_a_payload_over_the_limit_is_413(client: ApiClient, alpha: Tenant):
    original = make_execution(alpha, "FAILED")
    body = {"payload": "x" * (256 * 1024)}

    answer = client.post(url(original.id), body, idempotency_key="1")

    assert problem(answer) == (413, "too_large")
