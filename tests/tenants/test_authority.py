from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from shared.actor import COMMAND
from shared.exceptions import Forbidden, NotFound
from shared.ids import new_id
from tenants.authority import OPERATOR, Authority, lock_members, require_reach, role_of
from tenants.choices import Role
from tenants.models import ApiKey
from tenants.services import revoke_api_key
from tests.support.api import make_key
from tests.support.invitations import by, join

pytestmark = pytest.mark.django_db


def test_members_are_managed_by_admins_owners_their_keys_and_the_operator(alpha):
    keys = {owner: Authority(key_id=make_key(alpha, owner=owner)[0].id) for owner in (False, True)}

    assert role_of(alpha.id, by(join(alpha, "a", "admin"))) is Role.ADMIN
    assert role_of(alpha.id, by(join(alpha, "o", "owner"))) is Role.OWNER
    assert role_of(alpha.id, keys[False]) is Role.ADMIN
    assert role_of(alpha.id, keys[True]) is Role.OWNER
    assert role_of(alpha.id, OPERATOR) is Role.OWNER


def test_nobody_else_manages_members(alpha, beta):
    inactive = join(alpha, "i", "owner")
    User.objects.filter(pk=inactive.user_id).update(is_active=False)
    revoked, expired = make_key(alpha, owner=True)[0], make_key(alpha, owner=True)[0]
    revoke_api_key(alpha.id, revoked.id, actor=COMMAND, by=OPERATOR)
    past = timezone.now() - timedelta(seconds=1)
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=past)

    for authority in (
        by(join(alpha, "v", "viewer")),
        by(join(alpha, "p", "operator")),
        by(join(beta, "f", "owner")),
        by(inactive),
        Authority(key_id=make_key(alpha, ["write"])[0].id),
        Authority(key_id=make_key(alpha, ["read"], owner=True)[0].id),
        Authority(key_id=make_key(beta, owner=True)[0].id),
        Authority(key_id=revoked.id),
        Authority(key_id=expired.id),
        Authority(key_id=new_id()),
        Authority(),
    ):
        with pytest.raises(Forbidden):
            role_of(alpha.id, authority)


def test_owners_alone_reach_owners():
    require_reach(Role.OWNER, "owner", "viewer")
    require_reach(Role.ADMIN, "admin", "viewer")
    with pytest.raises(Forbidden):
        require_reach(Role.ADMIN, "viewer", "owner")


def test_a_tenant_that_is_gone_has_no_members_to_lock():
    with pytest.raises(NotFound):
        lock_members(new_id())
