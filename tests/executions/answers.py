"""Answers of receivers as the worker hands them over, and what an audit log says."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

import orjson

from events.models import AuditEntry
from shared.encryption import seal_json


def sealed_answer(
    execution_id: UUID,
    body: bytes = b"no",
    headers: list[list[str]] | None = None,
    encoding: str = "",
) -> bytes:
    """Return a captured answer as an attempt stores it."""
    captured = {
        "headers": headers or [["Content-Type", "text/plain"]],
        "body": base64.b64encode(body).decode(),
        "truncated": False,
        "address": "192.0.2.1",
        "encoding": encoding,
    }
    return seal_json(captured, f"response:{execution_id}".encode())


def audited(object_id: Any, action: str) -> dict[str, Any]:
    """Return who did the action to the object and what was noted; it must be there once."""
    entry = AuditEntry.objects.get(object_id=str(object_id), action=action)
    return {
        "actor": entry.actor,
        "before": entry.before and orjson.loads(entry.before),
        "after": entry.after and orjson.loads(entry.after),
    }


def was_audited(action: str) -> bool:
    """Return whether anything of the kind was noted."""
    return AuditEntry.objects.filter(action=action).exists()


def problem(answer: Any) -> tuple[int, str]:
    """Return status and code of a refusal, which must be a problem document."""
    assert answer["Content-Type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]
