from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from events.models import AuditEntry
from shared.actor import COMMAND
from shared.exceptions import Forbidden, InvalidInput, NotFound
from tenants.authority import OPERATOR, Authority
from tenants.models import Membership
from tenants.services import remove_member, set_member
from tenants.services.memberships import (
    LastOwner,
    change_member,
    expel_member,
    get_member,
    transfer_ownership,
)
from tests.support.api import make_key
from tests.support.invitations import by, join

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


def entries(tenant):
    rows = AuditEntry.objects.filter(tenant_id=tenant.pk, object_kind="member")
    return [(row.action, row.before, row.after) for row in rows.order_by("sequence")]


def role_of(member):
    return Membership.objects.get(pk=member.pk).role


def test_a_role_is_given_and_replaced(alpha, ada):
    set_member(alpha.id, ada.pk, "viewer", actor=COMMAND)
    set_member(alpha.id, ada.pk, "owner", actor=COMMAND)
    set_member(alpha.id, ada.pk, "owner", actor=COMMAND)

    assert Membership.objects.get(tenant=alpha, user=ada).role == "owner"
    assert entries(alpha) == [
        ("member.set", None, '{"role":"viewer","sees_payloads":false}'),
        (
            "member.set",
            '{"role":"viewer","sees_payloads":false}',
            '{"role":"owner","sees_payloads":true}',
        ),
    ]


def test_a_role_that_does_not_exist_is_refused(alpha, ada):
    with pytest.raises(InvalidInput):
        set_member(alpha.id, ada.pk, "emperor", actor=COMMAND)


def test_a_role_is_taken_away_once(alpha, ada):
    set_member(alpha.id, ada.pk, "viewer", actor=COMMAND)

    remove_member(alpha.id, ada.pk, actor=COMMAND)

    assert not Membership.objects.filter(tenant=alpha, user=ada).exists()
    with pytest.raises(NotFound):
        remove_member(alpha.id, ada.pk, actor=COMMAND)


def test_an_admin_changes_and_removes_those_below_and_beside(alpha):
    admin, other, viewer = (
        join(alpha, name, role) for name, role in (("a", "admin"), ("b", "admin"), ("v", "viewer"))
    )

    change_member(alpha.id, viewer.pk, {"role": "operator"}, by=by(admin), actor=COMMAND)
    change_member(alpha.id, other.pk, {"role": "viewer"}, by=by(admin), actor=COMMAND)
    expel_member(alpha.id, viewer.pk, by=by(admin), actor=COMMAND)

    assert role_of(other) == "viewer"
    assert not Membership.objects.filter(pk=viewer.pk).exists()


def test_an_admin_neither_changes_removes_nor_makes_an_owner(alpha):
    admin, owner, viewer = (
        join(alpha, name, role) for name, role in (("a", "admin"), ("o", "owner"), ("v", "viewer"))
    )
    join(alpha, "second", "owner")

    for refused in (
        lambda: change_member(alpha.id, owner.pk, {"role": "admin"}, by=by(admin), actor=COMMAND),
        lambda: change_member(alpha.id, viewer.pk, {"role": "owner"}, by=by(admin), actor=COMMAND),
        lambda: change_member(alpha.id, admin.pk, {"role": "owner"}, by=by(admin), actor=COMMAND),
        lambda: expel_member(alpha.id, owner.pk, by=by(admin), actor=COMMAND),
        lambda: transfer_ownership(alpha.id, admin.pk, by=by(admin), actor=COMMAND),
    ):
        with pytest.raises(Forbidden):
            refused()
    assert [role_of(one) for one in (admin, owner, viewer)] == ["admin", "owner", "viewer"]


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_those_below_admins_manage_nobody(alpha, role):
    low, viewer = join(alpha, "low", role), join(alpha, "v", "viewer")

    with pytest.raises(Forbidden):
        change_member(alpha.id, viewer.pk, {"role": "operator"}, by=by(low), actor=COMMAND)
    with pytest.raises(Forbidden):
        expel_member(alpha.id, viewer.pk, by=by(low), actor=COMMAND)


def test_a_right_that_was_lost_meanwhile_changes_nothing(alpha):
    owner, viewer = join(alpha, "o", "owner"), join(alpha, "v", "viewer")
    join(alpha, "second", "owner")
    as_owner = by(owner)
    expel_member(alpha.id, owner.pk, by=OPERATOR, actor=COMMAND)

    with pytest.raises(Forbidden):
        change_member(alpha.id, viewer.pk, {"role": "owner"}, by=as_owner, actor=COMMAND)


def test_a_member_of_another_tenant_is_not_found(alpha, beta):
    owner, theirs = join(alpha, "o", "owner"), join(beta, "v", "viewer")

    for asked in (
        lambda: get_member(alpha.id, theirs.pk),
        lambda: change_member(alpha.id, theirs.pk, {}, by=by(owner), actor=COMMAND),
        lambda: expel_member(alpha.id, theirs.pk, by=by(owner), actor=COMMAND),
        lambda: transfer_ownership(alpha.id, theirs.pk, by=by(owner), actor=COMMAND),
    ):
        with pytest.raises(NotFound):
            asked()


def test_an_owner_of_another_tenant_has_no_authority_here(alpha, beta):
    foreign, viewer = join(beta, "o", "owner"), join(alpha, "v", "viewer")
    key = make_key(beta, owner=True)[0]

    for authority in (by(foreign), Authority(key_id=key.id), Authority()):
        with pytest.raises(Forbidden):
            change_member(alpha.id, viewer.pk, {"role": "admin"}, by=authority, actor=COMMAND)


@pytest.mark.parametrize("authority", ["owner", "operator"])
def test_the_last_owner_stays(alpha, authority):
    owner = join(alpha, "o", "owner")
    gone = join(alpha, "gone", "owner")
    User.objects.filter(pk=gone.user_id).update(is_active=False)
    acting = by(owner) if authority == "owner" else OPERATOR

    with pytest.raises(LastOwner):
        change_member(alpha.id, owner.pk, {"role": "admin"}, by=acting, actor=COMMAND)
    with pytest.raises(LastOwner):
        expel_member(alpha.id, owner.pk, by=acting, actor=COMMAND)
    expel_member(alpha.id, gone.pk, by=acting, actor=COMMAND)


def test_of_two_owners_one_may_go(alpha):
    owner, other = join(alpha, "o", "owner"), join(alpha, "p", "owner")

    change_member(alpha.id, owner.pk, {"role": "admin"}, by=by(owner), actor=COMMAND)

    with pytest.raises(LastOwner):
        expel_member(alpha.id, other.pk, by=by(other), actor=COMMAND)


def test_ownership_goes_from_the_owner_who_asks(alpha):
    owner, other, admin = (
        join(alpha, name, role) for name, role in (("o", "owner"), ("p", "owner"), ("a", "viewer"))
    )

    made = transfer_ownership(alpha.id, admin.pk, by=by(owner), actor=COMMAND)

    assert (made.role, made.sees_payloads) == ("owner", True)
    assert [role_of(one) for one in (owner, other)] == ["admin", "owner"]


def test_the_operator_and_keys_name_the_owner_where_there_are_several(alpha):
    owner, other, admin = (
        join(alpha, name, role) for name, role in (("o", "owner"), ("p", "owner"), ("a", "admin"))
    )
    key = Authority(key_id=make_key(alpha, owner=True)[0].id)

    for former in (None, admin.pk):
        with pytest.raises(InvalidInput):
            transfer_ownership(alpha.id, admin.pk, by=key, actor=COMMAND, from_id=former)
    with pytest.raises(InvalidInput):
        transfer_ownership(alpha.id, other.pk, by=key, actor=COMMAND, from_id=other.pk)
    transfer_ownership(alpha.id, admin.pk, by=key, actor=COMMAND, from_id=other.pk)

    assert [role_of(one) for one in (owner, other, admin)] == ["owner", "admin", "owner"]


@pytest.mark.parametrize("role", ["admin", "owner"])
def test_admins_and_owners_always_see_payloads(alpha, role):
    owner, member = join(alpha, "o", "owner"), join(alpha, "v", "viewer", sees_payloads=False)

    with pytest.raises(InvalidInput):
        change_member(
            alpha.id,
            member.pk,
            {"role": role, "sees_payloads": False},
            by=by(owner),
            actor=COMMAND,
        )
    changed = change_member(alpha.id, member.pk, {"role": role}, by=by(owner), actor=COMMAND)

    assert changed.sees_payloads
    with pytest.raises(InvalidInput):
        change_member(alpha.id, member.pk, {"sees_payloads": False}, by=by(owner), actor=COMMAND)


def test_the_right_to_see_payloads_is_given_and_taken(alpha):
    owner, viewer = join(alpha, "o", "owner"), join(alpha, "v", "viewer")

    for seen in (False, True):
        change_member(alpha.id, viewer.pk, {"sees_payloads": seen}, by=by(owner), actor=COMMAND)
        assert Membership.objects.get(pk=viewer.pk).sees_payloads is seen

    assert entries(alpha)[-1] == (
        "member.set",
        '{"sees_payloads":false}',
        '{"sees_payloads":true}',
    )
