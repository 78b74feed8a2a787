from __future__ import annotations

import pytest

from events.models import AuditEntry
from tenants.models import Tenant

SETTING = {"default_jitter_seconds": 30}


def test_the_tenants_default_jitter_is_changed(admin, alpha):
    response = admin.patch("/v1/me", SETTING)

    assert response.status_code == 200
    assert response.json()["tenant"]["default_jitter_seconds"] == 30
    assert admin.get("/v1/me").json() == response.json()
    alpha.refresh_from_db()
    assert alpha.default_jitter_seconds == 30


def test_the_change_is_audited_once(admin, alpha):
    for _ in range(2):
        admin.patch("/v1/me", SETTING)

    entry = AuditEntry.objects.get(tenant_id=alpha.id, action="tenant.changed")
    assert (entry.before, entry.after) == (
        '{"default_jitter_seconds":0.0}',
        '{"default_jitter_seconds":30.0}',
    )


def test_an_empty_change_changes_nothing(admin, alpha):
    assert admin.patch("/v1/me", {}).status_code == 200
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
        ({"unlimited": True}, "#/unlimited"),
        ({"name": "Gamma"}, "#/name"),
    ],
)
def test_a_bad_field_is_400_and_changes_nothing(admin, alpha, body, pointer):
    response = admin.patch("/v1/me", body)

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer
    assert Tenant.objects.get(pk=alpha.pk).default_jitter_seconds == 0


def test_the_scope_admin_is_needed(viewer):
    assert viewer.patch("/v1/me", SETTING).status_code == 403


def test_another_tenant_keeps_its_own(admin, beta):
    admin.patch("/v1/me", SETTING)

    beta.refresh_from_db()
    assert beta.default_jitter_seconds == 0


def test_a_repeat_under_the_same_key_answers_the_same(admin):
    first = admin.patch("/v1/me", SETTING, idempotency_key="once")
    again = admin.patch("/v1/me", SETTING, idempotency_key="once")

    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
