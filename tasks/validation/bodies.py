"""From the body of a call to a definition: create, replace and edit, in either form.

Services call it for every door, so that the same rules apply to the API, commands and Python
callers. For any JSON it raises only InvalidInput, with every field that is wrong, or TooLarge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from shared.exceptions import FieldError, InvalidInput
from shared.instants import parse_instant
from shared.json_pointer import child
from tasks.choices import TaskStatus
from tasks.definition import DEFAULT_PRIORITY, Definition, to_long
from tasks.field_reader import Errors, FieldReader
from tasks.kept_secrets import refuse_moved
from tasks.known_fields import outside_of
from tasks.limits import NAME_LENGTH, Limits
from tasks.masking import Place, keep_masked
from tasks.merging import merge_edit
from tasks.payloads import check_payload_size, require_object
from tasks.repeats import Repeats
from tasks.short_form import SHORT_SCHEDULE_FIELDS, as_long
from tasks.validation.budget import read_budget
from tasks.validation.concurrency import read_concurrency
from tasks.validation.dependencies import (
    check_dependencies,
    read_dependencies,
    read_policy,
)
from tasks.validation.labels import read_labels
from tasks.validation.named_secrets import check_secrets
from tasks.validation.names import check_names
from tasks.validation.redaction import read_redact, refuse_masks, with_redacted
from tasks.validation.references import check_owner, read_owner, read_payload_ref
from tasks.validation.retry import read_retry_policy
from tasks.validation.schedule import TIMING_HINT, Clock, read_repeated, read_type, timing_given
from tasks.validation.target import default_name, read_target
from tasks.validation.timing_targets import read_targets
from tasks.validation.webhook import check_payload_fits

LONG_FIELDS = (
    "name",
    "type",
    "schedule",
    "target",
    "payload",
    "payload_ref",
    "priority",
    "retry_policy",
    "labels",
    "owner",
    "depends_on",
    "on_dependency_failure",
    "redact",
    "budget",
    "concurrency",
    "targets",
)
#: Fields of an answer; a client that sends one back learns that it cannot be set.
READ_ONLY_FIELDS = (
    "id",
    "status",
    "version",
    "next_execution",
    "next_execution_local",
    "next_execution_due_at",
    "schedule_text",
    "last_execution",
    "created_at",
    "updated_at",
    "paused_until",
    "pause_note",
    "paused_by",
    "missing",
    "budget_use",
    "executions",
)


class StatusChange(StrEnum):
    """What an edit of ``status`` asks for."""

    PAUSE = TaskStatus.PAUSED.value
    RESUME = TaskStatus.SCHEDULED.value


def parse_create(
    body: Any, *, now: datetime, limits: Limits, repeats: Repeats | None = None
) -> Definition:
    """Return the definition that a body of either form describes.

    A recurring task that gives no jitter gets its tenant's; an edit or a replacement does not.
    ``repeats`` is for several bodies of a tenant that are read at one time.
    """
    return parse_one_of_many(require_object(body), repeats or Repeats(), now=now, limits=limits)


def parse_copy(source: Definition, body: Any, *, now: datetime, limits: Limits) -> Definition:
    """Return the definition of a task that is copied: a masked secret is that of the source."""
    return _parse(require_object(body), _creation_clock(now, limits), limits, stored=source)


def parse_clone(source: Definition, body: Any, *, now: datetime, limits: Limits) -> Definition:
    """Return the source's definition with the overrides merged in, as a new task's.

    Secrets that the overrides leave out are the source's, under the rule of an edit. A one-time
    task whose time has passed needs another: its clone would run at once.
    """
    merge = partial(merge_edit, to_long(source))
    clock = _creation_clock(now, limits)
    definition = _parse(require_object(body), clock, limits, merge, stored=source)
    run_at = definition.schedule.get("run_at")
    if run_at and run_at == source.schedule.get("run_at") and parse_instant(run_at) <= now:
        message = "The time of the source has passed; give run_at or delay_seconds."
        raise InvalidInput([FieldError("#/schedule/run_at", "in_the_past", message)])
    return definition


def parse_one_of_many(body: Any, repeats: Repeats, *, now: datetime, limits: Limits) -> Definition:
    """Return the same for a body of many in one call, whose parser has checked its JSON.

    ``repeats`` is for all of them; their definitions share what the bodies have in common.
    """
    taken = body if isinstance(body, dict) else require_object(body)
    return _parse(taken, _creation_clock(now, limits), limits, repeats=repeats)


def parse_replace(
    body: Any, *, now: datetime, limits: Limits, current: Definition | None = None
) -> Definition:
    """Return the definition that takes the place of another; what is left out is its default.

    A masked secret is that of the ``current`` definition.
    """
    clock = Clock(now, calendars=limits.calendars)
    return _parse(require_object(body), clock, limits, stored=current)


def parse_patch(
    current: Definition, body: Any, *, now: datetime, limits: Limits
) -> tuple[Definition, StatusChange | None]:
    """Return the definition with the edit merged in, and whether to pause or resume.

    In the short form (a schedule's field at the top, or ``webhook_url`` in the payload) the
    payload is the webhook; otherwise it is merged into the task's payload.
    """
    edit = require_object(body)
    errors = Errors()
    change = status_change(edit, errors)
    if not edit:
        errors.raise_if_any()
        return current, change
    clock = Clock(now, current.schedule.get("run_at"), calendars=limits.calendars)
    merge = partial(merge_edit, to_long(current))
    return _parse(edit, clock, limits, merge, stored=current, errors=errors), change


def _creation_clock(now: datetime, limits: Limits) -> Clock:
    return Clock(now, calendars=limits.calendars, default_jitter=limits.default_jitter)


def _parse(
    body: Mapping[str, Any],
    clock: Clock,
    limits: Limits,
    complete: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    *,
    repeats: Repeats | None = None,
    stored: Definition | None = None,
    errors: Errors | None = None,
) -> Definition:
    """Return the definition; a mask in the completed body is the secret of the ``stored`` one.

    ``errors`` are those that were found before; they are raised with what is found here.
    """
    form, errors = Errors(), errors or Errors()
    long, rename = as_long(body, form)
    whole, kept = _with_secrets(complete(long), stored)
    if "payload" in whole:
        whole = whole | {"payload": with_redacted(whole["payload"], stored)}
    definition = _read(whole, errors, clock, limits, repeats or Repeats())
    if definition.owner and (stored is None or definition.owner != stored.owner):
        check_owner(definition.owner, FieldReader(whole, "#", errors), limits)
    check_names(definition, stored, errors)
    refuse_masks(definition.payload, definition.redact, "#/payload", errors)
    check_secrets(definition.target, "#/target", errors, limits)
    check_dependencies(definition.depends_on, stored.depends_on if stored else (), errors, limits)
    if kept and stored is not None and not errors.below("#/target/kind"):
        refuse_moved(kept, stored.target, definition.target, errors)
    found = form.renamed(str) + errors.renamed(rename)
    if found:
        raise InvalidInput(found)
    return definition


def _with_secrets(
    long: dict[str, Any], stored: Definition | None
) -> tuple[dict[str, Any], list[Place]]:
    if stored is None or not isinstance(long.get("target"), Mapping):
        return long, []
    target, kept = keep_masked(long["target"], stored.target)
    return long | {"target": target}, kept


def status_change(edit: dict[str, Any], errors: Errors) -> StatusChange | None:
    """Take ``status`` out of an edit and return what it asks for; note another state."""
    if "status" not in edit:
        return None
    try:
        return StatusChange(edit.pop("status"))
    except ValueError:
        message = "Set PAUSED to pause or SCHEDULED to resume; other states are results."
        errors.add("#/status", "invalid_choice", message)
        return None


def _read(
    body: Mapping[str, Any], errors: Errors, clock: Clock, limits: Limits, repeats: Repeats
) -> Definition:
    reader = FieldReader(body, "#", errors)
    reader.refuse_unknown(
        (*LONG_FIELDS, *SHORT_SCHEDULE_FIELDS),
        read_only=READ_ONLY_FIELDS,
        elsewhere=outside_of(""),
    )
    check_payload_size(body.get("payload"), limits.payload_bytes)
    when = _part(reader, "schedule", f"Say when: {TIMING_HINT}.")
    task_type = read_type(reader, timing_given(when) if when else [])
    target = _target(reader, limits, repeats)
    retry_policy = FieldReader(reader.mapping("retry_policy"), "#/retry_policy", errors)
    name = reader.text("name", "", longest=NAME_LENGTH)
    return Definition(
        name=name or (default_name(target, limits) if target else ""),
        type=task_type,
        schedule=read_repeated(when, task_type, clock, repeats) if when else {},
        target=target,
        payload=body.get("payload"),
        priority=reader.integer("priority", DEFAULT_PRIORITY, 0, 9),
        retry_policy=repeats.read(
            "retry_policy", retry_policy.data, errors, partial(read_retry_policy, retry_policy)
        ),
        labels=repeats.read(
            "labels",
            [body["labels"]] if "labels" in body else [],
            errors,
            partial(read_labels, reader, "labels"),
        ),
        depends_on=read_dependencies(reader, task_type),
        payload_ref=read_payload_ref(reader, target),
        owner=read_owner(reader),
        on_dependency_failure=read_policy(reader, task_type),
        redact=read_redact(reader),
        budget=read_budget(reader, task_type),
        concurrency=read_concurrency(reader),
        targets=read_targets(reader),
    )


def _target(reader: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    what = _part(reader, "target", "Say what to call: target.url, or payload.webhook_url.")
    if what is None:
        return {}
    target = read_target(what, limits, repeats)
    if target["kind"] == "webhook":
        check_payload_fits(target, reader.data.get("payload"), reader.errors)
    return target


def _part(reader: FieldReader, key: str, hint: str) -> FieldReader | None:
    if key not in reader.data:
        reader.error(key, "required", hint)
        return None
    part = reader.mapping(key)
    if not isinstance(reader.data[key], Mapping):
        return None
    return FieldReader(part, child(reader.pointer, key), reader.errors)
