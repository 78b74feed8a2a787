from __future__ import annotations

from typing import Any

import pytest

from shared import windowed_counts
from tenants.models import Invitation
from tenants.services import invitations
from tests.support.invitations import ADDRESS, join

PATH = "/v1/members/invitations"


def test_an_address_is_invited_and_no_answer_has_the_link(client):
    answer = client.post(PATH, {"email": ADDRESS.upper(), "role": "viewer"})

    body = answer.json()
    assert answer.status_code == 201
    assert (body["email"], body["status"], body["sees_payloads"]) == (ADDRESS, "open", False)
    assert client.get(answer.headers["Location"]).json() == body
    assert client.get(PATH).json()["invitations"] == [body]
    assert set(body) == {
        *("id", "email", "role", "sees_payloads", "status", "invited_by", "created_at"),
        *("expires_at", "sent_at", "mail_error"),
    }


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"email": "ada"}, "#/email"),
        ({"email": "a\u202eda@example.com"}, "#/email"),
        ({"email": "a" * 151}, "#/email"),
        ({"email": 5}, "#/email"),
        ({"role": "emperor"}, "#/role"),
        ({"role": "admin", "sees_payloads": False}, "#/sees_payloads"),
    ],
)
def test_a_bad_invitation_is_refused_with_its_place(client, change, pointer):
    answer = client.post(PATH, {"email": ADDRESS, "role": "viewer", **change})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert not Invitation.objects.exists()


def test_a_member_or_a_second_offer_is_a_conflict(alpha, client):
    join(alpha, "bea", "viewer")
    client.post(PATH, {"email": ADDRESS, "role": "viewer"})

    codes = [
        client.post(PATH, {"email": email, "role": "viewer"}).json()["code"]
        for email in ("bea@example.com", ADDRESS)
    ]

    assert codes == ["already_member", "invitation_open"]


def test_a_repeat_of_the_call_sends_one_message(client, monkeypatch):
    counted: list[Any] = []

    def count(names, _):
        counted.extend(names)
        return [1 for _ in names]

    monkeypatch.setattr(windowed_counts, "count", count)
    wanted = {"email": ADDRESS, "role": "viewer"}
    client.post(PATH, wanted, idempotency_key="once")
    answer = client.post(PATH, wanted, idempotency_key="once")

    assert answer.headers["Idempotent-Replayed"] == "true"
    assert Invitation.objects.count() == 1
    # Once of the tenant, and once of the address.
    assert len(counted) == len(set(counted)) == 2


def test_too_many_invitations_are_429_with_the_time_to_wait(client, monkeypatch):
    monkeypatch.setattr(invitations, "MOST_OF_TENANT", 0)

    answer = client.post(PATH, {"email": ADDRESS, "role": "viewer"})

    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_invitations")
    assert int(answer.headers["Retry-After"]) > 0
