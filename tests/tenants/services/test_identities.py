"""Which account an identity signs in to; the rest is shown with a provider over HTTP."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet

from shared.exceptions import Conflict, NotFound
from shared.oidc_providers import AccountRule, OidcProvider
from tenants.models import Identity, Membership, Tenant
from tenants.services.identities import (
    MOST_IDENTITIES,
    NoAccount,
    Proven,
    account_of,
    list_identities,
    rules_of,
    unlink_identity,
)
from tests.factories import ACTOR
from tests.support.suspending import suspend

pytestmark = pytest.mark.django_db
ADDRESS = "ada@example.com"


def provider(issuer: str = "https://id.example.com", **parts: object) -> OidcProvider:
    wanted = {
        "name": "acme",
        "label": "Acme",
        "issuer": issuer,
        "client_id": "c",
        "email_domains": ("example.com",),
    }
    return OidcProvider(**{**wanted, **parts})  # type: ignore[arg-type]  # as the settings have them


def proven(subject: str = "s-1", *, by: OidcProvider | None = None, **parts: object) -> Proven:
    wanted = {"email": ADDRESS, **parts}
    return Proven(by or provider(), subject, **wanted)  # type: ignore[arg-type]  # as above


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", email=ADDRESS, password="a long password")


def test_a_subject_of_another_issuer_is_another_identity(ada):
    account_of(proven(), actor=ACTOR)
    elsewhere = proven(by=provider("https://other.example.org", email_domains=()))

    with pytest.raises(NoAccount):
        account_of(elsewhere, actor=ACTOR)


def test_a_subject_counts_by_each_letter(ada):
    account_of(proven("S-1"), actor=ACTOR)

    with pytest.raises(NoAccount):
        account_of(proven("s-1", email=""), actor=ACTOR)


def test_who_gets_an_address_after_someone_does_not_get_their_account(ada):
    account_of(proven("the first owner"), actor=ACTOR)

    with pytest.raises(NoAccount, match="another identity"):
        account_of(proven("the next owner"), actor=ACTOR)
    assert [one.subject for one in list_identities(ada.pk)] == ["the first owner"]

    [identity] = list_identities(ada.pk)
    unlink_identity(ada.pk, identity.pk, actor=ACTOR)
    account_of(proven("after the provider has moved"), actor=ACTOR)
    assert [one.subject for one in list_identities(ada.pk)] == ["after the provider has moved"]


def test_an_identity_that_is_being_unlinked_does_not_sign_in(ada, monkeypatch):
    account_of(proven(), actor=ACTOR)
    known = Identity.objects.select_related("user").get()
    Identity.objects.all().delete()
    monkeypatch.setattr(QuerySet, "first", lambda _: known)

    with pytest.raises(NoAccount):
        account_of(proven(), actor=ACTOR)


def test_rules_are_met_by_group_or_domain_and_by_nothing_else():
    tenant = uuid4()
    by_group = AccountRule(tenant_id=tenant, role="viewer", group="on-call")
    by_domain = AccountRule(tenant_id=tenant, role="viewer", domain="example.com")
    given = provider(accounts=(by_group, by_domain))

    assert rules_of(proven(by=given, groups=("on-call",)), "") == [by_group]
    assert rules_of(proven(by=given), ADDRESS) == [by_domain]
    assert rules_of(proven(by=given, groups=("ON-CALL", "")), "a@sub.example.com") == []


def test_the_highest_role_counts_and_a_suspended_tenant_gets_nobody(alpha: Tenant, beta: Tenant):
    suspend(beta)
    rules = tuple(
        AccountRule(tenant_id=tenant.pk, role=role, domain="example.com")
        for tenant, role in (
            (alpha, "viewer"),
            (alpha, "admin"),
            (alpha, "operator"),
            (beta, "admin"),
        )
    )

    made = account_of(proven(by=provider(accounts=rules)), actor=ACTOR)

    assert list(Membership.objects.values_list("tenant_id", "role")) == [(alpha.pk, "admin")]
    assert not made.has_usable_password()


def test_an_account_has_a_bounded_number_of_identities(ada):
    def by(number: int) -> Proven:
        return proven(by=provider(f"https://{number}.example.com"))

    for number in range(MOST_IDENTITIES):
        account_of(by(number), actor=ACTOR)

    with pytest.raises(NoAccount):
        account_of(by(MOST_IDENTITIES), actor=ACTOR)
    assert len(list_identities(ada.pk)) == MOST_IDENTITIES


def test_the_last_way_in_is_unlinked_by_an_operator_only(ada):
    account_of(proven(), actor=ACTOR)
    ada.set_unusable_password()
    ada.save()
    [identity] = Identity.objects.all()

    with pytest.raises(Conflict):
        unlink_identity(ada.pk, identity.pk, actor=ACTOR)
    unlink_identity(ada.pk, identity.pk, actor=ACTOR, is_operator=True)
    with pytest.raises(NotFound):
        unlink_identity(ada.pk, identity.pk, actor=ACTOR, is_operator=True)
