from __future__ import annotations

import pytest

from tenants.models import Membership
from tests.support.invitations import join


def test_ownership_goes_from_the_only_owner(alpha, owner):
    former, member = join(alpha, "ada", "owner"), join(alpha, "bea", "viewer")

    answer = owner.post(f"/v1/members/{member.pk}/transfer", {})

    assert (answer.status_code, answer.json()["role"]) == (200, "owner")
    assert Membership.objects.get(pk=former.pk).role == "admin"


@pytest.mark.parametrize("former", ["x", 0, 2**63, True])
def test_a_bad_owner_is_refused_with_its_place(alpha, owner, former):
    join(alpha, "ada", "owner")
    member = join(alpha, "bea", "viewer")

    answer = owner.post(f"/v1/members/{member.pk}/transfer", {"from": former})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/from"


def test_a_key_of_no_owner_transfers_nothing(alpha, client):
    join(alpha, "ada", "owner")
    member = join(alpha, "bea", "viewer")

    assert client.post(f"/v1/members/{member.pk}/transfer", {}).status_code == 403
