"""The actions on a dead letter: retry, resolve, archive, purge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from executions import run_signals
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from executions.parts_of_runs import is_take
from executions.payloads import Readable, payloads_of_letters, seal_payload
from executions.redacted_fields import with_restored
from executions.triggering.triggers import (
    Made,
    Override,
    lock_tasks,
    require_portable,
    retry_of,
    wake_for_made,
)
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from tasks import standing_pauses
from tasks.models import Task

#: Resolutions that the product sets itself; a person's own word must be another one.
RESERVED_RESOLUTIONS = ("retried", "archived")
#: Words that forms and filters offer; a person may use any other.
USUAL_RESOLUTIONS = ("fixed", "not_needed", "done_elsewhere")


@dataclass(frozen=True, slots=True)
class Held:
    """A locked letter with its locked task, its execution if kept, and its payload."""

    letter: DeadLetter
    original: Execution | None
    task: Task
    payload: Readable


@transaction.atomic
def retry_dead_letter(
    tenant_id: UUID, letter_id: UUID, override: Override | None, *, actor: Actor
) -> Execution:
    """Run a dead letter's work again and resolve it as ``retried``; an edited payload is kept.

    The letter of a run begins the next take of it, which keeps what has succeeded. Raise NotFound,
    or Conflict: ``already_resolved``, ``execution_not_kept``, or what the retry of a run raises.
    """
    require_portable(override)
    standing_pauses.share_active(tenant_id)
    held = hold_letters(tenant_id, [letter_id]).get(letter_id)
    if held is None:
        raise NotFound("There is no such dead letter.")
    made = begin_letter_retry(held, override, actor, database_now())
    wake_for_made()
    audit.record_many(tenant_id, actor, [made.change])
    return made.execution


@transaction.atomic
def resolve_dead_letter(
    tenant_id: UUID, letter_id: UUID, *, resolution: str, note: str, actor: Actor
) -> DeadLetter:
    """Close a dead letter without running it again.

    Raise NotFound, InvalidInput for a reserved resolution, or Conflict ``already_resolved``.
    """
    require_free_resolution(resolution)
    letter: DeadLetter = DeadLetter.objects.get_for_tenant(tenant_id, letter_id, lock=True)
    change = close_letter(letter, resolution=resolution, note=note, actor=actor)
    audit.record_many(tenant_id, actor, [change])
    return letter


@transaction.atomic
def archive_dead_letter(tenant_id: UUID, letter_id: UUID, *, note: str, actor: Actor) -> DeadLetter:
    """Close a dead letter as ``archived``; raise NotFound, or Conflict ``already_resolved``."""
    letter: DeadLetter = DeadLetter.objects.get_for_tenant(tenant_id, letter_id, lock=True)
    change = close_letter(letter, resolution="archived", note=note, actor=actor)
    audit.record_many(tenant_id, actor, [change])
    return letter


@transaction.atomic
def purge_dead_letter(tenant_id: UUID, letter_id: UUID, *, actor: Actor) -> None:
    """Remove a dead letter with its payload; an audit entry of it stays."""
    letter: DeadLetter = DeadLetter.objects.get_for_tenant(tenant_id, letter_id, lock=True)
    audit.record_many(tenant_id, actor, [remove_letter(letter)])


def lock_letters(tenant_id: UUID, letter_ids: Sequence[UUID]) -> dict[UUID, DeadLetter]:
    """Lock letters of the tenant in order of id; return the existing ones."""
    letters = DeadLetter.objects.for_tenant(tenant_id).filter(pk__in=letter_ids).order_by("id")
    return {letter.id: letter for letter in letters.select_for_update(no_key=True)}


def hold_letters(tenant_id: UUID, letter_ids: Sequence[UUID]) -> dict[UUID, Held]:
    """Lock letters and their tasks, and read the data for a retry, in a few queries."""
    letters = list(lock_letters(tenant_id, letter_ids).values())
    tasks = lock_tasks(letter.task_id for letter in letters)
    ids = [letter.execution_id for letter in letters]
    kept = Execution.objects.for_tenant(tenant_id).filter(pk__in=ids)
    if ids:  # the bounds keep it to the days of these ids
        kept = kept.filter(pk__gte=min(ids), pk__lte=max(ids))
    originals = {original.id: original for original in kept}
    payloads = payloads_of_letters(letters)
    return {
        letter.id: Held(
            letter, originals.get(letter.execution_id), tasks[letter.task_id], payloads[letter.id]
        )
        for letter in letters
    }


def begin_letter_retry(held: Held, override: Override | None, actor: Actor, now: datetime) -> Made:
    """Retry an open letter; the caller wakes and audits, once for all that it retries."""
    letter = held.letter
    _require_open(letter)
    if held.original is None:
        raise Conflict(
            "The execution of this dead letter is past its retention; run its task instead.",
            code="execution_not_kept",
        )
    if override:
        restored = with_restored(
            override.payload, letter.task_id, letter.revision, held.payload.whole
        )
        override = Override(restored)
    if is_take(held.original):
        letter.retry_execution_id = run_signals.retry_take(
            execution=held.original, task=held.task, override=override, actor=actor
        )
    else:
        wanted = override or Override(held.payload.whole())
        letter.retry_execution_id = retry_of(held.original, held.task, wanted, now, actor)
    if override:
        letter.sealed_edit = seal_payload(override.payload, letter.tenant_id, letter.execution_id)
    return Made(letter.retry_execution_id, _resolve(letter, "retried", "", actor, now))


def lock_open(tenant_id: UUID, execution_id: UUID) -> DeadLetter | None:
    """Lock and return the open letter of an execution, if it has one: before its task is locked."""
    letters = DeadLetter.objects.for_tenant(tenant_id).filter(execution_id=execution_id)
    found: DeadLetter | None = letters.filter(resolved=False).select_for_update(no_key=True).first()
    return found


def close_retried(
    tenant_id: UUID, execution_id: UUID, retry_id: UUID, actor: Actor
) -> list[audit.Change]:
    """Close the open letter of a take whose run has begun the next one; the caller audits."""
    letter = lock_open(tenant_id, execution_id)
    if letter is None:
        return []
    letter.retry_execution_id = retry_id
    return [_resolve(letter, "retried", "", actor, database_now())]


def close_letter(letter: DeadLetter, *, resolution: str, note: str, actor: Actor) -> audit.Change:
    """Close a locked letter that is open; the caller audits."""
    _require_open(letter)
    return _resolve(letter, resolution, note, actor, database_now())


def remove_letter(letter: DeadLetter) -> audit.Change:
    """Delete a locked letter; the caller audits."""
    letter_id = letter.id
    facts = {"execution_id": str(letter.execution_id), "error_signature": letter.error_signature}
    letter.delete()
    return audit.Change("dead_letter.purged", "dead_letter", letter_id, before=facts)


def require_free_resolution(resolution: str) -> None:
    """Raise InvalidInput for a reserved word."""
    if resolution in RESERVED_RESOLUTIONS:
        message = f"{resolution!r} is reserved; use the call of that name."
        raise InvalidInput([FieldError("#/resolution", "resolution_reserved", message)])


def _require_open(letter: DeadLetter) -> None:
    # The race: two retries of one letter would both run it. With the lock the second one sees
    # that the letter is resolved.
    if letter.resolved:
        raise Conflict(
            f"The dead letter was resolved as {letter.resolution}.", code="already_resolved"
        )


def _resolve(
    letter: DeadLetter, resolution: str, note: str, actor: Actor, now: datetime
) -> audit.Change:
    letter.resolved = True
    letter.resolution = resolution
    letter.note = note
    letter.resolved_by = actor.name
    letter.resolved_at = now
    letter.save()
    facts: dict[str, Any] = {"resolution": resolution, "note": note}
    if letter.retry_execution_id is not None:
        facts["retry_execution_id"] = str(letter.retry_execution_id)
        facts["edited"] = letter.sealed_edit is not None
    return audit.Change("dead_letter.resolved", "dead_letter", letter.id, after=facts)
