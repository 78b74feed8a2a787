"""Clone a task: a new task of the same definition, with overrides; the source stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from shared.actor import Actor
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.definition import Definition
from tasks.limits import NAME_LENGTH
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.validation.bodies import parse_clone

_SUFFIX = " (copy)"


def copied_name(name: str) -> str:
    """Return the name that a copy has unless it is given another."""
    return f"{name[: NAME_LENGTH - len(_SUFFIX)]}{_SUFFIX}"


@transaction.atomic
def clone_task(
    tenant_id: UUID, task_id: UUID, overrides: Any, *, actor: Actor, now: datetime
) -> tuple[Task, Definition]:
    """Create a task from another one's definition, the overrides merged in (RFC 7396).

    Raise NotFound, CannotBeOpened where no key opens the source, InvalidInput for the overrides,
    with ``secret_required`` for a kept secret whose target moves.
    """
    source: Task = Task.objects.get_for_tenant(tenant_id, task_id)
    definition = definition_of_clone(source, overrides, now=now)
    made = create_task(tenant_id, definition, actor=actor, now=now)
    audit.record(tenant_id, actor, "task.cloned", "task", source.id, after={"id": str(made.id)})
    return made, definition


def definition_of_clone(source: Task, overrides: Any, *, now: datetime) -> Definition:
    """Return the definition of a clone of the task; raise as :func:`clone_task` does."""
    found = read_definition(source)
    body = overrides
    if isinstance(body, Mapping) and body.get("name") is None:
        body = {**body, "name": copied_name(found.name)}
    return parse_clone(found, body, now=now, limits=limits_of(source.tenant_id))
