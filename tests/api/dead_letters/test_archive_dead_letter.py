from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.models import DeadLetter
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.factories import ApiClient, make_dead_letter


def url(letter_id: UUID) -> str:
    return f"/v1/dlq/{letter_id}/archive"


def test_a_letter_is_resolved_as_archived(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    answer = client.post(url(letter.id), {"note": "Old."})

    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert (shown["resolved"], shown["resolution"], shown["note"]) == (True, "archived", "Old.")
    noted = audited(letter.id, "dead_letter.resolved")
    assert noted["after"] == {"resolution": "archived", "note": "Old."}
    assert shown["resolved_by"] == noted["actor"]


def test_the_note_may_be_left_out(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert client.post(url(letter.id)).json()["note"] == ""


def test_a_resolved_letter_is_409(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)
    client.post(url(letter.id))

    assert problem(client.post(url(letter.id))) == (409, "already_resolved")


def test_the_same_key_gives_the_first_answer_again(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)

    first = client.post(url(letter.id), idempotency_key="1")
    second = client.post(url(letter.id), idempotency_key="1")

    assert second.content == first.content
    assert second["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(
    "body", [{"note": 1}, {"note": None}, {"note": "x" * 1001}, {"resolution": "fixed"}, []]
)
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: Any):
    letter = make_dead_letter(alpha)

    assert client.post(url(letter.id), body).status_code == 400
    assert not DeadLetter.objects.get().resolved
