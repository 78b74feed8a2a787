"""Keys of exported tasks: creating from the same export again duplicates no task.

An export gives each task a key: its id, or the key under which an export itself created it. So a
key stays the same from one installation to the next and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from shared.exceptions import FieldError, InvalidInput
from shared.ids import parse_uuid
from tasks.models import Task
from tenants.models import Tenant

FIELD = "key"


def key_of(task: Task) -> UUID:
    """Return the key under which the task is exported."""
    return task.export_key or task.id


def take_keys(bodies: Sequence[Any]) -> tuple[list[Any], list[UUID | None]]:
    """Return the bodies without their keys, and the keys; a body that no export wrote has none.

    Raise InvalidInput for a key that is no id, or that two bodies have.
    """
    plain: list[Any] = []
    keys: list[UUID | None] = []
    errors = []
    for place, body in enumerate(bodies):
        given = body.get(FIELD) if isinstance(body, dict) else None
        key = None
        if given is not None:
            try:
                key = parse_uuid(given if isinstance(given, str) else "")
            except ValueError as error:
                errors.append(FieldError(f"#/tasks/{place}/{FIELD}", "invalid_id", str(error)))
            if key in keys:
                message = "Another task of the file has this key; leave one of the two out."
                errors.append(FieldError(f"#/tasks/{place}/{FIELD}", "not_unique", message))
        keys.append(key)
        plain.append(
            {name: value for name, value in body.items() if name != FIELD}
            if isinstance(body, dict)
            else body
        )
    if errors:
        raise InvalidInput(errors)
    return plain, keys


def tasks_by_key(tenant_id: UUID, keys: Iterable[UUID | None]) -> dict[UUID, Task]:
    """Return the tenant's tasks that were exported, or created from an export, under these keys.

    Index tasks_export_key_idx. Locks the tenant until this transaction ends: two creations from one
    export would each miss the other's tasks.
    """
    wanted = [key for key in keys if key is not None]
    if not wanted:
        return {}
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
    own = Task.objects.for_tenant(tenant_id)
    found = own.filter(Q(pk__in=wanted, export_key=None) | Q(export_key__in=wanted))
    return {key_of(task): task for task in found}


def keep_keys(tasks: Sequence[Task], keys: Sequence[UUID | None]) -> None:
    """Note under which keys new tasks were created; part of the transaction that creates them."""
    keyed = [task for task, key in zip(tasks, keys, strict=True) if key is not None]
    for task, key in zip(tasks, keys, strict=True):
        task.export_key = key
    Task.objects.bulk_update(keyed, ["export_key"], batch_size=500)
