"""Set fields of many tasks: one merge patch, checked when the job is made, applied to each task.

The patch may hold a payload and secret headers, so it is sealed with the job, and the job shows it
masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, NoReturn
from uuid import UUID

from executions.bulk import verbs
from executions.bulk.items import Batch, Order
from executions.changes import bulk_pause, changing, withdrawal
from executions.loop.clocks import database_now
from shared.actor import Actor
from shared.encryption import CannotBeOpened
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound, PunctualError
from shared.redaction import MASK
from tasks import editing, standing_pauses
from tasks.calendars import limits_of
from tasks.choices import TaskStatus
from tasks.definition import Definition, from_stored
from tasks.kept_secrets import REFUSED_CODE
from tasks.limits import Limits, current_limits
from tasks.masking import mask_target
from tasks.models import Task
from tasks.revisions import Readable, read_readable, require_room
from tasks.transitions import PAUSABLE
from tasks.validation.bodies import StatusChange, parse_patch

_TARGETS: tuple[dict[str, Any], ...] = (
    {"url": "https://example.com/"},
    {"kind": "pool", "pool": "x", "handler": "x"},
    {"kind": "handler", "handler": "x"},
    {"kind": "command", "command": "x"},
)
_SCHEDULES: tuple[dict[str, Any], ...] = (
    {"type": "RECURRING", "schedule": {"cron_expression": "0 0 * * *"}},
    {"type": "RECURRING", "schedule": {"every": "PT1H"}},
    {"type": "ONE_TIME", "schedule": {"run_at": "2199-01-01T00:00:00.000Z"}},
)
#: One task of each kind; a patch that none of them can take, no task can take.
_KINDS: tuple[dict[str, Any], ...] = tuple(
    {**schedule, "target": target} for target in _TARGETS for schedule in _SCHEDULES
)
#: Errors that depend on the tenant, or on the samples themselves: checked with each task.
_JUDGED_LATER = (
    "calendar_unknown",
    "pool_unknown",
    "command_unknown",
    "variable_forbidden",
    "owner_unknown",
    "task_unknown",
)


#: Parts of a definition that do not change when a task fires.
_TOGETHER = {
    "name",
    "labels",
    "owner",
    "priority",
    "target",
    "payload",
    "payload_ref",
    "retry_policy",
}


def require_patch(patch: Any) -> None:
    """Raise InvalidInput for a patch that no task can take: unknown fields, impossible values.

    Applying the patch finds the errors of single tasks. ``status`` is refused, because pausing and
    resuming are actions of their own.
    """
    if not isinstance(patch, Mapping) or not patch:
        _refuse("#/set", "required", "Give the fields to set, as for editing one task.")
    if "status" in patch:
        message = "Use the actions pause and resume to change the status."
        _refuse("#/set/status", "not_supported", message)
    found = [_errors(kind, patch) for kind in _KINDS]
    if all(found):
        everywhere = [
            error
            for error in found[0]
            if all(any(_same(error, other) for other in others) for others in found)
        ]
        raise InvalidInput([_placed(error) for error in everywhere or found[0]])


def masked(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patch as it may be shown: without payload, secret headers and other secrets."""
    shown = dict(patch)
    for part in ("payload", "payload_ref"):
        if part in shown:
            shown[part] = MASK
    target = shown.get("target")
    if isinstance(target, Mapping):
        shown["target"] = mask_target(target)
    return shown


def goes_together(patch: Mapping[str, Any]) -> bool:
    """Return whether the patch keeps the instants of a task, so that many tasks take it at once.

    A changed schedule decides task by task which prepared instants stay.
    """
    return patch.keys() <= _TOGETHER


def set_fields(tenant_id: UUID, task_id: UUID, patch: Mapping[str, Any], actor: Actor) -> None:
    """Merge the patch into one task; no occurrence of its old version starts afterwards.

    Raise Conflict ``unchanged`` where the task has these values already, and the errors of an edit.
    """
    changing.edit_task(
        tenant_id, task_id, partial(_edited, patch, limits_of(tenant_id)), actor=actor
    )


def set_together(order: Order, batch: Batch) -> None:
    """Merge a patch that :func:`goes_together` into each task, as :func:`set_fields` into one.

    Locks executions by id, then tasks by id. Raise Unavailable, changing nothing, when Redis cannot
    be asked about released work.
    """
    limits, now = limits_of(order.tenant_id), database_now()
    edit = partial(_edited, patch_of(order), limits)
    seen = verbs.read(order, batch)
    edited = _edit_each(batch, seen, edit, now)
    require_room([(seen[task_id], found.after) for task_id, found in edited.items()])
    bulk_pause.take_back(batch.open, now)
    tasks = verbs.lock_tasks(batch)
    # Another edit came in between: apply the patch to the current definitions.
    stale = {one: task for one, task in tasks.items() if task.version != seen[one].version}
    edited |= _edit_each(batch, stale, edit, now)
    # Work that materialize, dispatch and people added before the tasks were locked.
    bulk_pause.take_back(batch.open, now)
    revised = [(tasks[task_id], edited[task_id].after) for task_id in batch.open]
    current = {task_id: edited[task_id].before for task_id in batch.open}
    for change in editing.revise_tasks(revised, actor=order.actor, now=now, current=current):
        batch.note(change)
    withdrawal.adopt_many(revised)
    _follow_pauses(order, batch, [task for task, _ in revised], now)


def patch_of(order: Order) -> Mapping[str, Any]:
    """Return the patch of a job's order; a job of this action seals it as its payload."""
    return order.override.payload if order.override else {}


class _Edited(NamedTuple):
    """The definition of a task, and its next one."""

    before: Definition
    after: Definition


def _edit_each(
    batch: Batch, tasks: Mapping[UUID, Task], edit: changing.Edit, now: datetime
) -> dict[UUID, _Edited]:
    """Return the definitions of the tasks, present and next; refuse tasks without a next one."""
    readable = read_readable(tasks.values())
    found: dict[UUID, _Edited] = {}
    for task_id, task in tasks.items():
        try:
            current = _whole(readable.get(task_id))
            after, _ = edit(current, now)
        except PunctualError as error:
            batch.refuse(task_id, error)
            continue
        found[task_id] = _Edited(current, after)
        if (task.type, task.schedule) != (after.type, after.schedule):
            # Newer rules read the stored schedule differently: this batch goes task by task.
            raise ValueError(f"the schedule of task {task_id} would change")
    return found


def _whole(readable: Readable | None) -> Definition:
    if readable is None:
        raise NotFound("There is no such version.")
    if not readable.is_whole:
        raise CannotBeOpened
    return readable.definition


def _follow_pauses(order: Order, batch: Batch, tasks: Sequence[Task], now: datetime) -> None:
    """Put edited tasks under the open pauses that cover them now; resume the uncovered ones."""
    own = TaskStatus.PAUSED, None
    found = [
        task for task in tasks if task.status in PAUSABLE and (task.status, task.pause_id) != own
    ]
    holders = standing_pauses.current_holders(found)
    free = [task.id for task in found if task.id not in holders]
    holders |= standing_pauses.holders(order.tenant_id, free)
    left = [task.id for task in found if task.pause_id is not None and task.id not in holders]
    come = {
        task.id: holders[task.id]
        for task in found
        if task.id in holders and holders[task.id].id != task.pause_id
    }
    verbs.let_go(batch, left, now)
    bulk_pause.stop(list(come), now)
    verbs.put_under(batch, come, now)


def _edited(
    patch: Mapping[str, Any], limits: Limits, current: Definition, now: datetime
) -> tuple[Definition, StatusChange | None]:
    try:
        definition, change = parse_patch(current, patch, now=now, limits=limits)
    except InvalidInput as refused:
        if all(error.code == REFUSED_CODE for error in refused.errors):
            # The item has one code for all of its errors.
            refused.code = REFUSED_CODE
        raise
    if definition == current:
        raise Conflict("Nothing to change: the task already has these values.", code="unchanged")
    return definition, change


def _errors(kind: Mapping[str, Any], patch: Mapping[str, Any]) -> list[FieldError]:
    sample = from_stored({"name": "x", **kind})
    try:
        parse_patch(sample, patch, now=database_now(), limits=current_limits())
    except InvalidInput as refused:
        return [error for error in refused.errors if error.code not in _JUDGED_LATER]
    return []


def _same(error: FieldError, other: FieldError) -> bool:
    return (error.pointer, error.code) == (other.pointer, other.code)


def _placed(error: FieldError) -> FieldError:
    return FieldError(error.pointer.replace("#", "#/set", 1), error.code, error.message)


def _refuse(pointer: str, code: str, message: str) -> NoReturn:
    raise InvalidInput([FieldError(pointer, code, message)], message)
