from __future__ import annotations

import pytest

from executions.engine.outcome_stream import OutcomeConsumer, ensure_group
from tenants.models import Tenant
from tests.executions.workers.test_registry import beat
from tests.factories import ApiClient, make_client
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db
PATH = "/v1/workers"


def test_workers_and_recorders_are_listed(client: ApiClient):
    beat("mail@host-1:42", pool="mail", host="host-1", pid=42, running=3, version="1.0.0")
    ensure_group()
    OutcomeConsumer("recorder-1", 0.01).read(1)

    shown = client.get(PATH).json()

    (worker,) = shown["workers"]
    assert (worker["name"], worker["host"], worker["pool"]) == ("mail", "host-1", "mail")
    assert (worker["state"], worker["capacity"], worker["in_flight"]) == ("live", 4, 3)
    assert (worker["version"], worker["memory_bytes"]) == ("1.0.0", None)
    (recorder,) = shown["recorders"]
    assert (recorder["name"], recorder["live"], recorder["pending"]) == ("recorder-1", True, 0)


def test_nobody_is_listed_where_nobody_works(client: ApiClient):
    assert client.get(PATH).json() == {"workers": [], "recorders": []}


def test_without_redis_the_call_is_503(client: ApiClient, monkeypatch: pytest.MonkeyPatch):
    closed = closed_redis()
    monkeypatch.setattr("executions.workers.registry.client", lambda: closed)

    answer = client.get(PATH)

    assert answer.status_code == 503
    assert "Retry-After" in answer.headers


def test_reading_needs_the_scope_read(alpha: Tenant, nobody: ApiClient, viewer: ApiClient):
    assert nobody.get(PATH).status_code == 401
    assert make_client(alpha, ["write"]).get(PATH).status_code == 403
    assert viewer.get(PATH).status_code == 200
