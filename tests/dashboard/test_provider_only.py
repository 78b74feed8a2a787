"""Sign-in by a provider where nothing else will do, and the end of an identity on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.one_time_login import login_path
from events.models import AuditEntry
from shared.exceptions import Conflict
from tenants.choices import SignInEnd
from tenants.models import Identity, Membership, SignIn, Tenant
from tenants.services.identities import unlink_identity
from tenants.services.sign_ins import hold_identity
from tests.factories import ACTOR
from tests.support.oidc_issuer import Issuer, is_in, oidc_issuer, sign_in_by, trust
from tests.support.second_factors import code_of, enrol

pytestmark = pytest.mark.django_db
ADDRESS, PASSWORD = "ada@example.com", "a long password"


@pytest.fixture
def issuer(settings: Any) -> Iterator[Issuer]:
    with oidc_issuer() as found:
        found.claims = {"email": ADDRESS, "email_verified": True}
        trust(settings, found.provider())
        yield found


@pytest.fixture
def ada(alpha: Tenant) -> User:
    user = User.objects.create_user(ADDRESS, email=ADDRESS, password=PASSWORD)
    Membership.objects.create(user=user, tenant=alpha, role="owner")
    return user


def by_password(client: Client) -> Any:
    return client.post("/login", {"username": ADDRESS, "password": PASSWORD})


def demand(tenant: Tenant) -> None:
    Tenant.objects.filter(pk=tenant.pk).update(provider_required=True)


def test_a_password_signs_in_no_member_of_a_tenant_that_wants_a_provider(issuer, ada, alpha):
    demand(alpha)
    client = Client()

    answer = by_password(client)

    assert answer.status_code == 200
    assert "Your team signs in by its provider" in answer.text
    assert not SignIn.objects.exists()
    sign_in_by(issuer, client)
    assert is_in(client)


def test_a_wrong_password_is_told_no_more_than_elsewhere(ada, alpha):
    demand(alpha)

    answer = Client().post("/login", {"username": ADDRESS, "password": "wrong"})

    assert "do not belong together" in answer.text
    assert "provider" not in answer.text


def test_an_open_session_by_password_loses_sight_of_the_tenant_at_the_next_click(ada, alpha):
    client = Client()
    by_password(client)
    assert is_in(client)

    demand(alpha)

    answer = client.get("/tasks")
    assert answer.status_code == 403
    assert "sign in by an OpenID provider only" in answer.text


def test_a_session_by_password_sees_the_persons_other_tenants_alone(ada, alpha, beta):
    Membership.objects.create(user=ada, tenant=beta, role="viewer")
    demand(alpha)
    client = Client()
    by_password(client)

    page = client.get("/tasks")
    chosen = client.post("/tenant", {"tenant": str(alpha.pk)})

    assert (page.status_code, page.context["visitor"].tenant) == (200, beta)
    assert alpha.name not in page.text
    assert chosen.status_code == 302
    assert client.get("/tasks").context["visitor"].tenant == beta


def test_the_operators_link_is_the_way_back(ada, alpha):
    demand(alpha)
    client = Client()

    client.get(login_path(ada))

    assert is_in(client)


def test_an_owner_demands_the_provider_in_a_session_that_began_by_it(issuer, ada, alpha):
    outside, inside = Client(), Client()
    by_password(outside)
    sign_in_by(issuer, inside)
    form = {"provider_required": "on", "version": "1"}

    refused = outside.post("/settings/provider", form, follow=True)
    alpha.refresh_from_db()
    assert "Sign in by your provider first" in refused.text
    assert not alpha.provider_required

    assert "Sign in by an OpenID provider only" in inside.get("/settings").text
    inside.post("/settings/provider", form)
    alpha.refresh_from_db()
    assert alpha.provider_required
    assert not is_in(outside)
    assert is_in(inside)


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_nobody_below_an_owner_decides_it(browser, alpha, role):
    answer = browser(alpha, role=role).post("/settings/provider", {"version": "1"})

    assert answer.status_code == 403


def test_the_form_is_there_only_where_people_sign_in_by_providers(browser, alpha):
    assert "OpenID provider only" not in browser(alpha, role="owner").get("/settings").text


def test_a_sign_in_that_waits_for_its_code_ends_with_its_identity(issuer, ada):
    secret, _ = enrol(ada)
    client = Client()
    sign_in_by(issuer, client)

    unlink_identity(ada.pk, Identity.objects.get().pk, actor=ACTOR)
    answer = client.post("/login/code", {"code": code_of(ada, secret)})

    assert answer["Location"] == "/login"
    assert not is_in(client)
    assert not SignIn.objects.filter(ended_at=None).exists()


def test_a_session_does_not_begin_by_an_identity_that_is_gone(issuer, ada):
    sign_in_by(issuer, Client())
    identity = Identity.objects.get().pk
    unlink_identity(ada.pk, identity, actor=ACTOR)

    with pytest.raises(Conflict, match="unlinked"):
        hold_identity(identity, ada.pk)
    assert not SignIn.objects.filter(ended_at=None).exists()


def test_an_unlink_between_the_proof_and_the_session_wins(issuer, ada, monkeypatch):
    sign_in_by(issuer, Client())
    identity = Identity.objects.get().pk

    def unlinked_meanwhile(*_: Any) -> bool:
        unlink_identity(ada.pk, identity, actor=ACTOR)
        return False

    monkeypatch.setattr("dashboard.pending_sign_in.has_second_factor", unlinked_meanwhile)
    client = Client()

    answer = sign_in_by(issuer, client)

    assert answer.status_code == 409
    assert not is_in(client)
    assert not SignIn.objects.filter(ended_at=None).exists()
    # That of the first sign-in alone.
    assert AuditEntry.objects.filter(action="sign_in.succeeded").count() == 1


def test_an_unlink_ends_sessions_by_providers_but_the_one_that_asks(issuer, ada):
    other, password, here = Client(), Client(), Client()
    sign_in_by(issuer, other)
    by_password(password)
    sign_in_by(issuer, here)

    here.post(
        f"/account/identities/{Identity.objects.get().pk}/unlink", {"present_password": PASSWORD}
    )

    assert not Identity.objects.exists()
    assert (is_in(other), is_in(password), is_in(here)) == (False, True, True)
    assert SignIn.objects.get(ended_by=SignInEnd.ENDED).method == "oidc"
