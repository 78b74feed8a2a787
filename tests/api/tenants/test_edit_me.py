from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from events.models import AuditEntry
from shared.conf import conf
from shared.oidc_providers import OidcProvider
from tenants.models import IdempotencyRecord, Identity, Membership, Tenant
from tests.support.api import make_client

SETTING = {"default_jitter_seconds": 30}


def test_the_tenants_default_jitter_is_changed(client, alpha):
    response = client.patch("/v1/me", SETTING)

    assert response.status_code == 200
    assert response.json()["tenant"]["default_jitter_seconds"] == 30
    assert client.get("/v1/me").json() == response.json()
    alpha.refresh_from_db()
    assert alpha.default_jitter_seconds == 30


def test_stricter_idempotency_is_the_tenants_own_to_ask_for(client, viewer, alpha):
    body = {"idempotency_required": True, "idempotency_seconds": 7 * 24 * 3600}

    answer = client.patch("/v1/me", body)

    assert answer.status_code == 200
    assert answer.json()["tenant"]["idempotency_required"] is True
    assert answer.json()["limits"]["idempotency_seconds"] == 7 * 24 * 3600
    assert viewer.get("/v1/me").json()["limits"] == answer.json()["limits"]
    refused = client.post("/v1/calendars", {"name": "Holidays"})
    assert (refused.status_code, refused.json()["code"]) == (400, "idempotency_key_missing")


def test_a_stricter_tenant_may_become_lax_again(client):
    client.patch("/v1/me", {"idempotency_required": True})

    answer = client.patch("/v1/me", {"idempotency_required": False}, idempotency_key="once")

    assert answer.json()["tenant"]["idempotency_required"] is False
    assert client.patch("/v1/me", {}).status_code == 200


def test_answers_are_kept_as_long_as_the_tenant_asks(client, alpha):
    client.patch("/v1/me", {"idempotency_seconds": 2_592_000})
    client.patch("/v1/me", SETTING, idempotency_key="once")

    kept = IdempotencyRecord.objects.get(tenant=alpha, key="once")
    assert round((kept.expires_at - kept.created_at).total_seconds(), -1) == 2_592_000


def test_settings_that_changed_meanwhile_are_not_overwritten(client, alpha):
    read = client.get("/v1/me")
    assert (read.headers["ETag"], read.json()["tenant"]["version"]) == ('"1"', 1)
    first = client.patch("/v1/me", SETTING, if_match=read.headers["ETag"])
    assert (first.status_code, first.headers["ETag"]) == (200, '"2"')

    late = client.patch("/v1/me", {"idempotency_required": True}, if_match='"1"')

    assert (late.status_code, late.json()["code"]) == (412, "version_mismatch")
    assert Tenant.objects.get(pk=alpha.pk).idempotency_required is False
    assert client.patch("/v1/me", SETTING).json()["tenant"]["version"] == 2


def test_a_bad_field_beside_a_good_one_changes_neither(client, alpha):
    body = {"idempotency_required": True, "idempotency_seconds": 1, "default_jitter_seconds": -1}

    problem = client.patch("/v1/me", body).json()

    pointers = {error["pointer"] for error in problem["errors"]}
    assert pointers == {"#/idempotency_seconds", "#/default_jitter_seconds"}
    assert Tenant.objects.get(pk=alpha.pk).idempotency_required is False


def test_the_change_is_audited_once(client, alpha):
    for _ in range(2):
        client.patch("/v1/me", SETTING)

    entry = AuditEntry.objects.get(tenant_id=alpha.id, action="tenant.changed")
    assert (entry.before, entry.after) == (
        '{"default_jitter_seconds":0.0}',
        '{"default_jitter_seconds":30.0}',
    )


def test_an_empty_change_changes_nothing(client, alpha):
    assert client.patch("/v1/me", {}).status_code == 200
    assert not AuditEntry.objects.filter(tenant_id=alpha.id, action="tenant.changed").exists()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"default_jitter_seconds": -1}, "#/default_jitter_seconds"),
        ({"default_jitter_seconds": 86_401}, "#/default_jitter_seconds"),
        ({"default_jitter_seconds": 1e300}, "#/default_jitter_seconds"),
        ({"default_jitter_seconds": "30"}, "#/default_jitter_seconds"),
        ({"default_jitter_seconds": True}, "#/default_jitter_seconds"),
        ({"default_jitter_seconds": None}, "#/default_jitter_seconds"),
        ({"idempotency_required": "yes"}, "#/idempotency_required"),
        ({"idempotency_required": None}, "#/idempotency_required"),
        ({"idempotency_seconds": 86_399}, "#/idempotency_seconds"),
        ({"idempotency_seconds": 2_592_001}, "#/idempotency_seconds"),
        ({"idempotency_seconds": 1.5}, "#/idempotency_seconds"),
        ({"idempotency_seconds": None}, "#/idempotency_seconds"),
        ({"unlimited": True}, "#/unlimited"),
        ({"name": "Gamma"}, "#/name"),
    ],
)
def test_a_bad_field_is_400_and_changes_nothing(client, alpha, body, pointer):
    response = client.patch("/v1/me", body)

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer
    assert Tenant.objects.get(pk=alpha.pk).default_jitter_seconds == 0


def test_another_tenant_keeps_its_own(client, stranger, beta):
    before = stranger.get("/v1/me").json()
    client.patch("/v1/me", SETTING | {"idempotency_required": True, "idempotency_seconds": 90_000})

    assert stranger.get("/v1/me").json() == before
    assert stranger.post("/v1/calendars", {"name": "Holidays"}).status_code == 201
    beta.refresh_from_db()
    assert (beta.default_jitter_seconds, beta.idempotency_required) == (0, False)


def test_a_repeat_under_the_same_key_answers_the_same(client):
    first = client.patch("/v1/me", SETTING, idempotency_key="once")
    again = client.patch("/v1/me", SETTING, idempotency_key="once")

    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"


def test_an_owners_key_decides_whether_members_need_a_second_factor(owner, alpha):
    answer = owner.patch("/v1/me", {"second_factor_required": True})

    assert answer.json()["tenant"]["second_factor_required"] is True
    alpha.refresh_from_db()
    assert alpha.second_factor_required


def test_an_owners_key_decides_whether_members_sign_in_by_a_provider_only(owner, alpha, settings):
    trusted = OidcProvider(name="acme", label="A", issuer="https://id.example.com", client_id="c")
    settings.PUNCTUAL = replace(conf(), oidc_providers=(trusted,))
    refused = owner.patch("/v1/me", {"provider_required": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "no_way_in")

    user = User.objects.create_user("ada")
    Membership.objects.create(user=user, tenant=alpha, role="owner")
    Identity.objects.create(user=user, issuer="https://id.example.com", subject="s-1")
    answer = owner.patch("/v1/me", {"provider_required": True})

    assert answer.json()["tenant"]["provider_required"] is True
    admin = make_client(alpha, ["admin"])
    assert admin.patch("/v1/me", {"provider_required": False}).status_code == 403


def test_a_key_that_is_no_owners_does_not(alpha):
    admin = make_client(alpha, ["admin"])
    owner = make_client(alpha, owner=True)
    owner.patch("/v1/me", {"second_factor_required": True})

    answer = admin.patch("/v1/me", {"second_factor_required": False})

    assert answer.status_code == 403
    alpha.refresh_from_db()
    assert alpha.second_factor_required
