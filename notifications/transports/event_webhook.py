"""Sends events to receivers of subscriptions: signed as webhooks are, behind the address guard.

Each receiver gets its events one after the other; receivers do not wait for each other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from delivery.address_guard import AddressGuard
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient
from delivery.http_messages import Request, Response
from delivery.retry_after import parse_retry_after
from delivery.signing import sign
from shared import database_clock
from shared.addresses import AllowList, TargetUrl
from shared.conf import conf

_TIMEOUT_SECONDS = 10.0
#: No event is begun later than this after the begin of a pass, so that it ends within its claim.
_BEGIN_WITHIN_SECONDS = 20.0
_CAPTURED_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Parcel:
    """The events for one receiver, as documents, in their order."""

    subscription_id: UUID
    tenant_id: UUID
    url: TargetUrl
    secrets: Sequence[bytes]
    documents: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Receipt:
    """How many events of a parcel the receiver took, and why not the next one.

    ``error`` is empty where all were taken, or where the time of the pass was over. ``status`` is
    the last answer's, None without one.
    """

    taken: int
    status: int | None
    error: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class _Begun:
    """When a pass began, by the database's clock and by the monotonic one."""

    at: datetime
    monotonic: float

    @property
    def seconds(self) -> float:
        """Return how long ago that was."""
        return time.monotonic() - self.monotonic

    @property
    def timestamp(self) -> int:
        """Return the database's time now, in Unix seconds, without asking the database."""
        return int(self.at.timestamp() + self.seconds)


def send_parcels(parcels: Sequence[Parcel]) -> list[Receipt]:
    """Send each parcel as far as its receiver takes it; for threads without an event loop."""
    # Before the event loop, which must not wait for the database.
    begun = _Begun(database_clock.now(), time.monotonic())
    return asyncio.run(_send_all(parcels, begun))


async def _send_all(parcels: Sequence[Parcel], begun: _Begun) -> list[Receipt]:
    guard = AddressGuard(AllowList(conf().webhook_allowed_networks))
    client = HttpClient(guard)
    try:
        return await asyncio.gather(*(_send(client, parcel, begun) for parcel in parcels))
    finally:
        await client.close()
        guard.close()


async def _send(client: HttpClient, parcel: Parcel, begun: _Begun) -> Receipt:
    taken, status = 0, None
    for document in parcel.documents:
        if begun.seconds > _BEGIN_WITHIN_SECONDS:
            break
        try:
            answer = await client.send(
                _request(parcel, document, begun.timestamp), tenant=str(parcel.tenant_id)
            )
        except DeliveryError as error:
            return Receipt(taken, None, f"{error.code}: {error.message}")
        status = answer.status
        if not 200 <= status < 300:
            return Receipt(taken, status, f"HTTP {status}", _retry_after(answer))
        taken += 1
    return Receipt(taken, status)


def _request(parcel: Parcel, document: dict[str, Any], now: int) -> Request:
    body = orjson.dumps(document)
    headers = [
        ("Content-Type", "application/json"),
        ("User-Agent", "Punctual-Webhooks/1"),
        ("webhook-id", document["id"]),
        ("webhook-timestamp", str(now)),
        ("webhook-signature", sign(parcel.secrets, document["id"], now, body)),
        ("X-Scheduler-Subscription-Id", str(parcel.subscription_id)),
    ]
    return Request(
        method="POST",
        url=parcel.url,
        headers=headers,
        body=body,
        connect_timeout=_TIMEOUT_SECONDS / 2,
        timeout=_TIMEOUT_SECONDS,
        capture_bytes=_CAPTURED_BYTES,
    )


def _retry_after(answer: Response) -> float | None:
    for name, value in answer.headers:
        if name.lower() == "retry-after":
            return parse_retry_after(value, datetime.now(UTC))
    return None
