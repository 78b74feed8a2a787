"""The form of an entry that its code authenticates, and the code itself.

An entry is authenticated as JSON with sorted keys: its head, its number, its tail. The statement
that appends entries puts the number in between and computes the same codes as this module.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC
from uuid import UUID

import orjson

from events.audit import keys
from events.models import AuditEntry

#: The code before the first entry of a chain.
START = bytes(32)


def head(entry: AuditEntry) -> str:
    """Return the part before the entry's number."""
    before = {
        "action": entry.action,
        "actor": entry.actor,
        "address": entry.address,
        "after": entry.after,
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "before": entry.before,
        "object_id": entry.object_id,
        "object_kind": entry.object_kind,
    }
    return orjson.dumps(before)[:-1].decode() + ',"sequence":'


def tail(tenant_id: UUID, trace_id: str) -> str:
    """Return the part behind the entry's number."""
    behind = {"tenant_id": str(tenant_id), "trace_id": trace_id}
    return "," + orjson.dumps(behind)[1:].decode()


def content(entry: AuditEntry) -> bytes:
    """Return the whole form."""
    return f"{head(entry)}{entry.sequence}{tail(entry.tenant_id, entry.trace_id)}".encode()


def code(previous: bytes, entry: AuditEntry, key: bytes) -> bytes:
    """Return the code of an entry behind another one: an HMAC, or a hash without a key."""
    authenticated = previous + content(entry)
    if not key:
        return hashlib.sha256(authenticated).digest()
    return hmac.digest(keys.key_of_entry(key, entry.id), authenticated, "sha256")
