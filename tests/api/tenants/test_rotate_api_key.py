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
from tenants.services import create_api_key
from tests.support.api import ApiClient, make_key
from tests.support.stored_answers import stored_answers

IN_AN_HOUR = timezone.now() + timedelta(hours=1)


def _key(tenant, *scopes, **parts):
    return create_api_key(
        tenant, name="key", scopes=scopes or SCOPES, actor=COMMAND, by=OPERATOR, **parts
    )


def _path(key):
    return f"/v1/api-keys/{key.id}/rotate"


def test_both_keys_are_valid_during_the_overlap_and_the_old_one_names_the_new(alpha, client):
    key, old = _key(alpha, "read", addresses=["127.0.0.1"])

    answer = client.post(_path(key), {"overlap_seconds": 3600})

    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["Location"] == f"/v1/api-keys/{body['id']}"
    assert answer.headers["Cache-Control"] == "no-store"
    assert (body["scopes"], body["addresses"]) == (["read"], ["127.0.0.1/32"])
    for text in (old, body["key"]):
        assert ApiClient(text).get("/v1/tasks").status_code == 200
    shown = client.get(f"/v1/api-keys/{key.id}").json()
    assert shown["replaced_by"] == body["id"]
    assert shown["expires_at"] is not None


def test_the_old_key_can_be_revoked_at_once(alpha, client):
    key, old = _key(alpha, "read")
    made = client.post(_path(key), {}).json()

    assert client.delete(f"/v1/api-keys/{key.id}").status_code == 204

    assert ApiClient(old).get("/v1/me").status_code == 401
    assert ApiClient(made["key"]).get("/v1/me").status_code == 200


def test_without_an_overlap_the_old_key_is_refused_at_once(alpha, client):
    key, old = _key(alpha, "read")

    client.post(_path(key), {"overlap_seconds": 0})

    assert ApiClient(old).get("/v1/me").status_code == 401


def test_a_key_is_rotated_once(alpha, client):
    key, _ = _key(alpha, "read")
    client.post(_path(key), {})

    answer = client.post(_path(key), {})

    assert (answer.status_code, answer.json()["code"]) == (409, "key_rotated")
    assert ApiKey.objects.filter(name="key").count() == 2


@pytest.mark.parametrize("parts", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}])
def test_a_key_that_is_no_longer_valid_is_not_rotated(alpha, client, parts):
    key, _ = _key(alpha, "read")
    ApiKey.objects.filter(pk=key.pk).update(**parts)

    answer = client.post(_path(key), {})

    assert (answer.status_code, answer.json()["code"]) == (409, "key_not_valid")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"overlap_seconds": -1}, "#/overlap_seconds"),
        ({"overlap_seconds": 604_801}, "#/overlap_seconds"),
        ({"overlap_seconds": "1"}, "#/overlap_seconds"),
        ({"expires_at": "2000-01-01T00:00:00Z"}, "#/expires_at"),
        ({"scopes": ["read"]}, "#/scopes"),
    ],
)
def test_a_bad_field_is_400(alpha, client, body, pointer):
    key, _ = _key(alpha, "read")

    answer = client.post(_path(key), body)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_repeat_makes_no_second_key_and_shows_no_text(alpha, client):
    key, _ = _key(alpha, "read")

    first = client.post(_path(key), {}, idempotency_key="once")
    second = client.post(_path(key), {}, idempotency_key="once")

    shown = first.json()
    text = shown.pop("key")
    assert second.json() == shown
    assert text not in stored_answers()
    assert ApiKey.objects.filter(name="key").count() == 2


@pytest.mark.parametrize(
    "parts", [{"owner": True}, {"scopes": ["write"]}, {"addresses": []}, {"expires_at": None}]
)
def test_no_text_of_a_stronger_key_is_shown(alpha, parts):
    _, text = _key(alpha, "admin", "read", addresses=["127.0.0.1"], expires_at=IN_AN_HOUR)
    made = {"scopes": ["read"], "addresses": ["127.0.0.1"], "expires_at": IN_AN_HOUR, **parts}
    key, _ = create_api_key(alpha, name="strong", actor=COMMAND, by=OPERATOR, **made)

    assert ApiClient(text).post(_path(key), {}).status_code == 403
    assert ApiKey.objects.filter(name="strong").count() == 1
    assert ApiKey.objects.get(pk=key.pk).replaced_by is None


def test_a_key_that_expires_rotates_another_into_one_that_ends_with_it(alpha):
    _, text = _key(alpha, expires_at=IN_AN_HOUR)
    key, _ = _key(alpha, "read")
    caller = ApiClient(text)

    later = format_instant(IN_AN_HOUR + timedelta(seconds=1))
    assert caller.post(_path(key), {"expires_at": later}).status_code == 403
    assert caller.post(_path(key), {"expires_at": format_instant(IN_AN_HOUR)}).status_code == 201


def test_a_key_rotates_itself(alpha):
    key, text = _key(alpha, "admin", expires_at=IN_AN_HOUR)

    made = ApiClient(text).post(_path(key), {"overlap_seconds": 0}).json()

    assert ApiClient(text).get("/v1/me").status_code == 401
    assert ApiClient(made["key"]).get("/v1/me").json()["scopes"] == ["admin"]
    assert made["expires_at"] == format_instant(IN_AN_HOUR)


def test_both_sides_are_in_the_audit_log(alpha, client):
    key, _ = _key(alpha, "read")
    made = client.post(_path(key), {}).json()

    entry = AuditEntry.objects.get(action="api_key.rotated")
    assert (entry.object_id, entry.address) == (str(key.id), "127.0.0.1")
    assert made["id"] in (entry.after or "")
    assert AuditEntry.objects.filter(action="api_key.created", object_id=made["id"]).exists()


def test_another_tenants_key_is_404(alpha, beta, stranger):
    key, _ = make_key(alpha)

    assert stranger.post(_path(key), {}).status_code == 404
