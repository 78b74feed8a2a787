"""Tenants whose members sign in by a provider only: which sessions see them, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from events.models import AuditEntry
from shared.actor import Actor
from shared.conf import conf
from shared.oidc_providers import OidcProvider
from tenants.choices import SignInMethod
from tenants.models import Identity, Membership, Tenant
from tenants.services import change_tenant
from tenants.services.provider_sign_in import (
    NoWayIn,
    is_by_provider,
    open_to,
    refuses_password,
    require_way_in,
)
from tests.factories import ACTOR
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db
ISSUER = "https://id.example.com"


@pytest.fixture(autouse=True)
def _provider(settings: Any) -> None:
    """Let the installation know one provider."""
    trusted = OidcProvider(name="acme", label="Acme", issuer=ISSUER, client_id="c")
    settings.PUNCTUAL = replace(conf(), oidc_providers=(trusted,))


def member(tenant: Tenant, role: str = "owner", **fields: Any) -> User:
    user = User.objects.create_user("ada", **fields)
    Membership.objects.create(user=user, tenant=tenant, role=role)
    return user


def link(user: User, issuer: str = ISSUER) -> None:
    Identity.objects.create(user=user, issuer=issuer, subject="s-1")


def demand(*tenants: Tenant) -> None:
    Tenant.objects.filter(pk__in=[one.pk for one in tenants]).update(provider_required=True)


@pytest.mark.parametrize(
    ("method", "sees"),
    [("password", 0), ("invitation", 0), ("", 0), ("oidc", 1), ("oidc_mfa", 1), ("link", 1)],
)
def test_sessions_by_a_provider_or_a_link_see_the_tenant_and_no_others(
    alpha: Tenant, method: str, sees: int
):
    user = member(alpha)
    demand(alpha)

    assert Membership.objects.filter(open_to(method), user=user).count() == sees
    assert is_by_provider(method) == method.startswith("oidc")


def test_every_way_to_sign_in_is_judged():
    assert {method for method in SignInMethod if open_to(method)} == {
        SignInMethod.PASSWORD,
        SignInMethod.INVITATION,
    }


def test_a_password_is_refused_where_it_opens_no_tenant(alpha: Tenant, beta: Tenant):
    user = member(alpha, "viewer")
    assert not refuses_password(user)

    demand(alpha)
    assert refuses_password(user)

    Membership.objects.create(user=user, tenant=beta, role="viewer")
    assert not refuses_password(user)

    suspend(beta)
    assert refuses_password(user)


@pytest.mark.parametrize("right", ["is_staff", "is_superuser"])
def test_an_operators_password_is_the_way_back(alpha: Tenant, right: str):
    fields: dict[str, Any] = {right: True}
    user = member(alpha, **fields)
    demand(alpha)

    assert not refuses_password(user)


def test_a_person_without_a_tenant_is_not_refused():
    assert not refuses_password(User.objects.create_user("bob"))


def test_nobody_locks_all_owners_out(alpha: Tenant):
    owner = member(alpha)
    with pytest.raises(NoWayIn):
        change_tenant(alpha.pk, {"provider_required": True}, actor=ACTOR)

    link(owner)
    changed = change_tenant(alpha.pk, {"provider_required": True}, actor=ACTOR)

    assert changed.provider_required
    entry = AuditEntry.objects.get(action="tenant.changed")
    assert (entry.before, entry.after) == (
        '{"provider_required":false}',
        '{"provider_required":true}',
    )


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_an_identity_of_who_is_no_owner_is_no_way_in(alpha: Tenant, role: str):
    link(member(alpha, role))

    with pytest.raises(NoWayIn):
        require_way_in(alpha)


def test_an_inactive_owner_is_no_way_in(alpha: Tenant):
    link(member(alpha, is_active=False))

    with pytest.raises(NoWayIn):
        require_way_in(alpha)


def test_an_identity_of_a_provider_that_is_gone_is_no_way_in(alpha: Tenant):
    link(member(alpha), "https://gone.example.com")

    for by_command in (False, True):
        with pytest.raises(NoWayIn, match="No owner"):
            require_way_in(alpha, by_command=by_command)


def test_without_any_provider_only_the_operator_demands_one(alpha: Tenant, settings: Any):
    link(member(alpha))
    settings.PUNCTUAL = replace(conf(), oidc_providers=())
    wanted = {"provider_required": True}

    with pytest.raises(NoWayIn, match="No OpenID provider is set up"):
        change_tenant(alpha.pk, wanted, actor=Actor("api_key:abc"))
    assert change_tenant(alpha.pk, wanted, actor=Actor("command:root")).provider_required


def test_another_setting_asks_nothing_of_owners(alpha: Tenant):
    demand(alpha)

    assert change_tenant(alpha.pk, {"idempotency_required": True}, actor=ACTOR).provider_required
    assert not change_tenant(alpha.pk, {"provider_required": False}, actor=ACTOR).provider_required
