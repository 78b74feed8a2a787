from __future__ import annotations

import pytest

from events.models import AuditEntry
from tenants.models import SigningSecret
from tests.support.stored_answers import stored_answers


def test_secrets_are_listed_without_their_text(client):
    response = client.get("/v1/signing-secrets")

    (listed,) = response.json()["signing_secrets"]
    assert set(listed) == {"id", "created_at", "expires_at"}
    assert "whsec_" not in response.content.decode()


def test_an_owner_may_see_them_again_and_that_is_recorded(owner):
    response = owner.get("/v1/signing-secrets?reveal=true")

    assert response.json()["signing_secrets"][0]["secret"].startswith("whsec_")
    assert AuditEntry.objects.filter(action="signing_secret.revealed").count() == 1


def test_nobody_else_may_see_them_again(client):
    assert client.get("/v1/signing-secrets?reveal=true").status_code == 403
    assert not AuditEntry.objects.filter(action="signing_secret.revealed").exists()


def test_rotation_shows_the_new_secret_and_keeps_the_old_for_a_day(owner):
    response = owner.post("/v1/signing-secrets/rotate")

    made = response.json()
    assert response.status_code == 200
    assert made["secret"].startswith("whsec_")
    revealed = owner.get("/v1/signing-secrets?reveal=true").json()["signing_secrets"]
    assert revealed[0]["secret"] == made["secret"]
    assert [secret["expires_at"] is None for secret in revealed] == [True, False]
    assert AuditEntry.objects.filter(action="signing_secret.rotated").count() == 1


def test_a_key_that_may_not_see_them_again_may_not_rotate_them(alpha, client):
    refused = client.post("/v1/signing-secrets/rotate", {"overlap_seconds": 0})

    assert refused.status_code == 403
    assert "owner" in refused.json()["detail"]
    assert SigningSecret.objects.filter(tenant=alpha).count() == 1


@pytest.mark.parametrize("path", ["/v1/signing-secrets?reveal=true", "/v1/signing-secrets/rotate"])
def test_an_answer_with_a_secret_is_not_to_be_kept_by_caches(owner, path):
    answer = owner.get(path) if "reveal" in path else owner.post(path)

    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("overlap", [-1, 604_801, "1", 1.5, None])
def test_an_overlap_out_of_range_is_400(owner, overlap):
    response = owner.post("/v1/signing-secrets/rotate", {"overlap_seconds": overlap})

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == "#/overlap_seconds"


def test_a_bad_reveal_is_400(client):
    assert client.get("/v1/signing-secrets?reveal=1").status_code == 400


def test_tenants_rotate_their_own_secrets_only(alpha, stranger):
    stranger.post("/v1/signing-secrets/rotate")

    assert SigningSecret.objects.filter(tenant=alpha, expires_at=None).count() == 1
    assert len(stranger.get("/v1/signing-secrets").json()["signing_secrets"]) == 2


def test_a_repeat_rotates_nothing_and_does_not_show_the_secret(alpha, owner):
    first = owner.post("/v1/signing-secrets/rotate", idempotency_key="once")
    second = owner.post("/v1/signing-secrets/rotate", idempotency_key="once")

    shown = first.json()
    secret = shown.pop("secret")
    assert second.json() == shown
    assert second.headers["Idempotent-Replayed"] == "true"
    assert secret not in stored_answers()
    assert SigningSecret.objects.filter(tenant=alpha).count() == 2
