from __future__ import annotations

import pytest

from tests.support.api import ApiClient, make_client


def test_any_key_may_ask_who_it_is(alpha):
    response = make_client(alpha, ["worker"]).get("/v1/me")

    assert response.status_code == 200
    body = response.json()
    assert body["tenant"]["name"] == "Alpha"
    assert body["scopes"] == ["worker"]
    assert body["limits"]["payload_bytes"] == 262144


@pytest.mark.django_db
def test_without_a_key_it_is_401():
    assert ApiClient().get("/v1/me").status_code == 401


def test_each_key_sees_its_own_tenant(client, stranger):
    assert client.get("/v1/me").json()["tenant"]["name"] == "Alpha"
    assert stranger.get("/v1/me").json()["tenant"]["name"] == "Beta"
