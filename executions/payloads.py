"""The payload, progress, result and answers of an execution, opened from their sealed forms."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Q

from executions.models import Attempt, DeadLetter, Execution
from shared.encryption import CannotBeOpened, DecryptionFailed, open_json, seal_json
from shared.sealing_contexts import (
    Context,
    payload_context,
    progress_context,
    response_context,
    result_context,
    revision_context,
)
from tasks.models import TaskRevision
from tasks.revisions import open_payload
from tasks.versions import is_of_step


class Readable(NamedTuple):
    """A payload as it can be shown; None where it is not whole, because no key opens it."""

    payload: Any
    is_whole: bool

    def whole(self) -> Any:
        """Return the payload; raise CannotBeOpened where no key opens it."""
        if not self.is_whole:
            raise CannotBeOpened
        return self.payload


def as_readable(opened: Callable[[], Any]) -> Readable:
    """Return the value that one of the functions below opens, as far as it can be shown."""
    try:
        return Readable(opened(), is_whole=True)
    except DecryptionFailed:
        return Readable(None, is_whole=False)


def seal_payload(payload: Any, tenant_id: UUID, execution_id: UUID) -> bytes:
    """Return an execution's own payload, encrypted and bound to it."""
    return seal_json(payload, payload_context(tenant_id, execution_id))


def open_sealed_payload(sealed: bytes | memoryview, tenant_id: UUID, execution_id: UUID) -> Any:
    """Return the payload that :func:`seal_payload` encrypted for the execution."""
    return open_json(bytes(sealed), payload_context(tenant_id, execution_id))


def read_sealed_payload(
    sealed: bytes | memoryview, tenant_id: UUID, execution_id: UUID
) -> Readable:
    """Return the payload that :func:`seal_payload` encrypted, as far as it can be shown."""
    return as_readable(partial(open_sealed_payload, sealed, tenant_id, execution_id))


def payload_of(execution: Execution) -> Any:
    """Return the payload of the execution: its own, or the one of its task's version."""
    if execution.sealed_payload is not None:
        own = open_sealed_payload(execution.sealed_payload, execution.tenant_id, execution.id)
        return own["payload"] if _is_rendered(execution) else own
    return open_payload(execution.task_id, execution.revision)


def _is_rendered(execution: Execution) -> bool:
    """Return whether the execution carries more than its payload: what a run has rendered."""
    return (
        is_of_step(execution.revision)
        and TaskRevision.objects.filter(
            task_id=execution.task_id,
            version=execution.revision,
            definition__target__rendered=True,
        ).exists()
    )


def progress_of(execution: Execution) -> Any:
    """Return the last progress that the holder of the execution reported, or None."""
    sealed = execution.sealed_progress
    context = progress_context(execution.tenant_id, execution.id)
    return None if sealed is None else open_json(bytes(sealed), context)


def result_of(execution: Execution) -> Any:
    """Return the result of the execution, or None."""
    sealed = execution.sealed_result
    context = result_context(execution.tenant_id, execution.id)
    return None if sealed is None else open_json(bytes(sealed), context)


def payloads_of_letters(letters: Iterable[DeadLetter]) -> dict[UUID, Readable]:
    """Return the payload snapshot of each dead letter by its id, in at most one query."""
    payloads: dict[UUID, Readable] = {}
    others: dict[UUID, tuple[UUID, int]] = {}
    for letter in letters:
        if letter.sealed_payload is not None:
            payloads[letter.id] = read_sealed_payload(
                letter.sealed_payload, letter.tenant_id, letter.execution_id
            )
        else:
            others[letter.id] = (letter.task_id, letter.revision)
    opened = _payloads_of_versions(set(others.values()))
    for letter_id, version in others.items():
        payloads[letter_id] = opened.get(version, Readable(None, is_whole=True))
    return payloads


def response_of(attempt: Attempt) -> dict[str, Any] | None:
    """Return the captured answer of an attempt: status, headers, body as text, truncated."""
    if attempt.sealed_response is None:
        return None
    context = response_context(attempt.tenant_id, attempt.execution_id)
    try:
        found = open_json(bytes(attempt.sealed_response), context)
    except DecryptionFailed:
        return _unreadable_response(attempt)
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
    """Return an answer's body as text; only describe a body that could not be decompressed."""
    if encoding:
        return f"({len(body)} bytes with the encoding {encoding})"
    return body.decode("utf-8", "replace")


def _unreadable_response(attempt: Attempt) -> dict[str, Any] | None:
    if attempt.response_status is None:
        return None
    body = "(The answer cannot be opened: its key is missing, or it was altered.)"
    return {
        "status": attempt.response_status,
        "headers": [],
        "body": body,
        "truncated": False,
    }


def _payloads_of_versions(versions: set[tuple[UUID, int]]) -> dict[Any, Readable]:
    if not versions:
        return {}
    wanted = Q()
    for task_id, version in versions:
        wanted |= Q(task_id=task_id, version=version)
    found = TaskRevision.objects.filter(wanted).values_list(
        "task__tenant_id", "task_id", "version", "sealed"
    )
    return {
        (task_id, version): as_readable(
            partial(_payload_in, sealed, revision_context(tenant_id, task_id, version))
        )
        for tenant_id, task_id, version, sealed in found
    }


def _payload_in(sealed: bytes | memoryview, context: Context) -> Any:
    return open_json(bytes(sealed), context)["payload"]
