from __future__ import annotations

from uuid import UUID

import pytest

from executions.models import Execution
from tenants.models import Tenant
from tests.executions.answers import audited, problem, was_audited
from tests.factories import ApiClient, make_execution


def url(execution_id: UUID) -> str:
    return f"/v1/executions/{execution_id}/cancel"


@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RETRYING"])
def test_what_has_not_started_is_cancelled_at_once(client: ApiClient, alpha: Tenant, status: str):
    execution = make_execution(alpha, status)

    answer = client.post(url(execution.id))

    assert answer.status_code == 202, answer.content
    assert answer["Location"] == f"/v1/executions/{execution.id}"
    shown = answer.json()
    assert (shown["id"], shown["status"], shown["reason"]) == (
        str(execution.id),
        "CANCELLED",
        "cancelled",
    )
    assert shown["finished_at"] is not None
    assert audited(execution.id, "execution.cancelled")["actor"].startswith("api_key:")


def test_a_running_execution_is_asked_to_stop(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha, "RUNNING")

    answer = client.post(url(execution.id), {})

    assert answer.status_code == 202
    assert (answer.json()["status"], answer.json()["reason"]) == ("RUNNING", "cancel_requested")
    assert Execution.objects.get(pk=execution.id).cancel_requested_at is not None


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_finished_execution_is_409(client: ApiClient, alpha: Tenant, status: str):
    execution = make_execution(alpha, status)

    assert problem(client.post(url(execution.id))) == (409, "already_final")
    assert not was_audited("execution.cancelled")


def test_the_same_key_gives_the_first_answer_again(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha)

    first = client.post(url(execution.id), idempotency_key="1")
    second = client.post(url(execution.id), idempotency_key="1")

    assert (second.status_code, second.content) == (202, first.content)
    assert second["Idempotent-Replayed"] == "true"
    assert second["Location"] == first["Location"]
    audited(execution.id, "execution.cancelled")


@pytest.mark.parametrize(
    ("body", "status"),
    [({"reason": "late"}, 400), ([], 400), (b"{", 400), (b'"x"', 400)],
)
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: object, status: int):
    execution = make_execution(alpha)

    assert problem(client.post(url(execution.id), body))[0] == status
    assert Execution.objects.get(pk=execution.id).status == "PENDING"


def test_other_methods_are_405(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha)

    assert problem(client.get(url(execution.id))) == (405, "method_not_allowed")
