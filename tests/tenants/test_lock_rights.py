from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from shared.exceptions import Forbidden, NotFound
from tenants.authority import OPERATOR, Authority, lock_rights, role_of
from tenants.choices import SCOPES
from tenants.models import ApiKey, Membership
from tenants.rights import Rights
from tests.support.api import make_key

HERE = "10.0.0.1"


def test_a_keys_rights_are_those_of_its_row(alpha):
    key, _ = make_key(alpha, ["admin", "read"], owner=True)
    end = timezone.now() + timedelta(days=1)
    ApiKey.objects.filter(pk=key.pk).update(addresses=["10.0.0.0/8"], expires_at=end)

    own, target = lock_rights(alpha.id, Authority(key_id=key.id), address=HERE, key_id=key.id)

    assert own == Rights(frozenset({"admin", "read"}), True, end, ("10.0.0.0/8",))
    assert target is not None
    assert target.pk == key.pk


@pytest.mark.parametrize(
    "change",
    [
        {"revoked_at": timezone.now()},
        {"expires_at": timezone.now() - timedelta(seconds=1)},
        {"scopes": ["read"]},
        {"addresses": ["192.0.2.0/24"]},
    ],
    ids=["revoked", "expired", "without admin", "for other addresses"],
)
def test_a_key_that_was_narrowed_while_its_call_was_under_way_changes_nothing(alpha, change):
    key, _ = make_key(alpha)
    ApiKey.objects.filter(pk=key.pk).update(**change)

    with pytest.raises(Forbidden):
        lock_rights(alpha.id, Authority(key_id=key.id), address=HERE)


def test_a_key_of_another_tenant_is_no_authority_and_no_target(alpha, beta):
    own, other = make_key(alpha)[0], make_key(beta)[0]

    with pytest.raises(Forbidden):
        lock_rights(alpha.id, Authority(key_id=other.id), address=HERE)
    with pytest.raises(NotFound):
        lock_rights(alpha.id, Authority(key_id=own.id), address=HERE, key_id=other.id)


@pytest.mark.parametrize(("role", "owner"), [("admin", False), ("owner", True)])
def test_admins_and_owners_have_every_scope(alpha, role, owner):
    user = User.objects.create_user("ada")
    Membership.objects.create(user=user, tenant=alpha, role=role)

    own, _ = lock_rights(alpha.id, Authority(user_id=user.pk), address=HERE)

    assert own == Rights(frozenset(SCOPES), owner=owner)


@pytest.mark.parametrize("case", ["viewer", "operator", "inactive", "of another tenant", "removed"])
def test_a_member_that_lost_its_role_changes_nothing(alpha, beta, case):
    role = case if case in ("viewer", "operator") else "owner"
    user = User.objects.create_user("ada", is_active=case != "inactive")
    tenant = beta if case == "of another tenant" else alpha
    member = Membership.objects.create(user=user, tenant=tenant, role=role)
    if case == "removed":
        member.delete()

    with pytest.raises(Forbidden):
        lock_rights(alpha.id, Authority(user_id=user.pk), address=HERE)


def test_a_token_has_the_rights_that_it_was_signed_with_and_the_operator_all(alpha):
    rights = Rights(frozenset({"admin"}))

    assert lock_rights(alpha.id, Authority(token=rights), address=HERE) == (rights, None)
    assert lock_rights(alpha.id, OPERATOR) == (None, None)


def test_an_authority_that_names_none_has_no_rights(alpha):
    with pytest.raises(Forbidden):
        lock_rights(alpha.id, Authority(), address=HERE)


def test_a_token_changes_no_members(alpha):
    with pytest.raises(Forbidden):
        role_of(alpha.id, Authority(token=Rights(frozenset(SCOPES), owner=True)))
