"""What an execution sends and what it got back, opened from their sealed forms."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Q

from executions.models import Attempt, DeadLetter, Execution
from executions.sealing import progress_context, result_context
from shared.encryption import open_json, seal_json
from tasks.models import TaskRevision
from tasks.revisions import context_of, open_payload


def seal_payload(payload: Any, execution_id: UUID) -> bytes:
    """Return an execution's own payload, encrypted and bound to it."""
    return seal_json(payload, _payload_context(execution_id))


def open_sealed_payload(sealed: bytes | memoryview, execution_id: UUID) -> Any:
    """Return what :func:`seal_payload` encrypted for the execution."""
    return open_json(bytes(sealed), _payload_context(execution_id))


def payload_of(execution: Execution) -> Any:
    """Return what the execution sends: its own payload, or that of its task's version."""
    if execution.sealed_payload is not None:
        return open_sealed_payload(execution.sealed_payload, execution.id)
    return open_payload(execution.task_id, execution.revision)


def progress_of(execution: Execution) -> Any:
    """Return what the holder of the execution said last of how far it has come, or None."""
    sealed = execution.sealed_progress
    return None if sealed is None else open_json(bytes(sealed), progress_context(execution.id))


def result_of(execution: Execution) -> Any:
    """Return what the execution ended with, or None."""
    sealed = execution.sealed_result
    return None if sealed is None else open_json(bytes(sealed), result_context(execution.id))


def payloads_of_letters(letters: Iterable[DeadLetter]) -> dict[UUID, Any]:
    """Return the payload snapshot of each dead letter by its id, in at most one query."""
    payloads: dict[UUID, Any] = {}
    others: dict[UUID, tuple[UUID, int]] = {}
    for letter in letters:
        if letter.sealed_payload is not None:
            payloads[letter.id] = open_sealed_payload(letter.sealed_payload, letter.execution_id)
        else:
            others[letter.id] = (letter.task_id, letter.revision)
    opened = _payloads_of_versions(set(others.values()))
    for letter_id, version in others.items():
        payloads[letter_id] = opened.get(version)
    return payloads


def response_of(attempt: Attempt) -> dict[str, Any] | None:
    """Return the captured answer of an attempt: status, headers, body as text, truncated."""
    if attempt.sealed_response is None:
        return None
    context = f"response:{attempt.execution_id}".encode()
    found = open_json(bytes(attempt.sealed_response), context)
    if "headers" not in found:
        # The log of a handler or a command.
        return None
    return {
        "status": attempt.response_status,
        "headers": [(str(name), str(value)) for name, value in found["headers"]],
        "body": shown_body(base64.b64decode(found["body"]), found.get("encoding", "")),
        "truncated": bool(found["truncated"]),
    }


def shown_body(body: bytes, encoding: str) -> str:
    """Return an answer's body as text; one that could not be decompressed is only described."""
    if encoding:
        return f"({len(body)} bytes with the encoding {encoding})"
    return body.decode("utf-8", "replace")


def _payloads_of_versions(versions: set[tuple[UUID, int]]) -> dict[Any, Any]:
    if not versions:
        return {}
    wanted = Q()
    for task_id, version in versions:
        wanted |= Q(task_id=task_id, version=version)
    found = TaskRevision.objects.filter(wanted).values_list("task_id", "version", "sealed")
    return {
        (task_id, version): open_json(bytes(sealed), context_of(task_id, version))["payload"]
        for task_id, version, sealed in found
    }


def _payload_context(execution_id: UUID) -> bytes:
    return f"execution:{execution_id}".encode()
