"""Reports of destinations: what is counted, when it is sent, and that nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
import redis

from tests.support.log_lines import lines_of
from wire import start_guard
from wire.destination_key import key_of
from worker.entries import Flying, Held
from worker.reports import Reports, speaks_well

OK = {"verb": "succeeded", "outcome": "SUCCEEDED", "status": 200}
ERROR = {"verb": "retrying", "outcome": "FAILED", "error_code": "http_status", "status": 503}


class Connection:
    """Takes scripts as Redis does; ``broken`` refuses them."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []
        self.broken = False
        self.moved: list[bytes] = [b""]
        self.on_refusal: Callable[[], None] = lambda: None
        self._came = asyncio.Event()

    async def eval(self, script: str, keys: int, *arguments: Any) -> list[bytes]:
        if self.broken:
            self.on_refusal()
            raise redis.ConnectionError("away")
        self.sent.append(list(arguments))
        self._came.set()
        return self.moved

    async def until_sent(self) -> None:
        async with asyncio.timeout(60):
            await self._came.wait()


def flight(
    token: int, verdict: int = start_guard.GO, host: str = "a.example", limits: str = ""
) -> Flying:
    entry: Any = {"id": "e", "tenant": "t", "destination": host, "limits": limits}
    batch: Any = {}
    return Flying(Held(1.0, 1, token, entry, batch), 1.0, verdict)


@pytest.mark.parametrize(
    ("outcome", "well"),
    [
        (OK, True),
        ({"verb": "accepted", "status": 202}, True),
        ({"verb": "succeeded", "status": 500}, True),
        (ERROR, False),
        ({"verb": "failed", "error_code": "http_status", "status": 404}, True),
        ({"verb": "retrying", "error_code": "http_status", "status": 429}, True),
        ({"verb": "failed", "error_code": "response_mismatch", "status": 200}, True),
        ({"verb": "retrying", "error_code": "timeout_total"}, False),
        ({"verb": "retrying", "error_code": "connection_refused"}, False),
        ({"verb": "retrying", "error_code": "tls_failed"}, False),
        ({"verb": "failed", "error_code": "address_forbidden"}, None),
        ({"verb": "retrying", "error_code": "internal"}, None),
        ({"verb": "cancelled", "outcome": "CANCELLED"}, None),
    ],
)
def test_what_an_outcome_says_of_its_destination(outcome, well):
    assert speaks_well(outcome) is well


async def test_calls_are_added_up_per_destination() -> None:
    connection = Connection()
    reports = Reports(connection)  # type: ignore[arg-type]  # a fake
    for outcome in (OK, OK, ERROR):
        reports.ended(flight(1), outcome)
    reports.ended(flight(2, host="b.example", limits="0,,"), ERROR)
    reports.ended(flight(3, host=""), OK)

    await reports.flush()

    assert connection.sent == [
        ["t:a.example", 1, 3, 1, "", "", "", 0, "t:b.example", 0, 1, 1, "", "", "", 0]
    ]
    await reports.flush()
    assert len(connection.sent) == 1


async def test_places_and_the_word_of_a_probe_are_given_back() -> None:
    connection = Connection()
    reports = Reports(connection)  # type: ignore[arg-type]  # a fake
    reports.ended(flight(7, start_guard.PLACED), OK)
    assert reports.leaving
    reports.ended(flight(8, start_guard.PROBE), ERROR)
    reports.waited(flight(9).held)

    await reports.flush()

    assert connection.sent == [["t:a.example", 1, 2, 1, "8", "0", "1", 2, 7, 8]]
    assert not reports.leaving


async def test_what_cannot_be_sent_is_kept_and_added_to() -> None:
    connection = Connection()
    reports = Reports(connection)  # type: ignore[arg-type]  # a fake
    connection.broken = True
    reports.ended(flight(7, start_guard.PLACED), OK)
    with pytest.raises(redis.ConnectionError):
        await reports.flush()
    assert reports.leaving

    connection.broken = False
    reports.ended(flight(8, start_guard.PLACED), ERROR)
    await reports.flush()

    assert connection.sent == [["t:a.example", 1, 2, 1, "", "", "", 2, 7, 8]]


@pytest.mark.parametrize("outcome", [OK, ERROR])
async def test_it_sends_by_itself(outcome: Any) -> None:
    connection = Connection()
    reports = Reports(connection)  # type: ignore[arg-type]  # a fake
    job = asyncio.create_task(reports.run())

    reports.ended(flight(1), outcome)
    await connection.until_sent()

    job.cancel()
    assert connection.sent[0][0] == "t:a.example"


@pytest.mark.logs("reports.held_back", reason="ConnectionError")
async def test_it_tries_again_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.reports._RETRY_SECONDS", 0)
    connection = Connection()
    connection.broken = True
    refused = asyncio.Event()
    monkeypatch.setattr(connection, "on_refusal", refused.set)
    reports = Reports(connection)  # type: ignore[arg-type]  # a fake
    job = asyncio.create_task(reports.run())
    reports.ended(flight(1), OK)
    async with asyncio.timeout(60):
        await refused.wait()

    connection.broken = False
    reports.ended(flight(2), OK)
    await connection.until_sent()

    job.cancel()
    assert connection.sent[0][:4] == ["t:a.example", 1, 2, 0]


async def test_circuits_that_a_report_has_moved_are_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    tenant = uuid4()
    connection = Connection()
    reports = Reports(connection)  # type: ignore[arg-type]  # a fake
    names = ["a.example", "b.example:8443", "", "c.example"]
    connection.moved = [key_of(tenant, name).encode() for name in names]
    reports.ended(flight(1), ERROR)
    await reports.flush()
    connection.moved = [b""]
    reports.ended(flight(2), ERROR)
    await reports.flush()

    said = {event: lines_of(caplog, event) for event in ("circuit.opened", "circuit.closed")}

    assert said == {
        "circuit.opened": [
            {"tenant_id": str(tenant), "destination": "a.example"},
            {"tenant_id": str(tenant), "destination": "b.example:8443"},
        ],
        "circuit.closed": [{"tenant_id": str(tenant), "destination": "c.example"}],
    }
