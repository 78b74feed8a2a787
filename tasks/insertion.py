"""How new tasks get into the database: any number in one statement, each with its first revision.

A part of :mod:`tasks.services`, which says what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from shared.sql import rows_during, together
from shared.sql_arrays import of_blobs, of_moments, of_numbers, of_texts, of_uuids
from tasks.definition import Definition
from tasks.models import Task
from tasks.revisions import stored_parts
from tasks.standing_pauses import share, sharing


def insert(
    tenant_id: UUID,
    tasks: Sequence[Task],
    definitions: Sequence[Definition],
    *,
    changed_by: str,
    now: datetime,
    meanwhile: Callable[[], None] | None = None,
) -> bool:
    """Insert new tasks of a tenant; return whether an open pause of it may cover them.

    In the caller's transaction, which shares the tenant's pauses from here on. ``meanwhile`` runs
    while the database works. Raise IntegrityError for an id that is taken.
    """
    if not tasks:
        return False
    parts = [
        stored_parts(task, definition) for task, definition in zip(tasks, definitions, strict=True)
    ]
    columns = {
        "ids": of_uuids([task.id for task in tasks]),
        "names": of_texts([task.name for task in tasks]),
        "types": of_texts([task.type for task in tasks]),
        "statuses": of_texts([task.status for task in tasks]),
        "partitions": of_numbers([task.partition for task in tasks]),
        "priorities": of_numbers([task.priority for task in tasks]),
        "schedules": of_texts([_json(task.schedule) for task in tasks]),
        "labels": of_texts([_json(task.labels) for task in tasks]),
        "pools": of_texts([task.pool for task in tasks]),
        "destinations": of_texts([task.destination for task in tasks]),
        "next_run_at": of_moments([task.next_run_at for task in tasks]),
        "pause_after_failures": of_numbers([task.pause_after_failures for task in tasks]),
        "definitions": of_texts([_json(plain) for plain, _ in parts]),
        "sealed": of_blobs([sealed for _, sealed in parts]),
    }
    constants = {"tenant": tenant_id, "changed_by": changed_by, "now": now}
    given = {**columns, **constants}
    if meanwhile is None:
        _, inserted = together(sharing(tenant_id), ("creation/insert_tasks", given))
        [[pauses_open]] = inserted.rows
    else:
        share(tenant_id)
        [[pauses_open]] = rows_during("creation/insert_tasks", given, meanwhile)
    for task in tasks:
        task._state.adding, task._state.db = False, "default"
    return bool(pauses_open)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
