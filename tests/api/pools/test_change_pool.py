from __future__ import annotations

from typing import Any

import pytest

from events.models import AuditEntry
from executions.models import Pool
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.executions.leasing import POOL, take, work
from tests.factories import ApiClient

PATH = f"/v1/pools/{POOL}"


def test_a_pool_that_is_not_there_is_made(client: ApiClient, alpha: Tenant):
    answer = client.patch(PATH, {"max_in_flight": 3})

    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert (shown["name"], shown["paused"], shown["max_in_flight"]) == (POOL, False, 3)
    assert audited(POOL, "pool.changed")["after"] == {"paused": False, "max_in_flight": 3}
    assert Pool.objects.filter(tenant=alpha).count() == 1


def test_nothing_is_leased_from_a_paused_pool(client: ApiClient, alpha: Tenant):
    work(alpha, 2)
    taken = take(alpha, 1)

    client.patch(PATH, {"paused": True})

    assert len(taken) == 1
    assert take(alpha) == []
    client.patch(PATH, {"paused": False})
    assert len(take(alpha)) == 1


def test_no_more_than_the_limit_is_leased_at_a_time(client: ApiClient, alpha: Tenant):
    work(alpha, 5)
    client.patch(PATH, {"max_in_flight": 2})

    assert len(take(alpha, 1)) == 1
    assert len(take(alpha, 5, worker="w-2")) == 1
    assert take(alpha) == []
    client.patch(PATH, {"max_in_flight": None})
    assert len(take(alpha)) == 3


def test_what_is_left_out_stays(client: ApiClient):
    client.patch(PATH, {"paused": True, "max_in_flight": 5})

    shown = client.patch(PATH, {"max_in_flight": 6}).json()

    assert (shown["paused"], shown["max_in_flight"], shown["version"]) == (True, 6, 3)


def test_a_change_of_nothing_is_none(client: ApiClient):
    first = client.patch(PATH, {}).json()

    assert client.patch(PATH, {"paused": False}).json()["version"] == first["version"]
    assert AuditEntry.objects.filter(action="pool.changed").count() == 1


def test_another_version_is_412(client: ApiClient):
    client.patch(PATH, {"paused": True})

    assert problem(client.patch(PATH, {"paused": False}, if_match='"1"')) == (
        412,
        "version_mismatch",
    )
    assert client.patch(PATH, {"paused": False}, if_match='"2"').status_code == 200


def test_the_same_key_gives_the_first_answer_again(client: ApiClient):
    first = client.patch(PATH, {"paused": True}, idempotency_key="1")
    client.patch(PATH, {"paused": False})

    again = client.patch(PATH, {"paused": True}, idempotency_key="1")

    assert again.content == first.content
    assert Pool.objects.get().paused is False


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"paused": 1}, "#/paused"),
        ({"paused": None}, "#/paused"),
        ({"max_in_flight": 0}, "#/max_in_flight"),
        ({"max_in_flight": 1_000_001}, "#/max_in_flight"),
        ({"name": "x"}, "#/name"),
    ],
)
def test_wrong_bodies_are_400(client: ApiClient, body: Any, pointer: str):
    answer = client.patch(PATH, body)

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert not Pool.objects.exists()


@pytest.mark.parametrize("name", ["Batch", "a b", "-a", "a" * 51])
def test_a_name_that_no_pool_may_have_is_400(client: ApiClient, name: str):
    assert problem(client.patch(f"/v1/pools/{name}", {}))[0] == 400


def test_another_tenants_pool_of_the_name_is_another_pool(
    client: ApiClient, stranger: ApiClient, alpha: Tenant
):
    work(alpha)

    assert stranger.patch(PATH, {"paused": True}).status_code == 200
    assert client.get(PATH).json()["paused"] is False
    assert len(take(alpha)) == 1
