"""What travels to a worker: batches of executions, bounded in count and size.

Dispatch builds them and run reads them. Times are on Redis' clock, the one that workers can see;
everything secret is still encrypted.
"""

from __future__ import annotations

import math
from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson

from executions.engine.destination_key import limits_text
from executions.engine.transitions import Claimed
from shared.conf import conf

#: What an execution takes in a message beside its texts and blobs.
_FRAME_BYTES = 768


def split(batch: Sequence[Claimed]) -> Iterator[list[Claimed]]:
    """Cut a batch into messages of bounded count and size; one execution is never cut."""
    part: list[Claimed] = []
    size = 0
    for row in batch:
        more = weight(row)
        if part and (len(part) >= conf().message_executions or size + more > conf().message_bytes):
            yield part
            part, size = [], 0
        part.append(row)
        size += more
    if part:
        yield part


def weight(row: Claimed) -> int:
    """Return how many bytes the row takes in a message, at most."""
    blobs = len(row.sealed) + len(row.sealed_payload or b"") + len(row.sealed_progress or b"")
    texts = sum(_length(part) for part in (row.target, row.retry_policy, row.named))
    return blobs * 4 // 3 + texts + _bytes_of(row.url or "") + _FRAME_BYTES


def _length(part: Any) -> int:
    """Return the bytes of a jsonb column."""
    if part is None:
        return 0
    return _bytes_of(_json(part))


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def message(
    part: Sequence[Claimed],
    incarnation: str,
    secrets: dict[UUID, list[bytes]],
    offset: float,
) -> dict[str, Any]:
    """Return the message of these executions; ``offset`` is Redis time minus database time.

    For orjson, which writes ids and documents as they are: what the database has as text stays it.
    """
    tenants = {row.tenant_id for row in part}
    definitions: dict[tuple[str, str], int] = {}
    entries = [_entry(row, offset, definitions) for row in part]
    return {
        "incarnation": incarnation,
        "offset": offset,
        "bytes": sum(weight(row) for row in part),
        "secrets": {
            str(tenant): [_text(blob) for blob in secrets.get(tenant, ())] for tenant in tenants
        },
        "definitions": [[orjson.Fragment(text) for text in texts] for texts in definitions],
        "executions": entries,
    }


def unfolded(message: dict[str, Any]) -> dict[str, Any]:
    """Return an arrived message whose entries have their target and retry policy.

    Those of equal ones are one object. Of webhooks ``url`` is apart from the target, which many
    share; the target has it in messages of versions that knew nothing else. LookupError or
    TypeError for what no dispatch has sent.
    """
    definitions = message["definitions"]
    for entry in message["executions"]:
        entry["target"], entry["retry_policy"] = definitions[entry.pop("definition")]
    return message


def _entry(row: Claimed, offset: float, definitions: dict[tuple[str, str], int]) -> dict[str, Any]:
    """Return what travels of the row; notes its definition among those of the message."""
    definition = (_json(row.target), _json(row.retry_policy))
    start_by = row.lease_expires_at - timedelta(seconds=1)
    entry = {
        "id": row.id,
        "tenant": row.tenant_id,
        "task": row.task_id,
        "revision": row.revision,
        "token": row.token,
        "attempt": row.attempt + 1,
        "max_attempts": row.max_attempts,
        "priority": row.priority,
        "due": row.due_at.timestamp() + offset,
        "start_by": math.floor(start_by.timestamp() * 1000 + offset * 1000),
        "scheduled_for": row.scheduled_for.timestamp(),
        "definition": definitions.setdefault(definition, len(definitions)),
        "sealed": _text(row.sealed),
        "destination": row.destination,
    }
    if row.url is not None:
        entry["url"] = row.url
    # Few have any of these; the others' messages have no word of them.
    if limits := limits_text(row.max_in_flight, row.rate_per_second, row.breaker):
        entry["limits"] = limits
    if row.sealed_payload is not None:
        entry["payload"] = _text(row.sealed_payload)
    if row.sealed_progress is not None:
        entry["progress"] = _text(row.sealed_progress)
    if row.named is not None:
        entry["named"] = orjson.Fragment(_json(row.named))
    if row.lost_count:
        entry["lost"] = row.lost_count
    if row.trace_context:
        entry["trace"] = row.trace_context
    return entry


def _json(part: Any) -> str:
    """Return the text of a jsonb column, which sessions answer as text."""
    return part if isinstance(part, str) else orjson.dumps(part).decode()


def _text(blob: bytes) -> str:
    return b2a_base64(blob, newline=False).decode()
