from __future__ import annotations

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
)
from notifications.tickets import Holder, issue
from tenants.models import ApiKey, Membership, Tenant
from tests.factories import make_key, make_tenant
from tests.support.live import log_in, make_member

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
    ],
    ids=["revoked", "expired"],
)
def test_a_ticket_is_worth_no_more_than_its_key(alpha: Tenant, change: dict[str, Any]):
    key, _ = make_key(alpha, ["read"])
    first, _ = issue(Holder(alpha.id, key.id))
    second, _ = issue(Holder(alpha.id, key.id))
    access = admit_by_ticket(first)
    assert access == Access(alpha.id, key_id=key.id)

    ApiKey.objects.update(**change)

    assert admit_by_ticket(second) is None
    assert not is_still_valid(Access(alpha.id, key_id=key.id))


def test_a_made_up_ticket_admits_nobody(alpha: Tenant):
    assert admit_by_ticket("made-up") is None
