"""The answers that show dead letters, for every door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from executions.attempts import attempts_of
from executions.models import Attempt, DeadLetter, Execution
from executions.payloads import Readable, payloads_of_letters, read_sealed_payload
from executions.redacted_fields import paths_of, paths_of_versions
from executions.request_view import captured_response
from insight.presentation.execution import error_or_none, instant_or_none
from insight.presentation.execution_detail import present_attempt, present_attempts
from shared.payload_sight import hide
from tasks.models import Task
from tasks.presentation import present_missing
from tasks.revisions import read_readable_version


def present_letters(letters: Sequence[DeadLetter]) -> list[dict[str, Any]]:
    """Return the letters as lists answer them, in a constant number of queries."""
    attempts = attempts_of([letter.execution_id for letter in letters])
    payloads = payloads_of_letters(letters)
    masked = paths_of_versions({_version(letter) for letter in letters})
    return [
        _present(
            letter,
            payloads[letter.id],
            attempts.get(letter.execution_id, []),
            masked.get(_version(letter), []),
        )
        for letter in letters
    ]


def present_letter(letter: DeadLetter) -> dict[str, Any]:
    """Return the single view: attempts with their request and answer, and an edited payload.

    Fields of the execution are missing when the execution is no longer kept.
    """
    shown = present_letters([letter])[0]
    redact = paths_of(*_version(letter))
    execution = Execution.objects.filter(pk=letter.execution_id).first()
    if execution is not None:
        task = Task.objects.get(pk=execution.task_id)
        target = read_readable_version(task, execution.revision).definition.target
        attempts = attempts_of([execution.id])[execution.id]
        shown["attempts"] = present_attempts(attempts, execution, target, redact)
    edited = None
    if letter.sealed_edit is not None:
        opened = read_sealed_payload(letter.sealed_edit, letter.tenant_id, letter.execution_id)
        edited = {"payload": hide(opened.payload, redact)}
    return {**shown, "edit": edited}


def _version(letter: DeadLetter) -> tuple[UUID, int]:
    return letter.task_id, letter.revision


def _present(
    letter: DeadLetter, payload: Readable, attempts: Sequence[Attempt], redact: Sequence[str]
) -> dict[str, Any]:
    return {
        "id": str(letter.id),
        "execution_id": str(letter.execution_id),
        "task_id": str(letter.task_id),
        "error": error_or_none(letter.error_code, letter.error_message),
        "error_signature": letter.error_signature,
        "payload": hide(payload.payload, redact),
        **present_missing(payload.is_whole),
        "attempts": [present_attempt(attempt) for attempt in attempts],
        "last_response": _last_response(attempts, redact),
        "resolved": letter.resolved,
        "resolution": letter.resolution or None,
        "note": letter.note,
        "resolved_by": letter.resolved_by or None,
        "resolved_at": instant_or_none(letter.resolved_at),
        "retry_execution_id": str(letter.retry_execution_id) if letter.retry_execution_id else None,
        "created_at": instant_or_none(letter.created_at),
    }


def _last_response(attempts: Sequence[Attempt], redact: Sequence[str]) -> dict[str, Any] | None:
    for attempt in reversed(attempts):
        found = captured_response(attempt, redact)
        if found is not None:
            return found
    return None
