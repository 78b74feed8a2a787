"""Short ways to make a client that may call loopback, and a request for it."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from delivery.address_guard import AddressGuard
from delivery.http_client import HttpClient, Request
from shared.addresses import AllowList, parse_target_url

LOOPBACK = AllowList(["127.0.0.0/8", "::1"])


def request_to(port: int, **changes: Any) -> Request:
    """Return a POST to the loopback; ``host``, ``scheme`` and ``path`` change its URL."""
    scheme, host = changes.pop("scheme", "http"), changes.pop("host", "127.0.0.1")
    url = f"{scheme}://{host}:{port}{changes.pop('path', '/hook')}"
    values: dict[str, Any] = {
        "method": "POST",
        "url": parse_target_url(url, LOOPBACK),
        "headers": [("X-Team", "billing")],
        "body": b'{"n": 1}',
        "connect_timeout": 60.0,
        "timeout": 60.0,
    }
    return Request(**values | changes)


@asynccontextmanager
async def http_client(
    *,
    allow: AllowList = LOOPBACK,
    answers: Sequence[Sequence[str]] | None = None,
    ssl_context: ssl.SSLContext | None = None,
    cache_seconds: float = 5.0,
    **options: Any,
) -> AsyncIterator[HttpClient]:
    """Run a client for a block; ``answers`` are those of DNS, one per lookup."""
    queue = list(answers or [])

    async def resolve(host: str, port: int) -> Sequence[str]:
        return queue.pop(0)

    guard = AddressGuard(allow, resolve if answers else None, cache_seconds=cache_seconds)
    client = HttpClient(guard, ssl_context=ssl_context, **options)
    try:
        yield client
    finally:
        await client.close()
        guard.close()
