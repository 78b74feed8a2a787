from __future__ import annotations

from typing import Any, cast

from bench.peers.plan import Plan, body
from bench.peers.workers.raw_peer import requests, send_all
from delivery.http_client import HttpClient, Request
from shared.addresses import AllowList


def planned(count: int, at_ms: int) -> list[tuple[float, Request]]:
    return requests(Plan("http://127.0.0.1:8080", count, at_ms), AllowList(["127.0.0.0/8"]))


def test_each_call_is_a_request_to_its_path_at_its_time():
    [(due, first), (_, second)] = planned(2, 1500)

    assert due == 1.5
    assert (first.method, first.url.path_and_query) == ("POST", "/hook/0")
    assert second.body == body(1).encode()


async def test_what_is_due_is_sent_at_once_and_each_call_once():
    sent: list[str] = []

    class Client:
        async def send(self, request: Request) -> Any:
            sent.append(request.url.path_and_query)

    await send_all(cast(HttpClient, Client()), planned(300, 0))

    assert sorted(sent) == sorted(f"/hook/{number}" for number in range(300))
