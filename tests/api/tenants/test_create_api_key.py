from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from events.models import AuditEntry
from shared.actor import COMMAND
from shared.instants import format_instant
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.models import ApiKey
from tenants.services import create_api_key, rotate_api_key
from tests.support.api import ApiClient, make_client
from tests.support.stored_answers import stored_answers

WANTED = {"name": "ci", "scopes": ["read"]}


def test_a_key_is_made_and_works(client):
    response = client.post("/v1/api-keys", WANTED)

    body = response.json()
    assert response.status_code == 201
    assert body["key"].startswith(body["prefix"])
    assert response.headers["Location"] == f"/v1/api-keys/{body['id']}"
    assert client.get(response.headers["Location"]).status_code == 200
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
        ({"addresses": ["10.0.0.1", "10.0.0.1/8"]}, "#/addresses/1"),
        ({"addresses": None}, "#/addresses"),
    ],
)
def test_a_bad_field_is_400_and_makes_nothing(client, change, pointer):
    response = client.post("/v1/api-keys", {**WANTED, **change})

    assert response.status_code == 400
    assert response.json()["errors"][0]["pointer"] == pointer
    assert ApiKey.objects.count() == 1


def test_a_key_cannot_make_another_that_may_do_more(alpha):
    client = make_client(alpha, ["admin", "read"])

    assert client.post("/v1/api-keys", WANTED).status_code == 201
    assert client.post("/v1/api-keys", {**WANTED, "scopes": ["write"]}).status_code == 403
    assert client.post("/v1/api-keys", {**WANTED, "owner": True}).status_code == 403


def test_the_key_belongs_to_the_callers_tenant(beta, stranger):
    made = stranger.post("/v1/api-keys", WANTED).json()

    assert ApiKey.objects.get(pk=made["id"]).tenant == beta


def test_a_key_that_expires_makes_none_that_lasts_longer(alpha):
    ends_at = timezone.now() + timedelta(minutes=5)
    _, text = create_api_key(
        alpha,
        name="short",
        scopes=SCOPES,
        owner=True,
        expires_at=ends_at,
        actor=COMMAND,
        by=OPERATOR,
    )
    client = ApiClient(text)

    for wanted in (None, format_instant(ends_at + timedelta(seconds=1)), "9999-12-31T00:00:00Z"):
        refused = client.post("/v1/api-keys", {**WANTED, "expires_at": wanted})
        assert refused.status_code == 403
        assert "expires_at" in refused.json()["detail"]
    assert client.post("/v1/api-keys", WANTED).status_code == 403
    assert ApiKey.objects.count() == 1
    within = format_instant(ends_at - timedelta(seconds=1))
    assert client.post("/v1/api-keys", {**WANTED, "expires_at": within}).status_code == 201


def test_the_answer_is_not_to_be_kept_by_caches(client):
    assert client.post("/v1/api-keys", WANTED).headers["Cache-Control"] == "no-store"


def test_a_repeat_makes_no_second_key_and_does_not_show_the_first_ones_text(client):
    first = client.post("/v1/api-keys", WANTED, idempotency_key="once")
    second = client.post("/v1/api-keys", WANTED, idempotency_key="once")

    shown = first.json()
    text = shown.pop("key")
    assert second.json() == shown
    assert text not in stored_answers()
    assert second.headers["Location"] == first.headers["Location"]
    assert second.headers["Idempotent-Replayed"] == "true"
    assert ApiKey.objects.filter(name="ci").count() == 1


def test_another_keys_creation_is_not_replayed(alpha):
    wanted = {"name": "owner's", "scopes": ["read"], "owner": True}
    made = make_client(alpha, owner=True).post("/v1/api-keys", wanted, idempotency_key="once")
    assert made.status_code == 201

    answer = make_client(alpha).post("/v1/api-keys", wanted, idempotency_key="once")

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_mismatch")
    assert made.json()["key"] not in answer.text


def test_who_made_it_is_in_the_audit_log(alpha, client):
    made = client.post("/v1/api-keys", WANTED)

    entry = AuditEntry.objects.get(action="api_key.created", object_id=made.json()["id"])
    assert entry.tenant_id == alpha.id
    assert entry.actor.startswith("api_key:pk_")
    assert entry.address == "127.0.0.1"
    assert entry.trace_id == made.headers["X-Trace-Id"]


@pytest.mark.parametrize("scope", ["write", "worker", "admin"])
def test_a_key_that_sends_or_leases_always_sees_payloads(owner, scope):
    wanted = {"name": "ci", "scopes": ["read", scope], "sees_payloads": False}

    answer = owner.post("/v1/api-keys", wanted)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/sees_payloads"
    as_owner = owner.post("/v1/api-keys", {**WANTED, "owner": True, "sees_payloads": False})
    assert as_owner.status_code == 400
    assert not ApiKey.objects.filter(sees_payloads=False).exists()


def test_a_key_may_lack_the_sight_of_payloads(client):
    wanted = {"name": "ci", "scopes": ["read", "operate"], "sees_payloads": False}

    made = client.post("/v1/api-keys", wanted).json()

    assert made["sees_payloads"] is False
    assert client.get(f"/v1/api-keys/{made['id']}").json()["sees_payloads"] is False
    assert ApiClient(made["key"]).get("/v1/me").json()["api_key"]["sees_payloads"] is False


def test_a_rotated_key_does_not_gain_the_sight_of_payloads(alpha):
    key = create_api_key(
        alpha, name="ci", scopes=["read"], sees_payloads=False, actor=COMMAND, by=OPERATOR
    )[0]

    assert rotate_api_key(alpha.id, key.id, actor=COMMAND, by=OPERATOR)[0].sees_payloads is False


def test_a_key_with_an_address_list_makes_none_for_elsewhere(alpha):
    _, text = create_api_key(
        alpha, name="listed", scopes=SCOPES, addresses=["127.0.0.0/8"], actor=COMMAND, by=OPERATOR
    )
    client = ApiClient(text)

    for addresses in ([], ["127.0.0.1", "10.0.0.1"], ["0.0.0.0/0"], ["::1"]):
        refused = client.post("/v1/api-keys", {**WANTED, "addresses": addresses})
        assert refused.status_code == 403, addresses
    assert client.post("/v1/api-keys", WANTED).status_code == 403
    made = client.post("/v1/api-keys", {**WANTED, "addresses": ["127.0.0.1"]})
    assert (made.status_code, made.json()["addresses"]) == (201, ["127.0.0.1/32"])


def test_a_tenant_has_a_bounded_number_of_valid_keys(alpha, client, monkeypatch):
    monkeypatch.setattr("tenants.services.api_keys.MOST_KEYS", 2)
    made = client.post("/v1/api-keys", WANTED).json()

    refused = client.post("/v1/api-keys", WANTED)
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_keys")
    assert client.post(f"/v1/api-keys/{made['id']}/rotate", {}).status_code == 409
    client.delete(f"/v1/api-keys/{made['id']}")

    assert client.post("/v1/api-keys", WANTED).status_code == 201
