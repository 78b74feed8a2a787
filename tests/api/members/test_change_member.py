from __future__ import annotations

import pytest

from events.models import AuditEntry
from tenants.models import Membership
from tests.support.invitations import join


def test_a_role_and_the_right_to_see_payloads_are_changed(alpha, client):
    member = join(alpha, "ada", "admin")

    answer = client.patch(f"/v1/members/{member.pk}", {"role": "operator", "sees_payloads": False})

    assert answer.status_code == 200
    assert (answer.json()["role"], answer.json()["sees_payloads"]) == ("operator", False)
    assert AuditEntry.objects.get(action="member.set").actor.startswith("api_key:")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"role": "emperor"}, "#/role"),
        ({"role": None}, "#/role"),
        ({"sees_payloads": "no"}, "#/sees_payloads"),
        ({"role": "admin", "sees_payloads": False}, "#/sees_payloads"),
        ({"name": "eve"}, "#/name"),
    ],
)
def test_a_bad_change_is_refused_with_its_place(alpha, client, change, pointer):
    member = join(alpha, "ada", "viewer")

    answer = client.patch(f"/v1/members/{member.pk}", change)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert Membership.objects.get().role == "viewer"


def test_the_last_owner_stays(alpha, owner):
    member = join(alpha, "ada", "owner")

    answer = owner.patch(f"/v1/members/{member.pk}", {"role": "viewer"})

    assert (answer.status_code, answer.json()["code"]) == (409, "last_owner")


def test_a_repeat_of_a_change_changes_nothing_more(alpha, client):
    member = join(alpha, "ada", "viewer")
    path = f"/v1/members/{member.pk}"
    client.patch(path, {"role": "operator"}, idempotency_key="once")
    client.patch(path, {"role": "admin"})

    again = client.patch(path, {"role": "operator"}, idempotency_key="once")

    assert again.headers["Idempotent-Replayed"] == "true"
    assert Membership.objects.get().role == "admin"
