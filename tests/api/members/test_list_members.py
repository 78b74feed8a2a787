from __future__ import annotations

from tests.support.invitations import join


def test_the_tenants_own_members_are_listed(alpha, beta, client):
    member, _ = join(alpha, "ada", "viewer", sees_payloads=False), join(beta, "eve", "owner")

    [found] = client.get("/v1/members").json()["members"]

    del found["created_at"]
    assert found == {
        "id": member.pk,
        "name": "ada",
        "email": "ada@example.com",
        "role": "viewer",
        "sees_payloads": False,
        "active": True,
    }
    assert client.get(f"/v1/members/{member.pk}").json()["name"] == "ada"


def test_a_number_that_no_column_holds_is_not_found(client):
    for number in ("0", "9" * 25, "-1", "1.5", "x"):
        assert client.get(f"/v1/members/{number}").status_code == 404
