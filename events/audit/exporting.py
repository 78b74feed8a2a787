"""Entries as documents that verify without the database, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from events.audit import links
from events.audit.verifying import Head, begin_of
from events.models import AuditEntry

_AT_ONCE = 2000
#: The fields of a document in the order of the columns of a table.
FIELDS = (
    *("tenant_id", "sequence", "id", "at", "actor", "address", "trace_id", "action"),
    *("object_kind", "object_id", "before", "after", "key_id", "previous", "code"),
)

_TEXTS = (
    *("actor", "address", "trace_id", "action", "object_kind", "object_id"),
    *("before", "after", "key_id"),
)


class Unreadable(ValueError):
    """A document is not that of an audit entry."""


def export_entries(
    tenant_id: UUID, first: int = 1, last: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield a chain's entries by number, each with its own code and that of the one before."""
    begin = begin_of(tenant_id)
    first = max(first, begin.sequence + 1)
    previous = begin.code if first == begin.sequence + 1 else _code_before(tenant_id, first)
    while last is None or first <= last:
        chosen = AuditEntry.objects.filter(tenant_id=tenant_id, sequence__gte=first)
        if last is not None:
            chosen = chosen.filter(sequence__lte=last)
        found = list(chosen.order_by("sequence")[:_AT_ONCE])
        for entry in found:
            yield _document(entry, previous)
            previous = bytes(entry.hash)
        if len(found) < _AT_ONCE:
            return
        first = found[-1].sequence + 1


def read_document(document: Mapping[str, Any]) -> tuple[AuditEntry, Head]:
    """Return an exported entry, not stored, and the head that it follows; raise Unreadable."""
    try:
        entry = AuditEntry(
            id=UUID(document["id"]),
            tenant_id=UUID(document["tenant_id"]),
            sequence=int(document["sequence"]),
            at=datetime.fromisoformat(document["at"]),
            hash=bytes.fromhex(document["code"]),
            **{name: document[name] for name in _TEXTS},
        )
        return entry, Head(entry.sequence - 1, bytes.fromhex(document["previous"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"This is no exported audit entry: {error}") from error


def _document(entry: AuditEntry, previous: bytes) -> dict[str, Any]:
    return {
        "tenant_id": str(entry.tenant_id),
        "sequence": entry.sequence,
        "id": str(entry.id),
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        **{name: getattr(entry, name) for name in _TEXTS},
        "previous": previous.hex(),
        "code": bytes(entry.hash).hex(),
    }


def _code_before(tenant_id: UUID, first: int) -> bytes:
    chosen = AuditEntry.objects.filter(tenant_id=tenant_id, sequence=first - 1)
    found = chosen.values_list("hash", flat=True).first()
    return links.START if found is None else bytes(found)
