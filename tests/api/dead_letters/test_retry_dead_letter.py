from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.models import DeadLetter, Execution
from executions.payloads import payload_of
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.factories import ApiClient, make_dead_letter


def url(letter_id: UUID) -> str:
    return f"/v1/dlq/{letter_id}/retry"


def retry(client: ApiClient, letter: DeadLetter, body: Any = None, key: str = "1") -> Any:
    return client.post(url(letter.id), body, idempotency_key=key)


def test_a_retry_runs_the_work_again_and_resolves_the_letter(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    answer = retry(client, letter)

    assert answer.status_code == 202, answer.content
    shown = answer.json()
    assert answer["Location"] == f"/v1/executions/{shown['id']}"
    assert (shown["parent_id"], shown["trigger"]) == (str(letter.execution_id), "retry")
    assert payload_of(Execution.objects.get(pk=shown["id"])) == {"n": 1}
    letter.refresh_from_db()
    assert (letter.resolved, letter.resolution) == (True, "retried")
    assert str(letter.retry_execution_id) == shown["id"]
    noted = audited(letter.id, "dead_letter.resolved")
    assert noted["after"]["retry_execution_id"] == shown["id"]
    assert letter.resolved_by == noted["actor"]


@pytest.mark.parametrize("payload", [{"n": 2}, None, False])
def test_an_edited_payload_is_sent_and_kept(client: ApiClient, alpha: Tenant, payload: Any):
    letter = make_dead_letter(alpha)

    answer = retry(client, letter, {"payload": payload})

    assert payload_of(Execution.objects.get(pk=answer.json()["id"])) == payload
    assert audited(letter.id, "dead_letter.resolved")["after"]["edited"] is True


def test_a_resolved_letter_is_409(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)
    retry(client, letter)

    assert problem(retry(client, letter, key="2")) == (409, "already_resolved")
    assert Execution.objects.count() == 2


def test_a_letter_whose_execution_is_past_retention_is_409(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)
    Execution.objects.filter(pk=letter.execution_id).delete()

    assert problem(retry(client, letter)) == (409, "execution_not_kept")
    letter.refresh_from_db()
    assert not letter.resolved


def test_the_key_is_required(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert problem(client.post(url(letter.id))) == (400, "idempotency_key_missing")


def test_the_same_key_makes_one_execution(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    first, second = retry(client, letter), retry(client, letter)

    assert (second.status_code, second.content) == (202, first.content)
    assert second["Idempotent-Replayed"] == "true"
    assert Execution.objects.count() == 2
    assert problem(retry(client, letter, {"payload": 1})) == (422, "idempotency_mismatch")


@pytest.mark.parametrize("body", [{"payloads": 1}, [], b"{", {"resolution": "fixed"}])
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: Any):
    letter = make_dead_letter(alpha)

    assert retry(client, letter, body).status_code == 400
    letter.refresh_from_db()
    assert not letter.resolved


def test_a_payload_over_the_limit_is_413_and_changes_nothing(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert problem(retry(client, letter, {"payload": "x" * 262144})) == (413, "too_large")
    letter.refresh_from_db()
    assert not letter.resolved
