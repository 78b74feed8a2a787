from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from notifications.live_access import (
    Access,
    admit_by_session,
    admit_by_ticket,
    is_still_valid,
    seconds_left,
)
from notifications.tickets import Holder, issue
from shared.conf import conf
from tenants.choices import SignInEnd
from tenants.models import ApiKey, Membership, SignIn, Tenant
from tenants.services.sign_ins import SIGN_IN, end_sign_ins
from tests.factories import ACTOR, make_key, make_tenant
from tests.support.live import log_in, make_member
from tests.support.tokens import ISSUER, issuer_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha() -> Tenant:
    return make_tenant("Alpha")


def session_of(cookie: str) -> SessionStore:
    return SessionStore(cookie.partition("=")[2])


def admitted(tenant: Tenant, **session: Any) -> Access:
    user = make_member(tenant)
    access = admit_by_session(user, session_of(log_in(user, **session)))
    assert access is not None
    return access


def test_a_member_is_admitted_to_the_tenant(alpha: Tenant):
    access = admitted(alpha)

    assert access.tenant_id == alpha.id
    assert is_still_valid(access)


def test_the_first_tenant_is_the_one_that_the_console_shows(alpha: Tenant):
    user = make_member(make_tenant("Zeta"))
    Membership.objects.create(user=user, tenant=alpha, role="viewer")

    access = admit_by_session(user, session_of(log_in(user)))

    assert access is not None
    assert access.tenant_id == alpha.id


def test_strangers_are_not_admitted(alpha: Tenant):
    user = make_member(None)

    assert admit_by_session(AnonymousUser(), SessionStore()) is None
    assert admit_by_session(user, session_of(log_in(user))) is None


def test_a_suspended_tenant_has_no_listeners(alpha: Tenant):
    access = admitted(alpha)
    Tenant.objects.update(suspended_at=timezone.now())

    assert not is_still_valid(access)


def test_an_expired_session_ends_the_access(alpha: Tenant):
    access = admitted(alpha)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))

    assert not is_still_valid(access)


def test_a_session_of_somebody_else_ends_the_access(alpha: Tenant):
    access = admitted(alpha)
    other = session_of(log_in(make_member(alpha, "bob")))

    assert not is_still_valid(
        Access(alpha.id, user_id=access.user_id, session_key=other.session_key or "")
    )


def test_membership_in_another_tenant_is_not_enough(alpha: Tenant):
    access = admitted(alpha)
    Membership.objects.update(tenant=make_tenant("Beta"))

    assert not is_still_valid(access)


@pytest.mark.parametrize(
    "change",
    [
        {"revoked_at": timezone.now()},
        {"expires_at": timezone.now() - timedelta(seconds=1)},
        {"scopes": ["write"]},
        {"addresses": ["203.0.113.0/24"]},
        {"tenant": "Beta"},
    ],
    ids=["revoked", "expired", "without read", "for other addresses", "of another tenant"],
)
def test_a_ticket_is_worth_no_more_than_its_key(alpha: Tenant, change: dict[str, Any]):
    key, _ = make_key(alpha, ["read"])
    first, _ = issue(Holder(alpha.id, key.id))
    second, _ = issue(Holder(alpha.id, key.id))
    access = admit_by_ticket(first, "10.0.0.1")
    assert access == Access(alpha.id, key_id=key.id, address="10.0.0.1")

    if "tenant" in change:
        change = {"tenant": make_tenant(change["tenant"])}
    ApiKey.objects.update(**change)

    assert admit_by_ticket(second, "10.0.0.1") is None
    assert not is_still_valid(access)


def test_a_ticket_is_used_from_the_addresses_of_its_key(alpha: Tenant):
    key, _ = make_key(alpha, ["read"])
    ApiKey.objects.update(addresses=["10.0.0.0/8"])

    def admit(address: str) -> Access | None:
        return admit_by_ticket(issue(Holder(alpha.id, key.id))[0], address)

    assert admit("10.0.0.1") is not None
    assert admit("192.0.2.1") is None
    assert admit("") is None


def test_a_key_has_its_time_left_and_a_session_none(alpha: Tenant):
    key, _ = make_key(alpha, ["read"])
    access = Access(alpha.id, key_id=key.id)
    assert seconds_left(access) is None

    ApiKey.objects.update(expires_at=timezone.now() + timedelta(seconds=90))

    left = seconds_left(access)
    assert left is not None
    assert 0 < left <= 90
    assert seconds_left(Access(alpha.id, user_id=1)) is None


@pytest.fixture
def by_token(alpha: Tenant, settings: Any) -> Access:
    settings.PUNCTUAL = replace(conf(), jwt_issuers=(issuer_of(alpha),))
    return Access(alpha.id, issuer=ISSUER, ends_at=timezone.now().timestamp() + 60)


def test_a_token_opens_a_socket_until_it_ends(alpha: Tenant, by_token: Access):
    holder = Holder(alpha.id, issuer=ISSUER, ends_at=by_token.ends_at)

    assert admit_by_ticket(issue(holder)[0]) == by_token
    assert is_still_valid(by_token)
    assert not is_still_valid(replace(by_token, ends_at=timezone.now().timestamp()))
    assert not is_still_valid(replace(by_token, ends_at=None))


def test_a_token_counts_while_its_issuer_may_name_the_tenant(
    alpha: Tenant, by_token: Access, settings: Any
):
    assert not is_still_valid(replace(by_token, issuer="https://other.example.com"))
    assert not is_still_valid(replace(by_token, tenant_id=make_tenant("Beta").id))
    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=timezone.now())
    assert not is_still_valid(by_token)
    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=None)
    settings.PUNCTUAL = replace(conf(), jwt_issuers=())
    assert not is_still_valid(by_token)


def test_a_made_up_ticket_admits_nobody(alpha: Tenant):
    assert admit_by_ticket("made-up") is None


def test_a_session_that_has_ended_is_not_admitted_and_its_access_ends(alpha: Tenant):
    user = make_member(alpha)
    session = session_of(log_in(user))
    access = admit_by_session(user, session)
    assert access is not None

    end_sign_ins(user.pk, SignInEnd.ENDED, actor=ACTOR)

    assert not is_still_valid(access)
    assert admit_by_session(user, session) is None


def test_an_idle_session_ends_the_access(alpha: Tenant):
    access = admitted(alpha)
    SignIn.objects.update(seen_at=timezone.now() - timedelta(hours=12, seconds=1))

    assert not is_still_valid(access)


def test_a_person_who_must_enrol_hears_nothing(alpha: Tenant):
    user = make_member(alpha)
    session = session_of(log_in(user))
    access = admit_by_session(user, session)
    assert access is not None
    Tenant.objects.update(second_factor_required=True)

    assert not is_still_valid(access)
    assert admit_by_session(user, session) is None


def test_a_session_by_password_hears_nothing_of_a_tenant_that_wants_a_provider(alpha: Tenant):
    user = make_member(alpha)
    session = session_of(log_in(user))
    access = admit_by_session(user, session)
    assert access is not None
    Tenant.objects.filter(pk=alpha.pk).update(provider_required=True)

    assert not is_still_valid(access)
    assert admit_by_session(user, session) is None

    SignIn.objects.update(method="oidc")
    assert is_still_valid(access)
    assert admit_by_session(user, session)


def test_a_session_from_before_sessions_were_recorded_is_admitted(alpha: Tenant):
    user = make_member(alpha)
    session = session_of(log_in(user))
    del session["sign_in"]
    access = admit_by_session(user, session)

    assert access is not None
    assert is_still_valid(access)
    end_sign_ins(user.pk, SignInEnd.ENDED, actor=ACTOR)
    assert not is_still_valid(access)


def test_an_unrecorded_session_is_not_admitted_where_a_tenant_requires_a_second_factor(
    alpha: Tenant,
):
    user = make_member(alpha)
    session = session_of(log_in(user))
    del session[SIGN_IN]
    assert admit_by_session(user, session)

    Tenant.objects.update(second_factor_required=True)

    assert admit_by_session(user, session) is None
