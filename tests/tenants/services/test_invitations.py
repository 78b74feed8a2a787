from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from events.models import AuditEntry
from shared import windowed_counts
from shared.actor import COMMAND
from shared.exceptions import Conflict, Forbidden, InvalidInput, NotFound, Unavailable
from tenants.authority import OPERATOR, Authority
from tenants.models import Invitation, Membership
from tenants.services import invitations
from tenants.services.invitations import (
    TooManyInvitations,
    find_invitation,
    get_invitation,
    hash_token,
    issue_token,
    note_sent,
    resend_invitation,
    withdraw_invitation,
)
from tenants.suspension import TenantSuspended
from tests.support.api import make_key
from tests.support.closed_redis import closed_redis
from tests.support.invitations import ADDRESS, by, invite, invited, join
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db


def expire(invitation):
    past = timezone.now() - timedelta(seconds=1)
    Invitation.objects.filter(pk=invitation.pk).update(expires_at=past)


def test_an_offer_lasts_seven_days_and_stores_only_the_hash_of_its_token(alpha):
    found, token = invited(alpha, role="operator")

    assert found.expires_at - found.created_at == timedelta(days=7)
    assert found.token_hash == hash_token(token) != token.encode()
    assert token not in str(Invitation.objects.values())
    assert find_invitation(token).id == found.id
    audit = AuditEntry.objects.filter(action="member.invited")
    assert token not in str(list(audit.values()))


def test_viewers_are_not_offered_the_sight_of_payloads_unless_it_is_said(alpha):
    asked: list[dict[str, Any]] = [
        {},
        {"sees_payloads": True},
        {"role": "operator"},
        {"role": "admin"},
    ]
    offered = [
        invite(alpha, email=f"{number}@example.com", **parts).sees_payloads
        for number, parts in enumerate(asked)
    ]

    assert offered == [False, True, True, True]
    with pytest.raises(InvalidInput):
        invite(alpha, role="admin", sees_payloads=False)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ada",
        "ada@",
        "a\u202eda@example.com",
        "a\u200bda@example.com",
        "ada@exa\u00admple.com",
        "аda@example.com",
        "ada@example.com\nBcc: eve@example.com",
        "ada@example.com\x00",
        f"{'a' * 60}@{'b' * 60}.{'c' * 40}.example.com",
        "a b@example.com",
    ],
)
def test_an_address_that_is_none_or_looks_like_another_is_refused(alpha, address):
    with pytest.raises(InvalidInput) as refused:
        invite(alpha, email=address)

    assert refused.value.errors[0].pointer == "#/email"


def test_an_address_has_one_open_offer_in_whatever_spelling(alpha, beta):
    invite(alpha)
    invite(beta)

    with pytest.raises(Conflict) as refused:
        invite(alpha, email=" ADA@Example.com ")
    assert refused.value.code == "invitation_open"


def test_an_expired_offer_gives_way_to_a_new_one(alpha):
    old, token = invited(alpha)
    expire(old)

    made = invite(alpha)

    assert made.id != old.id
    with pytest.raises(NotFound):
        find_invitation(token)


@pytest.mark.parametrize("account", [{"email": "Ada@Example.com"}, {}])
def test_a_member_is_not_invited(alpha, account):
    user = User.objects.create_user("ada" if account else "Ada@example.com", **account)
    Membership.objects.create(user=user, tenant=alpha, role="viewer")

    with pytest.raises(Conflict) as refused:
        invite(alpha)
    assert refused.value.code == "already_member"


def test_only_owners_offer_ownership(alpha):
    admin, owner = join(alpha, "a", "admin"), join(alpha, "o", "owner")
    keys = {is_owner: make_key(alpha, owner=is_owner)[0].id for is_owner in (False, True)}

    for authority in (by(admin), Authority(key_id=keys[False])):
        with pytest.raises(Forbidden):
            invite(alpha, role="owner", by=authority)
    invite(alpha, role="owner", by=by(owner))
    invite(alpha, role="owner", by=Authority(key_id=keys[True]), email="b@example.com")


def test_an_admin_neither_sends_nor_withdraws_an_offer_of_ownership(alpha):
    admin = join(alpha, "a", "admin")
    offer = invite(alpha, role="owner")

    for change in (resend_invitation, withdraw_invitation):
        with pytest.raises(Forbidden):
            change(alpha.id, offer.id, by=by(admin), actor=COMMAND)


def test_those_below_admins_invite_nobody(alpha):
    operator = join(alpha, "a", "operator")
    key = make_key(alpha, ["read", "write", "operate", "worker"])[0]

    for authority in (by(operator), Authority(key_id=key.id), Authority()):
        with pytest.raises(Forbidden):
            invite(alpha, by=authority)


def test_a_new_token_makes_the_earlier_one_worthless(alpha):
    found, token = invited(alpha)

    issued = issue_token(found.id)

    assert issued is not None
    assert find_invitation(issued[1]).id == found.id
    with pytest.raises(NotFound):
        find_invitation(token)


def test_an_offer_sent_again_lasts_anew_under_the_right_of_its_sender(alpha):
    admin = join(alpha, "a", "admin")
    found, token = invited(alpha)
    expire(found)

    renewed = resend_invitation(alpha.id, found.id, by=by(admin), actor=COMMAND)

    assert renewed.is_open_at(timezone.now())
    assert (renewed.inviter_id, renewed.by_operator) == (admin.user_id, False)
    with pytest.raises(NotFound):
        find_invitation(token)


def test_a_withdrawn_offer_is_over(alpha):
    found, token = invited(alpha)

    withdraw_invitation(alpha.id, found.id, by=OPERATOR, actor=COMMAND)
    withdraw_invitation(alpha.id, found.id, by=OPERATOR, actor=COMMAND)

    assert issue_token(found.id) is None
    with pytest.raises(NotFound):
        find_invitation(token)
    with pytest.raises(Conflict):
        resend_invitation(alpha.id, found.id, by=OPERATOR, actor=COMMAND)
    invite(alpha)


def test_an_offer_of_another_tenant_is_not_found(alpha, beta):
    offer = invite(beta)

    for asked in (
        lambda: get_invitation(alpha.id, offer.id),
        lambda: resend_invitation(alpha.id, offer.id, by=OPERATOR, actor=COMMAND),
        lambda: withdraw_invitation(alpha.id, offer.id, by=OPERATOR, actor=COMMAND),
    ):
        with pytest.raises(NotFound):
            asked()


@pytest.mark.parametrize("token", ["", "made-up", "x" * 5000, "\ud800"])
def test_a_made_up_token_finds_nothing(alpha, token):
    invite(alpha)

    with pytest.raises(NotFound):
        find_invitation(token)


def test_a_suspended_tenant_invites_nobody(alpha):
    found = invite(alpha)
    suspend(alpha)

    assert issue_token(found.id) is None
    with pytest.raises(TenantSuspended):
        invite(alpha, email="b@example.com")


def test_messages_are_limited_by_tenant_and_by_address(alpha, beta, monkeypatch):
    monkeypatch.setattr(invitations, "MOST_OF_TENANT", 2)
    monkeypatch.setattr(invitations, "MOST_TO_ADDRESS", 2)
    owners = {tenant: join(tenant, tenant.name, "owner") for tenant in (alpha, beta)}

    def send(tenant, name):
        return invite(tenant, email=f"{name}@limited.example.com", by=by(owners[tenant]))

    send(alpha, "one")
    offer = send(alpha, "two")
    with pytest.raises(TooManyInvitations):
        send(alpha, "three")
    with pytest.raises(TooManyInvitations):
        resend_invitation(alpha.id, offer.id, by=by(owners[alpha]), actor=COMMAND)
    invite(alpha, email="four@limited.example.com")
    # Another tenant's messages to the address count for that tenant alone.
    send(beta, "two")


def test_messages_of_a_tenant_to_one_address_are_limited(alpha, beta, monkeypatch):
    monkeypatch.setattr(invitations, "MOST_TO_ADDRESS", 2)
    owners = {tenant: join(tenant, tenant.name, "owner") for tenant in (alpha, beta)}
    offers = {
        tenant: invite(tenant, email="one@limited.example.com", by=by(owners[tenant]))
        for tenant in (alpha, beta)
    }

    resend_invitation(alpha.id, offers[alpha].id, by=by(owners[alpha]), actor=COMMAND)
    with pytest.raises(TooManyInvitations):
        resend_invitation(alpha.id, offers[alpha].id, by=by(owners[alpha]), actor=COMMAND)
    resend_invitation(beta.id, offers[beta].id, by=by(owners[beta]), actor=COMMAND)


def test_without_redis_only_the_operator_invites(alpha, monkeypatch):
    owner = join(alpha, "o", "owner")

    monkeypatch.setattr(windowed_counts, "client", closed_redis)

    with pytest.raises(Unavailable):
        invite(alpha, by=by(owner))
    invite(alpha)


def test_a_tenant_has_a_bounded_number_of_open_offers(alpha, monkeypatch):
    monkeypatch.setattr(invitations, "MOST_OPEN", 1)
    invite(alpha)

    with pytest.raises(TooManyInvitations):
        invite(alpha, email="b@example.com")


def test_ended_offers_are_forgotten_after_a_month(alpha):
    old = invite(alpha)
    long_ago = timezone.now() - timedelta(days=31)
    Invitation.objects.filter(pk=old.pk).update(withdrawn_at=long_ago)

    invite(alpha, email="b@example.com")

    assert not Invitation.objects.filter(email=ADDRESS).exists()


def test_what_became_of_the_message_is_noted(alpha):
    offer = invite(alpha)

    note_sent(offer.id, "x" * 500)
    offer.refresh_from_db()
    assert (offer.sent_at, len(offer.mail_error)) == (None, 300)
    note_sent(offer.id)
    offer.refresh_from_db()
    assert offer.sent_at is not None
    assert offer.mail_error == ""


@pytest.mark.logs("invitation.not_counted")
def test_a_message_of_the_operator_goes_out_uncounted_while_redis_is_away(alpha, monkeypatch):
    made = invite(alpha)
    monkeypatch.setattr(windowed_counts, "client", closed_redis)

    assert invitations.may_send(made)
    invitations.count_sent(made)
