"""The form of an entry that its code authenticates, and the code itself.

An entry is authenticated as JSON with sorted keys: its head, its number, its tail. The statement
that appends entries puts the number in between and computes the same codes as this module.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol
from uuid import UUID

import orjson

from events.audit import keys
from events.models import AuditEntry

#: The code before the first entry of a chain.
START = bytes(32)


class Written(Protocol):
    """What the part before an entry's number is made of."""

    @property
    def at(self) -> datetime: ...
    @property
    def actor(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def object_kind(self) -> str: ...
    @property
    def object_id(self) -> str: ...
    @property
    def before(self) -> str | None: ...
    @property
    def after(self) -> str | None: ...


def head(entry: Written) -> bytes:
    """Return the part before the entry's number."""
    before = {
        "action": entry.action,
        "actor": entry.actor,
        "address": entry.address,
        "after": entry.after,
        "at": _moment(entry.at),
        "before": entry.before,
        "object_id": entry.object_id,
        "object_kind": entry.object_kind,
    }
    return orjson.dumps(before)[:-1] + b',"sequence":'


def tail(tenant_id: UUID, trace_id: str) -> bytes:
    """Return the part behind the entry's number."""
    behind = {"tenant_id": str(tenant_id), "trace_id": trace_id}
    return b"," + orjson.dumps(behind)[1:]


def content(entry: AuditEntry) -> bytes:
    """Return the whole form."""
    behind = tail(entry.tenant_id, entry.trace_id)
    return b"%b%d%b" % (head(entry), entry.sequence, behind)


def code(previous: bytes, entry: AuditEntry, key: bytes) -> bytes:
    """Return the code of an entry behind another one: an HMAC, or a hash without a key."""
    authenticated = previous + content(entry)
    if not key:
        return hashlib.sha256(authenticated).digest()
    return hmac.digest(keys.key_of_entry(key, entry.id), authenticated, "sha256")


# Entries that are made together have one time.
@lru_cache(maxsize=64)
def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")
