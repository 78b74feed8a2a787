"""What arrives below a tenant's address is the tenant's, and shown over no network (H1)."""

from __future__ import annotations

from uuid import UUID

import pytest

from executions.triggering import receiver_requests
from executions.triggering.receiver_requests import (
    NoReceiver,
    address_of,
    forget,
    received,
    required_address_of,
)
from shared.exceptions import Unavailable
from tests.support.receiving import deliver, receiving

ALPHA, BETA = UUID(int=1), UUID(int=2)


@pytest.fixture
def receiver(settings, tmp_path):
    with receiving(settings, tmp_path) as url:
        yield url


def paths(tenant: UUID) -> list[str]:
    return [one["path"] for one in received(tenant, {})["requests"]]


def test_each_tenant_sees_what_arrived_below_its_own_address(receiver):
    assert deliver(f"{address_of(ALPHA)}status/418")[0] == 418
    assert deliver(f"{address_of(BETA)}ok")[0] == 200

    assert (paths(ALPHA), paths(BETA)) == (["/status/418"], ["/ok"])


def test_a_tenant_forgets_its_own_requests_alone(receiver):
    for tenant in (ALPHA, BETA):
        deliver(f"{address_of(tenant)}ok")

    forget(ALPHA)

    assert (paths(ALPHA), paths(BETA)) == ([], ["/ok"])


def test_what_arrives_below_no_address_is_answered_and_shown_to_nobody(receiver):
    assert deliver(f"{receiver}ok", Authorization="Basic c2VjcmV0")[0] == 200

    assert (paths(ALPHA), paths(BETA)) == ([], [])


def test_requests_are_found_by_path_and_by_execution(receiver):
    base = address_of(ALPHA)
    deliver(f"{base}ok?n=1", webhook_id="a")
    deliver(f"{base}echo", webhook_id="b")

    assert received(ALPHA, {"path": "/ok"})["requests"][0]["query"] == {"n": "1"}
    assert received(ALPHA, {"webhook_id": "b"})["requests"][0]["path"] == "/echo"
    assert len(received(ALPHA, {"limit": 1})["requests"]) == 1


def test_where_no_receiver_runs_there_is_no_address(settings):
    settings.RECEIVER_URL = ""

    assert address_of(ALPHA) is None
    for ask in (required_address_of, forget, lambda tenant: received(tenant, {})):
        with pytest.raises(NoReceiver):
            ask(ALPHA)


def test_a_receiver_that_is_away_is_said(settings, tmp_path):
    with receiving(settings, tmp_path):
        pass

    with pytest.raises(Unavailable, match="does not answer"):
        received(ALPHA, {})


def test_an_answer_that_refuses_is_no_list(receiver, monkeypatch):
    monkeypatch.setattr(receiver_requests, "segment", lambda tenant: "guessed")

    with pytest.raises(Unavailable, match="404"):
        received(ALPHA, {})
