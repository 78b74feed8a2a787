"""Sends events to receivers of subscriptions: signed as webhooks are, behind the address guard.

Each receiver gets its events one after the other; receivers do not wait for each other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from delivery.address_guard import AddressGuard
from delivery.errors import DeliveryError
from delivery.http_client import HttpClient
from delivery.http_messages import Request
from delivery.retry_after import asked_by
from delivery.signing import sign
from shared import database_clock
from shared.addresses import AllowList, TargetUrl
from shared.conf import conf

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 10.0
#: No event is begun later than this after the begin of a pass, so that it ends within its claim,
#: and receivers that answer slowly keep the others of the next pass waiting for some seconds only.
_BEGIN_WITHIN_SECONDS = 5.0
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


class _Begin(NamedTuple):
    """When a pass began, by the database's clock and by this process's."""

    database: datetime
    monotonic: float


def send_parcels(parcels: Sequence[Parcel]) -> list[Receipt]:
    """Send each parcel as far as its receiver takes it; for threads without an event loop."""
    # Asked here: the event loop must not wait for the database, and Django refuses it there.
    return asyncio.run(_send_all(parcels, database_clock.now()))


async def _send_all(parcels: Sequence[Parcel], now: datetime) -> list[Receipt]:
    guard = AddressGuard(AllowList(conf().webhook_allowed_networks))
    client = HttpClient(guard)
    begin = _Begin(now, time.monotonic())
    try:
        return await asyncio.gather(*(_send(client, parcel, begin) for parcel in parcels))
    finally:
        await client.close()
        guard.close()


async def _send(client: HttpClient, parcel: Parcel, begin: _Begin) -> Receipt:
    taken, status = 0, None
    for document in parcel.documents:
        passed = time.monotonic() - begin.monotonic
        if passed > _BEGIN_WITHIN_SECONDS:
            break
        try:
            now = begin.database + timedelta(seconds=passed)
            request = _request(parcel, document, int(now.timestamp()))
            answer = await client.send(request, tenant=str(parcel.tenant_id))
        except DeliveryError as error:
            return Receipt(taken, None, f"{error.code}: {error.message}")
        except Exception:
            # It must not end the calls to other receivers, whose answers would be lost.
            extra = {"subscription_id": str(parcel.subscription_id)}
            log.exception("event_webhook.crashed", extra=extra)
            return Receipt(taken, None, "internal: The event could not be sent.")
        status = answer.status
        if not 200 <= status < 300:
            return Receipt(taken, status, f"HTTP {status}", asked_by(answer))
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
