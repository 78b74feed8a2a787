from __future__ import annotations

from uuid import uuid4

from tests.support.api import make_key


def test_keys_are_listed_newest_first_without_their_text(alpha, client):
    made, key = make_key(alpha, ["read"])

    response = client.get("/v1/api-keys")

    body = response.json()
    first = body["api_keys"][0]
    assert (first["id"], first["prefix"], first["scopes"]) == (str(made.id), made.prefix, ["read"])
    assert first["created_at"].endswith("Z")
    assert body["pagination"]["total"] == 2
    assert key not in response.content.decode()
    assert "key_hash" not in response.content.decode()


def test_one_key_is_read_by_its_id(alpha, client):
    made, _ = make_key(alpha)

    assert client.get(f"/v1/api-keys/{made.id}").json()["id"] == str(made.id)


def test_another_tenants_keys_are_not_there(alpha, stranger):
    made, _ = make_key(alpha)

    listed = stranger.get("/v1/api-keys").json()["api_keys"]
    response = stranger.get(f"/v1/api-keys/{made.id}")

    assert str(made.id) not in [key["id"] for key in listed]
    assert response.status_code == 404
    assert response.json() | {"instance": "", "trace_id": ""} == stranger.get(
        f"/v1/api-keys/{uuid4()}"
    ).json() | {"instance": "", "trace_id": ""}
