from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.models import DeadLetter, Execution
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.factories import ApiClient, make_dead_letter


def url(letter_id: UUID) -> str:
    return f"/v1/dlq/{letter_id}/resolve"


def test_a_letter_is_closed_without_running_again(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    answer = client.post(url(letter.id), {"resolution": "refunded", "note": "By hand."})

    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert (shown["resolved"], shown["resolution"], shown["note"]) == (True, "refunded", "By hand.")
    assert shown["resolved_by"].startswith("api_key:")
    assert shown["resolved_at"] is not None
    assert shown["retry_execution_id"] is None
    assert Execution.objects.count() == 1
    noted = audited(letter.id, "dead_letter.resolved")
    assert noted["after"] == {"resolution": "refunded", "note": "By hand."}


@pytest.mark.parametrize("body", [None, {}, {"note": ""}])
def test_what_is_left_out_has_a_default(client: ApiClient, alpha: Tenant, body: Any):
    letter = make_dead_letter(alpha)

    shown = client.post(url(letter.id), body).json()

    assert (shown["resolution"], shown["note"]) == ("fixed", "")


def test_a_resolved_letter_is_409(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)
    client.post(url(letter.id))

    assert problem(client.post(url(letter.id))) == (409, "already_resolved")


def test_the_same_key_gives_the_first_answer_again(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    first = client.post(url(letter.id), {}, idempotency_key="1")
    second = client.post(url(letter.id), {}, idempotency_key="1")

    assert (second.status_code, second.content) == (200, first.content)
    assert second["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"resolution": ""}, "#/resolution"),
        ({"resolution": "  "}, "#/resolution"),
        ({"resolution": "x" * 41}, "#/resolution"),
        ({"resolution": None}, "#/resolution"),
        ({"resolution": 1}, "#/resolution"),
        ({"resolution": "retried"}, "#/resolution"),
        ({"resolution": "archived"}, "#/resolution"),
        ({"note": None}, "#/note"),
        ({"note": "x" * 1001}, "#/note"),
        ({"comment": ""}, "#/comment"),
    ],
)
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: Any, pointer: str):
    letter = make_dead_letter(alpha)

    answer = client.post(url(letter.id), body)

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert not DeadLetter.objects.get().resolved
