from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from api.protocol import known_callers
from api.protocol.known_callers import sharer_of
from tests.support.api import ApiClient, make_key, make_tenant

_ADDRESS = "192.0.2.7"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_callers, "_tenants", {})


def scope(authorization: bytes | None = None) -> dict[str, Any]:
    given = [] if authorization is None else [(b"authorization", authorization)]
    return {"headers": [(b"host", b"localhost"), *given], "client": [_ADDRESS, 1]}


@pytest.mark.django_db
def test_a_header_that_was_verified_is_its_tenants():
    tenant = make_tenant()
    _, key = make_key(tenant)
    client, header = ApiClient(key), f"Bearer {key}".encode()
    assert sharer_of(scope(header)) == _ADDRESS

    assert client.get("/v1/me").status_code == 200

    assert sharer_of(scope(header)) == str(tenant.id)
    assert sharer_of(scope(header + b"x")) == _ADDRESS
    assert header not in b"".join(known_callers._tenants)


@pytest.mark.django_db
def test_a_header_that_was_refused_is_not_remembered():
    assert ApiClient("wrong").get("/v1/me").status_code == 401

    assert known_callers._tenants == {}


def test_a_caller_without_a_key_shares_by_its_address():
    assert sharer_of(scope()) == _ADDRESS
    assert sharer_of({"headers": []}) == ""


def test_the_addresses_of_one_ipv6_network_have_one_share():
    given = ("2001:db8::1", "2001:db8::2", "::ffff:192.0.2.7", "made up")

    shares = [sharer_of({"headers": [], "client": [one, 1]}) for one in given]

    assert shares == ["2001:db8::/64", "2001:db8::/64", _ADDRESS, ""]


def test_as_many_headers_as_come_are_remembered_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(known_callers, "_MOST", 2)
    for number in range(3):
        known_callers.note(f"Bearer {number}", uuid4())

    assert len(known_callers._tenants) == 1
