from __future__ import annotations

import pytest

from events.models import AuditEntry
from tenants.models import ApiKey
from tests.support.api import ApiClient, make_client

WANTED = {"name": "ci", "scopes": ["read"]}


def test_a_key_is_made_and_works(admin):
    response = admin.post("/v1/api-keys", WANTED)

    body = response.json()
    assert response.status_code == 201
    assert body["key"].startswith(body["prefix"])
    assert response.headers["Location"] == f"/v1/api-keys/{body['id']}"
    assert admin.get(response.headers["Location"]).status_code == 200
    assert ApiClient(body["key"]).get("/v1/me").json()["scopes"] == ["read"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": None}, "#/name"),
        ({"name": ""}, "#/name"),
        ({"name": "x" * 201}, "#/name"),
        ({"name": 5}, "#/name"),
        ({"scopes": []}, "#/scopes"),
        ({"scopes": "read"}, "#/scopes"),
        ({"scopes": ["root"]}, "#/scopes/0"),
        ({"scopes": [1]}, "#/scopes/0"),
        ({"owner": "yes"}, "#/owner"),
        ({"expires_at": "2000-01-01T00:00:00Z"}, "#/expires_at"),
        ({"expires_at": "tomorrow"}, "#/expires_at"),
        ({"scope": ["read"]}, "#/scope"),
    ],
)
def test_a_bad_field_is_400_and_makes_nothing(admin, change, pointer):
    response = admin.post("/v1/api-keys", {**WANTED, **change})

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer
    assert ApiKey.objects.count() == 1


def test_the_scope_admin_is_needed(viewer):
    assert viewer.post("/v1/api-keys", WANTED).status_code == 403


def test_a_key_cannot_make_another_that_may_do_more(alpha):
    client = make_client(alpha, ["admin", "read"])

    assert client.post("/v1/api-keys", WANTED).status_code == 201
    assert client.post("/v1/api-keys", {**WANTED, "scopes": ["write"]}).status_code == 403
    assert client.post("/v1/api-keys", {**WANTED, "owner": True}).status_code == 403


def test_the_key_belongs_to_the_callers_tenant(beta, stranger):
    made = stranger.post("/v1/api-keys", WANTED).json()

    assert ApiKey.objects.get(pk=made["id"]).tenant == beta


def test_the_same_idempotency_key_makes_one_key_and_shows_it_again(admin):
    first = admin.post("/v1/api-keys", WANTED, idempotency_key="once")
    second = admin.post("/v1/api-keys", WANTED, idempotency_key="once")

    assert second.json() == first.json()
    assert second.headers["Location"] == first.headers["Location"]
    assert second.headers["Idempotent-Replayed"] == "true"
    assert ApiKey.objects.filter(name="ci").count() == 1


def test_who_made_it_is_in_the_audit_log(alpha, admin):
    made = admin.post("/v1/api-keys", WANTED)

    entry = AuditEntry.objects.get(action="api_key.created", object_id=made.json()["id"])
    assert entry.tenant_id == alpha.id
    assert entry.actor.startswith("api_key:pk_")
    assert entry.address == "127.0.0.1"
    assert entry.trace_id == made.headers["X-Trace-Id"]
