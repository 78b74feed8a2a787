"""The audit of commands that print payloads, results or answers in clear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from events.audit.readings import note_readings
from shared.actor import COMMAND


def note_shown(kind: str, documents: Iterable[Mapping[str, Any]]) -> None:
    """Record that rows were shown with what they carry, in one entry for each tenant.

    Each document has the ``id`` of its row and its ``tenant_id``.
    """
    rows: dict[str, list[str]] = {}
    for document in documents:
        rows.setdefault(document["tenant_id"], []).append(document["id"])
    for tenant_id, ids in rows.items():
        note_readings(UUID(tenant_id), COMMAND, kind, ids)
