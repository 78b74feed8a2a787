from __future__ import annotations

from tenants.models import Membership
from tests.support.invitations import join


def test_a_member_is_removed_once(alpha, client):
    path = f"/v1/members/{join(alpha, 'ada', 'admin').pk}"

    assert client.delete(path).status_code == 204
    assert client.delete(path).status_code == 404
    assert not Membership.objects.exists()


def test_the_last_owner_is_not_removed(alpha, owner):
    member = join(alpha, "ada", "owner")

    answer = owner.delete(f"/v1/members/{member.pk}")

    assert (answer.status_code, answer.json()["code"]) == (409, "last_owner")
