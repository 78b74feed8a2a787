from __future__ import annotations

import pytest

from tests.executions.answers import audited
from tests.factories import make_task
from tests.support.circuits import HOST, live
from tests.support.closed_redis import closed_redis
from wire.destination_key import key_of


@pytest.fixture(autouse=True)
def opened(alpha):
    make_task(alpha)
    live().report(20, 20, destination=key_of(alpha.id, HOST))


def reset(client, host=HOST, body=None, **headers):
    return client.post(f"/v1/destinations/{host}/reset", body, **headers)


def test_the_circuit_closes(client):
    answer = reset(client)

    assert (answer.status_code, answer.json()["circuit"]) == (200, "closed")
    assert audited(HOST, "destination.reset")["before"]["circuit"] == "open"


def test_a_body_is_refused(client):
    assert reset(client, body={"force": True}).status_code == 400
    assert client.get(f"/v1/destinations/{HOST}").json()["circuit"] == "open"


def test_the_same_call_again_gets_the_first_answer(client):
    first = reset(client, idempotency_key="r1")

    assert reset(client, idempotency_key="r1").content == first.content


def test_without_redis_it_is_503(client, monkeypatch):
    nowhere = closed_redis()
    monkeypatch.setattr("executions.dispatch.circuits.client", lambda: nowhere)

    assert reset(client).status_code == 503
