from __future__ import annotations

from tenants.choices import Role, sees_by_default


def test_roles_stand_in_the_order_of_their_rights():
    assert sorted(Role, key=lambda role: role.rank) == ["viewer", "operator", "admin", "owner"]


def test_all_but_viewers_see_payloads_unless_told():
    assert [sees_by_default(role) for role in Role] == [False, True, True, True]
