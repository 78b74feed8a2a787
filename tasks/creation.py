"""Prepares new tasks, and writes any number with their first revisions in a few statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from events import audit
from shared.actor import Actor
from shared.conf import conf
from shared.ids import execution_id, new_id, new_ids, partition_of
from shared.instants import parse_instant
from shared.notify import wake_schedulers_from
from shared.sql import Asked, at_last, together
from shared.sql_arrays import (
    of_blobs,
    of_flags,
    of_floats,
    of_integers,
    of_moments,
    of_texts,
    of_uuids,
)
from tasks import dependencies, quotas, standing_pauses, transitions
from tasks.budgets import keeping
from tasks.calendars import SpecOf, spec_reader
from tasks.choices import TaskStatus, TaskType
from tasks.definition import Definition, is_plain
from tasks.editing import columns_of, first_instant
from tasks.models import Task
from tasks.named_secrets import uses
from tasks.revisions import stored_parts, write_steps
from tasks.transitions import Pause, facts_of
from tenants.suspension import require_active


def create_task(
    tenant_id: UUID,
    definition: Definition,
    *,
    actor: Actor,
    now: datetime,
    task_id: UUID | None = None,
) -> Task:
    """Create a task and its first revision; ``now`` is the database's time.

    Runs inside the caller's transaction, if there is one: it commits or rolls back with it.
    Raise IntegrityError for a ``task_id`` that is taken; without one the task gets a new id.
    """
    # A caller whose id is taken continues its transaction: that needs a savepoint.
    with transaction.atomic(savepoint=task_id is not None):
        ids = [task_id or new_id()]
        return create_tasks(tenant_id, [definition], actor=actor, now=now, ids=ids)[0]


def create_tasks(
    tenant_id: UUID,
    definitions: Sequence[Definition],
    *,
    actor: Actor,
    now: datetime,
    ids: Sequence[UUID] | None = None,
) -> list[Task]:
    """Create a task for each definition, all or none, at the price of a few statements.

    A task that an open standing pause covers is made PAUSED under it. Raise TenantSuspended for a
    suspended tenant, QuotaExceeded where the tenant's quotas do not allow all.
    """
    quotas.spend(tenant_id, len(definitions))
    with transaction.atomic(savepoint=False):
        shared = any(definition.schedule["calendars"] for definition in definitions)
        if shared:
            # A deletion of a calendar waits for this lock: a calendar read from here on stays.
            standing_pauses.share(tenant_id)
        actors = [actor] * len(definitions)
        prepared = prepare_tasks(tenant_id, definitions, actors=actors, now=now, ids=ids)
        return write_tasks(prepared, shared=shared)


@dataclass(frozen=True, slots=True)
class Prepared:
    """New tasks of a tenant that are not written yet, and the statements that write them."""

    tenant_id: UUID
    tasks: list[Task]
    definitions: Sequence[Definition]
    now: datetime
    #: Which returns whether a pause may cover them, and what lets some wait for other tasks.
    insertion: list[Asked]
    recording: audit.Recording
    changed_by: str
    #: Bytes of the sealed parts.
    payload_bytes: int


def prepare_tasks(
    tenant_id: UUID,
    definitions: Sequence[Definition],
    *,
    actors: Sequence[Actor],
    now: datetime,
    ids: Sequence[UUID] | None = None,
) -> Prepared:
    """Make a task of each definition, write nothing; ``actors`` has the order of definitions.

    Where a schedule has calendars, the caller's transaction must share the tenant's pauses.
    """
    read = spec_reader((tenant_id, definition.schedule) for definition in definitions)
    tasks = [
        _new_task(tenant_id, task_id, definition, now, read)
        for task_id, definition in zip(ids or new_ids(len(definitions)), definitions, strict=True)
    ]
    parts = [
        stored_parts(task, definition) for task, definition in zip(tasks, definitions, strict=True)
    ]
    insertion = [
        _insertion_of(tenant_id, tasks, parts, actors=actors, now=now),
        *dependencies.waiting(list(zip(tasks, definitions, strict=True))),
    ]
    changes = [
        audit.Change("task.created", "task", task.id, after=facts_of(task)) for task in tasks
    ]
    recording = audit.recording(tenant_id, actors, changes)
    by = actors[0].name if actors else ""
    size = sum(len(sealed) for _, sealed in parts)
    return Prepared(tenant_id, tasks, definitions, now, insertion, recording, by, size)


def reserve_for(prepared: Prepared, *, may_count: bool = True) -> None:
    """Reserve what the prepared tasks store, before the write; see :func:`tasks.quotas.reserve`."""
    quotas.reserve(
        prepared.tenant_id,
        tasks=len(prepared.tasks),
        payload_bytes=prepared.payload_bytes,
        may_count=may_count,
    )


@transaction.atomic(savepoint=False)
def write_tasks(
    prepared: Prepared,
    *,
    meanwhile: Callable[[], object] | None = None,
    shared: bool = False,
    log_at_once: bool = False,
    reserved: bool = False,
) -> list[Task]:
    """Write prepared tasks, all or none, and return them; ``meanwhile`` runs during the write.

    ``shared``: the caller's transaction shares the tenant's pauses already. The audit log is
    written as late as possible, to lock its chain only briefly; with ``log_at_once``, for large
    numbers of tasks, it is written together with the tasks. Raise QuotaExceeded, unless the caller
    has ``reserved`` for the tasks.
    """
    tenant_id, tasks, now = prepared.tenant_id, prepared.tasks, prepared.now
    if not tasks:
        return []
    if not reserved:
        reserve_for(prepared)
    recording = prepared.recording
    behind = recording.asked if log_at_once else ()
    before = () if shared else (standing_pauses.sharing(tenant_id),)
    done = together(*before, *prepared.insertion, *behind, meanwhile=meanwhile)
    inserted = done[len(before)]
    for task in tasks:
        task._state.adding, task._state.db = False, "default"
    uses.note(tenant_id, zip(tasks, prepared.definitions, strict=True))
    write_steps(zip(tasks, prepared.definitions, strict=True), prepared.changed_by)
    keeping.put(zip(tasks, prepared.definitions, strict=True), now)
    [(may_be_paused, *limits)] = inserted.rows
    quotas.confirm(tenant_id, *limits)
    if may_be_paused:
        _go_under_pauses(tenant_id, tasks, now)
    if behind:
        recording.note(done[len(before) + len(prepared.insertion) :])
    else:
        at_last(*recording.asked, then=recording.note)
    instants = [task.next_run_at for task in tasks if task.next_run_at is not None]
    wake_schedulers_from(min(instants, default=None), now)
    return tasks


def _new_task(
    tenant_id: UUID, task_id: UUID, definition: Definition, now: datetime, read: SpecOf
) -> Task:
    given = {
        "id": task_id,
        "tenant_id": tenant_id,
        "partition": partition_of(task_id, conf().partition_count),
        "created_at": now,
        "updated_at": now,
        **columns_of(definition),
    }
    # Positional, in the order of the columns: keywords take five times as long.
    columns: list[Any] = [*(_blank() | given).values()]
    task = Task(*columns)  # type: ignore[misc]  # the stubs take the first for the id
    if task.type == TaskType.ONE_TIME and not task.schedule["calendars"]:
        task.next_run_at = parse_instant(task.schedule["run_at"])
        return task
    spec = read(task.type, task.schedule, tenant_id, str(task_id), now)
    task.next_run_at = first_instant(task, now, spec)
    transitions.restate(task)
    return task


@cache
def _blank() -> dict[str, Any]:
    """Return the default of each column of a task, in the order of the columns."""
    return {column.attname: column.get_default() for column in Task._meta.concrete_fields}


def _go_under_pauses(tenant_id: UUID, tasks: Sequence[Task], now: datetime) -> None:
    require_active(tenant_id)
    holders = standing_pauses.holders(tenant_id, [task.id for task in tasks])
    held = [task for task in tasks if task.id in holders and task.status == TaskStatus.SCHEDULED]
    for standing in {holders[task.id].id: holders[task.id] for task in held}.values():
        terms = Pause.under(standing)
        under = [task for task in held if holders[task.id].id == standing.id]
        transitions.pause([task.id for task in under], terms, now)
        for task in under:
            transitions.show_paused(task, terms, now)


def _insertion_of(
    tenant_id: UUID,
    tasks: Sequence[Task],
    parts: Sequence[tuple[dict[str, Any], bytes]],
    *,
    actors: Sequence[Actor],
    now: datetime,
) -> Asked:
    """Return the statement that inserts new tasks of a tenant.

    It returns whether an open pause of the tenant may cover them; the caller's transaction must
    share the tenant's pauses. It raises IntegrityError for an id that is taken.
    """
    columns = {
        "ids": of_uuids([task.id for task in tasks]),
        "names": of_texts([task.name for task in tasks]),
        "types": of_texts([task.type for task in tasks]),
        "statuses": of_texts([task.status for task in tasks]),
        "partitions": of_integers([task.partition for task in tasks]),
        "priorities": of_integers([task.priority for task in tasks]),
        "schedules": of_texts([_json(task.schedule) for task in tasks]),
        "labels": of_texts([_json(task.labels) for task in tasks]),
        "pools": of_texts([task.pool for task in tasks]),
        "destinations": of_texts([task.destination for task in tasks]),
        "next_run_at": of_moments([task.next_run_at for task in tasks]),
        "pause_after_failures": of_integers([task.pause_after_failures for task in tasks]),
        "definitions": of_texts([_json(plain) for plain, _ in parts]),
        "sealed": of_blobs([sealed for _, sealed in parts]),
        "changed_by": of_texts([actor.name for actor in actors]),
        # A recurring task's executions happen long after the call: each is a trace of its own.
        "traces": of_texts(
            [
                (actor.callers_trace or "") if task.type == TaskType.ONE_TIME else ""
                for task, actor in zip(tasks, actors, strict=True)
            ]
        ),
        "owners": of_texts([task.owner for task in tasks]),
        "max_attempts": of_integers([task.max_attempts for task in tasks]),
        "timeouts": of_floats([task.timeout_seconds for task in tasks]),
        "limited": of_flags([task.limited for task in tasks]),
        "keys": of_texts([task.concurrency_key for task in tasks]),
        "key_limits": of_integers([task.concurrency_max for task in tasks]),
        "in_order": of_flags([bool(task.concurrency_fifo) for task in tasks]),
        "execution_ids": of_uuids([_plain_execution(task) for task in tasks]),
    }
    return "creation/insert_tasks", {"tenant": tenant_id, "now": now, **columns}


def _plain_execution(task: Task) -> UUID | None:
    """Return the id of the only execution, where no policy decides about it; else None."""
    at = task.next_run_at
    plain = is_plain(task.type, task.schedule, task.concurrency_key)
    return execution_id(task.id, at) if at and plain else None


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
