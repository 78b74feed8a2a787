"""One call by a client of its own: for processes that call rarely and keep no connections."""

from __future__ import annotations

import asyncio

from delivery.address_guard import AddressGuard
from delivery.http_client import HttpClient
from delivery.http_messages import Request, Response
from shared.addresses import AllowList


def call_once(request: Request, allow: AllowList) -> Response:
    """Send one request to an address that the guard approves, and return the answer.

    ``allow`` has the networks that may be reached besides public ones. For threads without an event
    loop. Raise DeliveryError without a complete answer, ValueError for what cannot be sent.
    """
    return asyncio.run(_call(request, allow))


async def _call(request: Request, allow: AllowList) -> Response:
    guard = AddressGuard(allow)
    client = HttpClient(guard)
    try:
        return await client.send(request)
    finally:
        await client.close()
        guard.close()
