from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from events.models import AuditEntry
from shared.actor import COMMAND
from shared.exceptions import Conflict, Forbidden, InvalidInput, NotFound
from tenants.authority import OPERATOR, Authority
from tenants.models import Invitation, Membership
from tenants.services import revoke_api_key
from tenants.services.acceptance import (
    InviterLostRight,
    accept_invitation,
    is_for,
    join_by_invitation,
)
from tenants.services.memberships import change_member, expel_member
from tenants.suspension import TenantSuspended
from tests.support.api import make_key
from tests.support.invitations import ADDRESS, PASSWORD, by, invited, join
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", email="Ada@Example.com")


def test_an_account_of_the_address_joins_as_it_was_offered(alpha, ada):
    _, token = invited(alpha, role="operator", sees_payloads=False)

    made = accept_invitation(token, ada, actor=COMMAND)

    assert (made.user_id, made.role, made.sees_payloads) == (ada.pk, "operator", False)
    entry = AuditEntry.objects.get(action="member.joined", tenant_id=alpha.pk)
    assert '"role":"operator"' in str(entry.after)
    assert token not in str(entry.after)


def test_an_invitation_is_accepted_once(alpha, ada):
    _, token = invited(alpha)
    accept_invitation(token, ada, actor=COMMAND)
    Membership.objects.all().delete()

    with pytest.raises(NotFound):
        accept_invitation(token, ada, actor=COMMAND)
    with pytest.raises(NotFound):
        join_by_invitation(token, PASSWORD, address="")
    assert not Membership.objects.exists()


@pytest.mark.parametrize("end", ["expires_at", "withdrawn_at"])
def test_an_offer_that_ended_is_not_accepted(alpha, ada, end):
    found, token = invited(alpha)
    Invitation.objects.filter(pk=found.pk).update(**{end: timezone.now() - timedelta(seconds=1)})

    with pytest.raises(NotFound):
        accept_invitation(token, ada, actor=COMMAND)


def test_another_account_does_not_accept(alpha):
    found, token = invited(alpha)
    for name, email in (("eve", "eve@example.com"), ("none", ""), (ADDRESS, "eve@example.com")):
        user = User.objects.create_user(name, email=email)
        assert not is_for(found, user)
        with pytest.raises(Forbidden):
            accept_invitation(token, user, actor=COMMAND)

    assert not Membership.objects.exists()


def test_an_inactive_account_does_not_accept(alpha, ada):
    _, token = invited(alpha)
    ada.is_active = False

    with pytest.raises(Forbidden):
        accept_invitation(token, ada, actor=COMMAND)


def test_a_new_person_gets_an_account_of_the_address(alpha):
    _, token = invited(alpha)

    user = join_by_invitation(token, PASSWORD, address="203.0.113.9")

    assert (user.username, user.email) == (ADDRESS, ADDRESS)
    assert user.check_password(PASSWORD)
    assert (user.is_staff, user.is_superuser) == (False, False)
    assert Membership.objects.get(user=user, tenant=alpha).role == "viewer"
    [entry] = AuditEntry.objects.filter(action="user.created")
    assert (entry.actor, entry.address) == (f"user:{user.pk}", "203.0.113.9")
    assert PASSWORD not in str(AuditEntry.objects.values())


@pytest.mark.django_db(transaction=True)
def test_a_password_is_hashed_while_no_transaction_holds_the_members_lock(alpha, monkeypatch):
    _, token = invited(alpha)
    set_password, hashed_within = User.set_password, []

    def hash_slowly(user: User, password: str) -> None:
        hashed_within.append(connection.in_atomic_block)
        set_password(user, password)

    monkeypatch.setattr(User, "set_password", hash_slowly)

    join_by_invitation(token, PASSWORD, address="")

    assert hashed_within == [False]


@pytest.mark.parametrize("password", ["", "short", "12345678901", "password", "x" * 1001])
def test_a_weak_password_makes_no_account(alpha, password):
    _, token = invited(alpha)

    with pytest.raises(InvalidInput):
        join_by_invitation(token, password, address="")
    assert not User.objects.exists()


@pytest.mark.parametrize("account", [("ada", "ADA@example.com"), ("Ada@example.com", "")])
def test_an_address_with_an_account_gets_no_second_one_and_no_new_password(alpha, account):
    name, email = account
    User.objects.create_user(name, email=email, password="her own password")
    _, token = invited(alpha)

    with pytest.raises(Conflict) as refused:
        join_by_invitation(token, PASSWORD, address="")
    assert refused.value.code == "account_exists"
    assert User.objects.get().check_password("her own password")


def test_a_member_by_now_keeps_the_role(alpha, ada):
    _, token = invited(alpha, role="admin")
    Membership.objects.create(user=ada, tenant=alpha, role="viewer")

    with pytest.raises(Conflict):
        accept_invitation(token, ada, actor=COMMAND)
    assert Membership.objects.get().role == "viewer"


def test_an_offer_falls_with_the_right_of_its_inviter(alpha, ada):
    join(alpha, "second", "owner")
    for number, lose in enumerate(
        (
            lambda member: expel_member(alpha.id, member.pk, by=by(member), actor=COMMAND),
            lambda member: change_member(
                alpha.id, member.pk, {"role": "admin"}, by=by(member), actor=COMMAND
            ),
            lambda member: User.objects.filter(pk=member.user_id).update(is_active=False),
            lambda member: User.objects.filter(pk=member.user_id).delete(),
        )
    ):
        inviter = join(alpha, f"inviter-{number}", "owner")
        found, token = invited(alpha, role="owner", by=by(inviter))
        lose(inviter)
        with pytest.raises(InviterLostRight):
            accept_invitation(token, ada, actor=COMMAND)
        Invitation.objects.filter(pk=found.pk).delete()


def test_an_offer_falls_with_the_key_that_made_it(alpha, ada):
    key = make_key(alpha)[0]
    _, token = invited(alpha, by=Authority(key_id=key.id))
    revoke_api_key(alpha.id, key.id, actor=COMMAND, by=OPERATOR)

    with pytest.raises(InviterLostRight):
        accept_invitation(token, ada, actor=COMMAND)


def test_nobody_joins_a_suspended_tenant(alpha, ada):
    _, token = invited(alpha)
    suspend(alpha)

    with pytest.raises(TenantSuspended):
        accept_invitation(token, ada, actor=COMMAND)
    with pytest.raises(TenantSuspended):
        join_by_invitation(token, PASSWORD, address="")
    assert User.objects.count() == 1
