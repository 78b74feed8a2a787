from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from events.models import AuditEntry
from shared.actor import COMMAND
from shared.instants import format_instant
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.models import ApiKey
from tenants.services import create_api_key, rotate_api_key
from tests.support.api import ApiClient, make_client, make_key

IN_AN_HOUR = timezone.now() + timedelta(hours=1)


def _key(tenant, *scopes, **parts):
    return create_api_key(
        tenant, name="key", scopes=scopes or SCOPES, actor=COMMAND, by=OPERATOR, **parts
    )


def _path(key):
    return f"/v1/api-keys/{key.id}"


def test_fields_that_are_left_out_stay(alpha, client):
    key, _ = _key(alpha, "read", "write", addresses=["10.0.0.0/8"])

    answer = client.patch(_path(key), {"name": "new"})

    assert answer.status_code == 200
    body = answer.json()
    assert (body["name"], body["scopes"]) == ("new", ["read", "write"])
    assert (body["addresses"], body["expires_at"]) == (["10.0.0.0/8"], None)
    assert "key" not in body


def test_every_field_is_changed_and_the_audit_log_has_before_and_after(alpha, client):
    key, _ = _key(alpha, "read", "write")
    end = format_instant(IN_AN_HOUR)

    answer = client.patch(
        _path(key), {"scopes": ["read"], "addresses": ["203.0.113.7"], "expires_at": end}
    )

    body = answer.json()
    assert (body["scopes"], body["addresses"]) == (["read"], ["203.0.113.7/32"])
    assert body["expires_at"] == end
    entry = AuditEntry.objects.get(action="api_key.updated")
    assert '"scopes":["read","write"]' in (entry.before or "")
    assert '"scopes":["read"]' in (entry.after or "")
    assert "name" not in (entry.after or "")


def test_an_empty_change_changes_and_records_nothing(alpha, client):
    key, _ = _key(alpha, "read")

    assert client.patch(_path(key), {}).status_code == 200
    assert client.patch(_path(key), {"name": "key", "scopes": ["read"]}).status_code == 200
    assert not AuditEntry.objects.filter(action="api_key.updated").exists()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"name": ""}, "#/name"),
        ({"scopes": []}, "#/scopes"),
        ({"scopes": ["root"]}, "#/scopes/0"),
        ({"addresses": ["x"]}, "#/addresses/0"),
        ({"addresses": "10.0.0.0/8"}, "#/addresses"),
        ({"addresses": [7]}, "#/addresses/0"),
        ({"addresses": ["10.0.0.1"] * 51}, "#/addresses"),
        ({"expires_at": "2000-01-01T00:00:00Z"}, "#/expires_at"),
        ({"owner": True}, "#/owner"),
        ({"key": "x"}, "#/key"),
    ],
)
def test_a_bad_field_is_400_and_changes_nothing(alpha, client, change, pointer):
    key, _ = _key(alpha, "read")

    answer = client.patch(_path(key), change)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("parts", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}])
def test_a_key_that_is_no_longer_valid_does_not_come_back(alpha, client, parts):
    key, text = _key(alpha, "read")
    ApiKey.objects.filter(pk=key.pk).update(**parts)

    answer = client.patch(_path(key), {"expires_at": None})

    assert (answer.status_code, answer.json()["code"]) == (409, "key_not_valid")
    assert ApiClient(text).get("/v1/me").status_code == 401


def test_the_change_holds_with_the_keys_next_call(alpha, client):
    key, text = _key(alpha, "read")
    other = ApiClient(text)
    assert other.get("/v1/tasks").status_code == 200

    client.patch(_path(key), {"addresses": ["203.0.113.0/24"]})
    assert other.get("/v1/tasks").json()["code"] == "address_not_allowed"
    client.patch(_path(key), {"addresses": [], "scopes": ["write"]})

    assert other.get("/v1/tasks").status_code == 403


def test_a_key_gets_no_right_that_its_changer_lacks(alpha):
    changer = make_client(alpha, ["admin", "read"])
    key, _ = _key(alpha, "read")

    assert changer.patch(_path(key), {"scopes": ["admin", "read"]}).status_code == 200
    assert changer.patch(_path(key), {"scopes": ["admin", "write"]}).status_code == 403
    assert ApiKey.objects.get(pk=key.pk).scopes == ["read", "admin"]


def test_a_key_does_not_give_itself_more(alpha):
    key, text = _key(alpha, "admin", "read", addresses=["127.0.0.0/8"], expires_at=IN_AN_HOUR)
    own = ApiClient(text)

    changes: tuple[dict[str, Any], ...] = (
        {"scopes": ["admin", "read", "write"]},
        {"addresses": []},
        {"addresses": ["127.0.0.0/8", "10.0.0.0/8"]},
        {"expires_at": None},
        {"expires_at": format_instant(IN_AN_HOUR + timedelta(seconds=1))},
    )
    for change in changes:
        assert own.patch(_path(key), change).status_code == 403, change
    assert own.patch(_path(key), {"name": "own", "addresses": ["127.0.0.1"]}).status_code == 200
    # What it gave up, it cannot take again.
    assert own.patch(_path(key), {"addresses": ["127.0.0.0/8"]}).status_code == 403


@pytest.mark.parametrize(
    "parts",
    [{"owner": True}, {"scopes": ["write"]}, {"addresses": []}, {"addresses": ["0.0.0.0/0"]}],
)
def test_a_stronger_key_is_not_even_narrowed(alpha, parts):
    _, text = _key(alpha, "admin", "read", addresses=["127.0.0.1"])
    made = {"scopes": ["read"], "addresses": ["127.0.0.1"], **parts}
    key, _ = create_api_key(alpha, name="strong", actor=COMMAND, by=OPERATOR, **made)

    answer = ApiClient(text).patch(_path(key), {"name": "weak"})

    assert answer.status_code == 403
    assert ApiKey.objects.get(pk=key.pk).name == "strong"


def test_a_key_that_expires_widens_none_that_outlives_it_and_may_narrow_it(alpha):
    _, text = _key(alpha, expires_at=IN_AN_HOUR)
    changer = ApiClient(text)
    key, _ = _key(alpha, "read", addresses=["127.0.0.1"])

    # As a way to keep its rights beyond its own end.
    assert changer.patch(_path(key), {"scopes": ["admin", "read"]}).status_code == 403
    assert changer.patch(_path(key), {"addresses": []}).status_code == 403
    later = format_instant(IN_AN_HOUR + timedelta(days=1))
    assert changer.patch(_path(key), {"name": "x", "expires_at": later}).status_code == 200


def test_the_old_key_of_a_rotation_does_not_outlast_its_overlap(alpha, client):
    key, _ = _key(alpha, "read")
    rotate_api_key(alpha.id, key.id, overlap_seconds=3600, actor=COMMAND, by=OPERATOR)

    for end in (None, format_instant(timezone.now() + timedelta(hours=2))):
        answer = client.patch(_path(key), {"expires_at": end})
        assert answer.json()["errors"][0]["pointer"] == "#/expires_at"
    soon = format_instant(timezone.now() + timedelta(minutes=5))
    assert client.patch(_path(key), {"expires_at": soon}).status_code == 200


def test_another_tenants_key_is_404(alpha, beta, client, stranger):
    key, _ = make_key(alpha)

    assert stranger.patch(_path(key), {"name": "x"}).status_code == 404
