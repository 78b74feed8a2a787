"""Begin the erasure of a task, and read certificates: of erasures under way, and of ended ones."""

from __future__ import annotations

from uuid import UUID

from django.db import IntegrityError, transaction

from events import audit
from executions.changes import changing
from executions.erasure.steps import wake_on_commit
from executions.models import Erasure
from executions.querysets import ErasureQuerySet
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task

LONGEST_REASON = 500
#: What no erasure reaches: see docs/howto/erase-data.md, which says what to do about each.
BY_HAND = ("archives", "backups", "messages", "receivers", "logs")
#: What the erasure of a tenant does not reach besides: the accounts of its members.
BY_HAND_OF_TENANTS = (*BY_HAND, "accounts")


def list_erasures(tenant_id: UUID) -> ErasureQuerySet:
    """Return the tenant's erasures, for lists."""
    return Erasure.objects.for_tenant(tenant_id)


def get_erasure(tenant_id: UUID, erasure_id: UUID) -> Erasure:
    """Return one erasure of the tenant; raise NotFound."""
    found: Erasure = Erasure.objects.get_for_tenant(tenant_id, erasure_id)
    return found


@transaction.atomic
def erase_task(tenant_id: UUID, task_id: UUID, *, reason: str, actor: Actor) -> Erasure:
    """Delete a task, abort its executions, and begin to erase all content of it and of them.

    A task that is deleted already can be erased, also once more: days may have come back from an
    archive since. Raise NotFound, InvalidInput for the reason, Unavailable as deleting does, and
    Conflict: ``is_workflow``, or ``already_erasing`` while an erasure of it is under way.
    """
    require_reason(reason)
    task = Task.objects.filter(tenant_id=tenant_id, pk=task_id).first()
    if task is None:
        raise NotFound("There is no such task.")
    if task.pool == WORKFLOW_POOL:
        raise Conflict("Workflows cannot be erased, only plain tasks.", code="is_workflow")
    erasure = Erasure(
        tenant_id=tenant_id,
        object_id=task_id,
        reason=reason,
        begun_by=actor.name[:200],
        address=actor.address[:64],
    )
    try:
        # First: of two sessions at once, the second one waits here and is refused.
        with transaction.atomic():
            erasure.save(force_insert=True)
    except IntegrityError as error:
        message = "An erasure of this task is under way already."
        raise Conflict(message, code="already_erasing") from error
    if task.deleted_at is None:
        changing.delete_task(tenant_id, task_id, actor=actor, cancel_running=True)
    facts = {"object_kind": "task", "object_id": str(task_id), "reason": reason}
    audit.record(tenant_id, actor, "erasure.begun", "erasure", erasure.id, after=facts)
    wake_on_commit(erasure.id)
    erasure.refresh_from_db()
    return erasure


def require_reason(reason: str) -> None:
    """Raise InvalidInput unless the reason is one line of 1 to 500 characters."""
    if not reason.strip() or len(reason) > LONGEST_REASON or not reason.isprintable():
        message = f"Give the reason in one line of 1 to {LONGEST_REASON} characters."
        raise InvalidInput([FieldError("#/reason", "invalid", message)], message)
