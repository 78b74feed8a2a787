"""Tickets for the live socket: a program trades its key or token for one use within a minute.

A key in a WebSocket's address would appear in logs; a used ticket in a log is worthless.
Only its hash is kept, in Redis.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

import orjson

from shared import database_clock
from shared.exceptions import Unavailable
from shared.redis_client import ConnectionFailed, client

LIFETIME_SECONDS = 60
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of a ticket: a tenant, by one of its keys or by a token of an issuer."""

    tenant_id: UUID
    key_id: UUID | None = None
    issuer: str = ""
    #: The end of the token, in seconds of the epoch.
    ends_at: float | None = None


def issue(holder: Holder) -> tuple[str, datetime]:
    """Return a new ticket and when it expires; raise Unavailable when Redis is away."""
    ticket = secrets.token_urlsafe(32)
    stored = orjson.dumps([holder.tenant_id, holder.key_id, holder.issuer, holder.ends_at])
    expires_at = database_clock.now() + timedelta(seconds=LIFETIME_SECONDS)
    try:
        client().set(_key(ticket), stored, ex=LIFETIME_SECONDS)
    except ConnectionFailed as error:
        raise Unavailable("Tickets are not available at this moment.") from error
    return ticket, expires_at


def redeem(ticket: str) -> Holder | None:
    """Return the holder of the ticket and use it up; None for any other text.

    Raise ConnectionFailed when Redis is away.
    """
    if not 0 < len(ticket) <= _LONGEST:
        return None
    stored = cast(bytes | None, client().getdel(_key(ticket)))
    if stored is None:
        return None
    # Two items only: of a process of the version before.
    tenant_id, key_id, *of_token = orjson.loads(stored)
    return Holder(UUID(tenant_id), UUID(key_id) if key_id else None, *of_token)


def _key(ticket: str) -> str:
    return "punctual:ticket:" + hashlib.sha256(ticket.encode()).hexdigest()
