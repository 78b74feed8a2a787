"""Setting fields of many tasks: one merge patch, judged when the job is made, applied to each task.

The patch may hold a payload and secret headers, so it is sealed with the job; what the job shows
of it is masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, NoReturn
from uuid import UUID

from executions.engine.clocks import database_now
from executions.services import changing
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput
from shared.redaction import MASK
from tasks.calendars import limits_of
from tasks.definition import Definition, from_stored
from tasks.kept_secrets import REFUSED_CODE
from tasks.limits import Limits, current_limits
from tasks.masking import mask_target
from tasks.validation import StatusChange, parse_patch

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
#: One task of each kind; what none of them could take, no task can.
_KINDS: tuple[dict[str, Any], ...] = tuple(
    {**schedule, "target": target} for target in _TARGETS for schedule in _SCHEDULES
)
#: Depends on the tenant, or is the samples' own: judged with each task.
_JUDGED_LATER = (
    "calendar_unknown",
    "pool_unknown",
    "command_unknown",
    "variable_forbidden",
    "owner_unknown",
)


def require_patch(patch: Any) -> None:
    """Raise InvalidInput for a patch that no task can take: unknown fields, impossible values.

    What only some tasks refuse is found when it is applied to them. ``status`` is refused, since
    pausing and resuming are actions of their own.
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


def set_fields(tenant_id: UUID, task_id: UUID, patch: Mapping[str, Any], actor: Actor) -> None:
    """Merge the patch into one task; no occurrence of its old version starts afterwards (A11).

    Raise Conflict ``unchanged`` where the task has these values already, and what editing raises.
    """
    changing.edit_task(
        tenant_id, task_id, partial(_edited, patch, limits_of(tenant_id)), actor=actor
    )


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
        raise Conflict("It has these values already.", code="unchanged")
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
