"""Punctual's HTTP client in a plain loop: each of a few senders takes the next call that is due.

No database, no signature, no record: the limit of the client on this machine. Plans come by
standard input.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from functools import partial

import uvloop

from bench.peers.plan import READY, Plan, body
from delivery.address_guard import AddressGuard
from delivery.http_client import HttpClient, Request
from shared.addresses import AllowList, parse_target_url

#: Requests in flight; more do not make one receiver on the same machine faster.
_SENDERS = 128
_TIMEOUT_SECONDS = 30.0
_HEADERS = (("Content-Type", "application/json"),)


def requests(plan: Plan, allow: AllowList) -> list[tuple[float, Request]]:
    """Return the due time (Unix seconds) and the request of each call, in order."""
    return [
        (
            plan.due_ms(number) / 1000,
            Request(
                "POST",
                parse_target_url(plan.url_of(number), allow),
                _HEADERS,
                body(number).encode(),
                connect_timeout=_TIMEOUT_SECONDS,
                timeout=_TIMEOUT_SECONDS,
            ),
        )
        for number in range(plan.count)
    ]


async def send_all(client: HttpClient, planned: list[tuple[float, Request]]) -> None:
    """Make every call at its time, or as soon after it as a sender is free."""
    feed = iter(planned)
    async with asyncio.TaskGroup() as running:
        for _ in range(_SENDERS):
            running.create_task(_send(client, feed))


async def _send(client: HttpClient, feed: Iterator[tuple[float, Request]]) -> None:
    for due, request in feed:
        # A timer of the loop may end a millisecond too soon.
        while (left := due - time.time()) > 0:  # noqa: ASYNC110 - waits for a time, no event
            await asyncio.sleep(left)
        await client.send(request)


async def serve() -> None:
    """Take plans until the standard input ends, one after the other."""
    allow = AllowList(["127.0.0.0/8"])
    client = HttpClient(AddressGuard(allow), max_idle_per_host=_SENDERS)
    print(READY, flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        plan = Plan.from_line(line)
        planned = await loop.run_in_executor(None, partial(requests, plan, allow))
        print(plan.receipt, flush=True)
        await send_all(client, planned)
    await client.close()


if __name__ == "__main__":
    uvloop.run(serve())
