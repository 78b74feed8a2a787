"""The messages to workers: batches of executions, bounded in count and size.

Dispatch builds them and run reads them. Times are on Redis' clock, the one that workers can see;
all secrets are still encrypted.
"""

from __future__ import annotations

import math
from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import orjson

from executions.transitions import Claimed
from shared.conf import conf
from wire.destination_key import limits_text

#: Bytes that an execution takes in a message beside its texts and blobs.
_FRAME_BYTES = 768
#: Fields of every entry, in their order in the message, after its tenant, its definition and its
#: rare fields. ``url`` is that of a webhook; its target, which many share, is without it.
_FIELDS = (
    "id",
    "task",
    "revision",
    "token",
    "attempt",
    "max_attempts",
    "priority",
    "due",
    "start_by",
    "scheduled_for",
    "sealed",
    "destination",
    "url",
)


def split(batch: Sequence[Claimed]) -> Iterator[tuple[list[Claimed], int]]:
    """Cut a batch into messages of bounded count and size, in order; return each with its bytes.

    It never cuts an execution.
    """
    part: list[Claimed] = []
    size = 0
    for row in batch:
        more = weight(row)
        if part and (len(part) >= conf().message_executions or size + more > conf().message_bytes):
            yield part, size
            part, size = [], 0
        part.append(row)
        size += more
    if part:
        yield part, size


def weight(row: Claimed) -> int:
    """Return how many bytes the row takes in a message, at most."""
    blobs = len(row.sealed) + len(row.sealed_payload or b"") + len(row.sealed_progress or b"")
    texts = _length(row.target) + _length(row.retry_policy) + _bytes_of(row.url or "")
    if row.named is not None:
        texts += _length(row.named)
    return blobs * 4 // 3 + texts + _FRAME_BYTES


def _length(part: Any) -> int:
    """Return the bytes of a jsonb column."""
    return 0 if part is None else _bytes_of(_json(part))


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def message(
    part: Sequence[Claimed],
    size: int,
    incarnation: str,
    secrets: dict[UUID, list[bytes]],
    offset: float,
) -> dict[str, Any]:
    """Return the message of these executions; ``offset`` is Redis time minus database time.

    For orjson, which writes ids and documents as they are: text of the database stays text.
    """
    tenants: dict[UUID, int] = {}
    definitions: dict[tuple[str, str], int] = {}
    entries = [_entry(row, offset, tenants, definitions) for row in part]
    return {
        "incarnation": incarnation,
        "offset": offset,
        "bytes": size,
        "secrets": {
            str(tenant): [_text(blob) for blob in secrets.get(tenant, ())] for tenant in tenants
        },
        "definitions": [[orjson.Fragment(text) for text in texts] for texts in definitions],
        "executions": entries,
    }


def unfolded(message: dict[str, Any]) -> dict[str, Any]:
    """Return an arrived message whose entries are records, with their target and retry policy.

    Equal ones are one object. Raise LookupError, TypeError or ValueError for a message that no
    dispatch has sent.
    """
    tenants, definitions = list(message["secrets"]), message["definitions"]
    message["executions"] = [_record(row, tenants, definitions) for row in message["executions"]]
    return message


def _record(row: list[Any], tenants: list[str], definitions: list[Any]) -> dict[str, Any]:
    tenant, definition, more, *values = row
    record = dict(zip(_FIELDS, values, strict=True))
    record["tenant"] = tenants[tenant]
    record["target"], record["retry_policy"] = definitions[definition]
    if more:
        record.update(more)
    return record


def _entry(
    row: Claimed, offset: float, tenants: dict[UUID, int], definitions: dict[tuple[str, str], int]
) -> list[Any]:
    """Return the row's entry; add its tenant and definition to the message's."""
    definition = (_json(row.target), _json(row.retry_policy))
    start_by = row.lease_expires_at.timestamp() - 1.0 + offset
    return [
        tenants.setdefault(row.tenant_id, len(tenants)),
        definitions.setdefault(definition, len(definitions)),
        _rare(row),
        row.id,
        row.task_id,
        row.revision,
        row.token,
        row.attempt + 1,
        row.max_attempts,
        row.priority,
        row.due_at.timestamp() + offset,
        math.floor(start_by * 1000),
        row.scheduled_for.timestamp(),
        _text(row.sealed),
        row.destination,
        row.url,
    ]


def _rare(row: Claimed) -> dict[str, Any]:
    """Return the fields that few executions have."""
    found: dict[str, Any] = {}
    if limits := limits_text(row.max_in_flight, row.rate_per_second, row.breaker):
        found["limits"] = limits
    if row.sealed_payload is not None:
        found["payload"] = _text(row.sealed_payload)
    if row.sealed_progress is not None:
        found["progress"] = _text(row.sealed_progress)
    if row.named is not None:
        found["named"] = orjson.Fragment(_json(row.named))
    if row.lost_count:
        found["lost"] = row.lost_count
    if row.trace_context:
        found["trace"] = row.trace_context
    return found


def _json(part: Any) -> str:
    """Return the text of a jsonb column, which sessions return as text."""
    return part if isinstance(part, str) else orjson.dumps(part).decode()


def _text(blob: bytes) -> str:
    return b2a_base64(blob, newline=False).decode()
