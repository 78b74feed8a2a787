from __future__ import annotations

import pytest

from executions.models import Destination
from tests.executions.answers import audited, problem
from tests.factories import make_task
from tests.support.circuits import HOST


@pytest.fixture(autouse=True)
def task(alpha):
    return make_task(alpha)


def change(client, body, host=HOST, **headers):
    return client.patch(f"/v1/destinations/{host}", body, **headers)


def test_limits_are_set_and_audited(client):
    answer = change(client, {"max_in_flight": 10, "rate_per_second": 2.5})

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["max_in_flight"], shown["rate_per_second"], shown["version"]) == (10, 2.5, 1)
    assert answer.headers["ETag"] == '"1"'
    entry = audited(HOST, "destination.changed")
    assert entry["before"] == {"max_in_flight": None, "rate_per_second": None, "breaker": True}


def test_null_lifts_a_limit(client):
    change(client, {"max_in_flight": 10})

    assert change(client, {"max_in_flight": None}).json()["max_in_flight"] is None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"max_in_flight": 0}, "#/max_in_flight"),
        ({"max_in_flight": "5"}, "#/max_in_flight"),
        ({"rate_per_second": 0}, "#/rate_per_second"),
        ({"rate_per_second": -1}, "#/rate_per_second"),
        ({"breaker": None}, "#/breaker"),
        ({"rate": 1}, "#/rate"),
    ],
)
def test_what_makes_no_sense_is_400(client, body, pointer):
    answer = change(client, body)

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert not Destination.objects.exists()


def test_the_version_is_compared(client):
    assert change(client, {"max_in_flight": 5}, if_match='"0"').status_code == 200
    assert change(client, {"max_in_flight": 6}, if_match='"0"').status_code == 412
    assert Destination.objects.get().max_in_flight == 5


def test_the_same_call_again_gets_the_first_answer(client):
    first = change(client, {"max_in_flight": 5}, idempotency_key="d1")

    assert change(client, {"max_in_flight": 5}, idempotency_key="d1").content == first.content


def test_what_is_no_host_is_404(client):
    assert problem(change(client, {"max_in_flight": 5}, host="me@a.example")) == (404, "not_found")
    assert not Destination.objects.exists()


def test_every_tenant_has_limits_of_its_own(client, stranger, alpha):
    change(client, {"max_in_flight": 5})

    assert change(stranger, {"max_in_flight": 7}).json()["tasks"] == 0
    assert Destination.objects.get(tenant=alpha).max_in_flight == 5
