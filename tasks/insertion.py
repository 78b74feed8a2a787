"""How new tasks get into the database: any number in one statement, each with its first revision.

A part of :mod:`tasks.services`, which says what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from shared.sql import rows
from tasks.definition import Definition
from tasks.models import Task
from tasks.revisions import stored_parts


def insert(
    tenant_id: UUID,
    tasks: Sequence[Task],
    definitions: Sequence[Definition],
    *,
    changed_by: str,
    now: datetime,
) -> bool:
    """Insert new tasks of a tenant; return whether an open pause of it may cover them.

    In the caller's transaction, which shares the tenant's pauses. Raise IntegrityError for an id
    that is taken.
    """
    if not tasks:
        return False
    parts = [
        stored_parts(task, definition) for task, definition in zip(tasks, definitions, strict=True)
    ]
    columns: dict[str, list[Any]] = {
        "ids": [task.id for task in tasks],
        "names": [task.name for task in tasks],
        "types": [task.type for task in tasks],
        "statuses": [task.status for task in tasks],
        "partitions": [task.partition for task in tasks],
        "priorities": [task.priority for task in tasks],
        "schedules": [_json(task.schedule) for task in tasks],
        "labels": [_json(task.labels) for task in tasks],
        "pools": [task.pool for task in tasks],
        "destinations": [task.destination for task in tasks],
        "next_run_at": [task.next_run_at for task in tasks],
        "pause_after_failures": [task.pause_after_failures for task in tasks],
        "definitions": [_json(plain) for plain, _ in parts],
        "sealed": [sealed for _, sealed in parts],
    }
    constants = {"tenant": tenant_id, "changed_by": changed_by, "now": now}
    pauses_open: bool = rows("creation/insert_tasks", {**columns, **constants})[0][0]
    for task in tasks:
        task._state.adding, task._state.db = False, "default"
    return pauses_open


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
