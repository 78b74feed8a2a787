from __future__ import annotations

import pytest

from tests.executions.answers import audited, problem
from tests.executions.destinations.test_limits import HOST, live
from tests.factories import make_client, make_task
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


def test_the_scope_operate_is_needed(alpha, viewer):
    assert reset(viewer).status_code == 403
    assert reset(make_client(alpha, ["operate"])).status_code == 200


def test_unknown_hosts_and_those_of_other_tenants_are_404(client, stranger):
    assert problem(reset(client, "nowhere")) == (404, "not_found")
    assert problem(reset(stranger)) == (404, "not_found")


def test_without_redis_it_is_503(client, monkeypatch):
    nowhere = closed_redis()
    monkeypatch.setattr("executions.dispatch.circuits.client", lambda: nowhere)

    assert reset(client).status_code == 503
