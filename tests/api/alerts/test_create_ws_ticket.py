from __future__ import annotations

from typing import Any

import pytest

from notifications import tickets
from notifications.tickets import redeem
from tests.factories import make_client, make_tenant
from tests.support.api import ApiClient
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha() -> Any:
    return make_tenant("Alpha")


def test_a_key_gets_a_ticket_for_its_tenant(alpha: Any):
    response = make_client(alpha, ["read"]).post("/v1/ws-tickets")

    assert response.status_code == 201
    body = response.json()
    assert set(body) == {"ticket", "expires_at", "url"}
    assert body["url"] == f"ws://127.0.0.1:8000/ws/live?ticket={body['ticket']}"
    assert response["Cache-Control"] == "no-store"
    holder = redeem(body["ticket"])
    assert holder is not None
    assert holder.tenant_id == alpha.id


def test_the_key_must_be_allowed_to_read(alpha: Any):
    assert make_client(alpha, ["worker"]).post("/v1/ws-tickets").status_code == 403
    assert ApiClient().post("/v1/ws-tickets").status_code == 401


def test_other_methods_are_refused(alpha: Any):
    assert make_client(alpha).get("/v1/ws-tickets").status_code == 405


def test_without_redis_it_is_503(alpha: Any, monkeypatch: pytest.MonkeyPatch):
    client = make_client(alpha)
    monkeypatch.setattr(tickets, "client", closed_redis)

    response = client.post("/v1/ws-tickets")

    assert response.status_code == 503
    assert response.json()["code"] == "unavailable"
