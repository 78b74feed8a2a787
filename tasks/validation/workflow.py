"""From the body of a call to the definition of a workflow: create, replace and edit.

A workflow is a task whose target is a graph of steps. For any JSON these raise only InvalidInput,
with every field that is wrong, or TooLarge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from shared.field_redaction import redacted, restored
from shared.payload_sight import hide
from tasks.choices import ON_FAILURE, WORKFLOW, TaskType
from tasks.definition import (
    DEFAULT_PRIORITY,
    RETRY_DEFAULTS,
    Definition,
    schedule_defaults,
    target_defaults,
)
from tasks.field_reader import Errors, FieldReader
from tasks.kept_secrets import refuse_moved
from tasks.limits import NAME_LENGTH, Limits
from tasks.masking import Place, keep_masked, mask_target, seen_step
from tasks.merging import merge_patch
from tasks.payloads import check_payload_size, require_object
from tasks.validation import bodies
from tasks.validation.bodies import StatusChange, status_change
from tasks.validation.budget import read_budget
from tasks.validation.concurrency import read_concurrency
from tasks.validation.deadlines import FIELDS as DEADLINES
from tasks.validation.deadlines import read_deadline
from tasks.validation.input_schema import read_input_schema
from tasks.validation.labels import read_labels
from tasks.validation.named_secrets import check_secrets
from tasks.validation.names import check_names
from tasks.validation.redaction import read_redact
from tasks.validation.references import check_owner, read_owner
from tasks.validation.schedule import Clock, read_schedule, read_type, timing_given
from tasks.validation.steps import graph_of, read_steps
from tasks.validation.timing_targets import read_targets
from tasks.versions import MOST_STEPS_EVER
from tasks.workflow.graph import numbered

#: Parts of a target that hold the calls of a step.
_CALLS: tuple[tuple[str, ...], ...] = (("target",), ("compensate", "target"))
_PAYLOADS: tuple[tuple[str, ...], ...] = (("payload",), ("compensate", "payload"))
FIELDS = (
    "name",
    "steps",
    "on_failure",
    "schedule",
    "input_schema",
    "max_concurrent",
    *DEADLINES,
    "labels",
    "priority",
    "owner",
    "redact",
    "budget",
    "concurrency",
    "targets",
)
#: A workflow answers with the fields of a task, except ``executions``.
READ_ONLY_FIELDS = tuple(name for name in bodies.READ_ONLY_FIELDS if name != "executions")


def parse_workflow(body: Any, *, now: datetime, limits: Limits) -> Definition:
    """Return the definition of a new workflow."""
    clock = Clock(now, calendars=limits.calendars, default_jitter=limits.default_jitter)
    return _parse(require_object(body), clock, limits, None)


def parse_workflow_replace(
    body: Any, *, now: datetime, limits: Limits, current: Definition
) -> Definition:
    """Return the definition that takes the place of another; a masked secret is the current one."""
    clock = Clock(now, calendars=limits.calendars)
    return _parse(require_object(body), clock, limits, current)


def parse_workflow_patch(
    body: Any, *, now: datetime, limits: Limits, current: Definition
) -> tuple[Definition, StatusChange | None]:
    """Return the definition with the edit merged in (RFC 7396), and whether to pause or resume.

    ``steps`` is a list, and replaced whole.
    """
    edit, errors = require_object(body), Errors()
    change = status_change(edit, errors)
    if not edit:
        errors.raise_if_any()
        return current, change
    clock = Clock(now, current.schedule.get("run_at"), calendars=limits.calendars)
    whole = dict(merge_patch(workflow_fields(current), edit))
    return _parse(whole, clock, limits, current, errors), change


def workflow_fields(
    definition: Definition, *, secrets: bool = False, current: Definition | None = None
) -> dict[str, Any]:
    """Return the fields of a workflow as its calls take and answer them.

    Secrets are masked unless ``secrets`` is set. What is inside is the definition's own. Of an
    earlier version the fields that the steps of the ``current`` one mask are masked, too.
    """
    target = definition.target
    newest = current.target.get("steps") or () if current else ()
    also = {step["key"]: step.get("redact", ()) for step in newest}
    schedule = {key: value for key, value in definition.schedule.items() if value is not None}
    steps = target["steps"]
    return {
        "name": definition.name,
        "steps": steps if secrets else [_masked(step, also.get(step["key"], ())) for step in steps],
        "on_failure": target["on_failure"],
        "schedule": None if definition.type == TaskType.MANUAL else schedule,
        "input_schema": target["input_schema"] if secrets else hide(target["input_schema"]),
        "max_concurrent": definition.schedule["max_concurrent"],
        **{key: target[key] for key in DEADLINES},
        "labels": definition.labels,
        "priority": definition.priority,
        "owner": definition.owner,
        **({"redact": definition.redact} if definition.redact else {}),
        "budget": definition.budget,
        "concurrency": definition.concurrency,
        **({"targets": definition.targets} if definition.targets else {}),
    }


def _masked(step: Mapping[str, Any], also: Sequence[str]) -> Mapping[str, Any]:
    shown = dict(step)
    for path in _CALLS:
        target = _at(step, path)
        if target is not None:
            shown = _with(shown, path, mask_target(target))
    if redact := [*step.get("redact", ()), *also]:
        for path in _PAYLOADS:
            if (payload := _at(shown, path)) is not None:
                shown = _with(shown, path, redacted(payload, redact))
    return seen_step(shown)


def _parse(
    body: Mapping[str, Any],
    clock: Clock,
    limits: Limits,
    stored: Definition | None,
    errors: Errors | None = None,
) -> Definition:
    errors = errors or Errors()
    whole, kept = _with_secrets(body, stored)
    reader = FieldReader(whole, "#", errors)
    reader.refuse_unknown(FIELDS, read_only=READ_ONLY_FIELDS)
    check_payload_size(whole.get("steps"), limits.payload_bytes)
    reader.require("name", "Give the workflow a name.")
    task_type, schedule = _schedule(reader, clock)
    owner = read_owner(reader)
    steps = read_steps(reader, limits)
    _check_children(steps, errors, limits)
    _check_secrets(steps, errors, limits)
    definition = Definition(
        name=reader.text("name", "", longest=NAME_LENGTH),
        type=task_type,
        schedule=schedule,
        target=target_defaults(WORKFLOW)
        | {
            "steps": steps,
            "numbers": _numbers(reader, steps, stored),
            "on_failure": reader.choice("on_failure", ON_FAILURE, ON_FAILURE[0]),
            "input_schema": read_input_schema(reader),
            **read_deadline(reader, limits),
        },
        payload=None,
        priority=reader.integer("priority", DEFAULT_PRIORITY, 0, 9),
        # A run is not tried again by itself: its steps are.
        retry_policy={**RETRY_DEFAULTS, "max_attempts": 1},
        labels=read_labels(reader, "labels"),
        depends_on=[],
        owner=owner,
        redact=read_redact(reader),
        budget=read_budget(reader, task_type),
        concurrency=read_concurrency(reader),
        targets=read_targets(reader),
    )
    check_names(definition, stored, errors)
    if owner and (stored is None or owner != stored.owner):
        check_owner(owner, reader, limits)
    _refuse_all_moved(kept, steps, errors)
    errors.raise_if_any()
    graph_of(steps, definition.target["numbers"])
    return definition


def _refuse_all_moved(kept: Sequence[Any], steps: Sequence[Any], errors: Errors) -> None:
    for place, path, before_target, places in kept:
        after = _at(steps[place], path) if place < len(steps) and steps[place] else None
        if after is not None:
            _refuse_moved(places, (before_target, after), (place, *path), errors)


def _numbers(
    reader: FieldReader, steps: Sequence[Mapping[str, Any]], stored: Definition | None
) -> dict[str, int]:
    """Return the number of each key that a version of the workflow has had, or now has."""
    before = stored.target["numbers"] if stored else {}
    numbers = numbered([step["key"] for step in steps if step], before)
    if max(numbers.values(), default=0) >= MOST_STEPS_EVER:
        message = f"A workflow can have {MOST_STEPS_EVER - 1} keys over all its versions."
        reader.error("steps", "too_many", f"{message} Keep keys of steps that stay.")
    return {**before, **numbers}


def _check_children(steps: Sequence[Mapping[str, Any]], errors: Errors, limits: Limits) -> None:
    """Note each step that names no workflow of the tenant."""
    named = {
        place: step["workflow_id"]
        for place, step in enumerate(steps)
        if step.get("workflow_id") and not errors.below(f"#/steps/{place}/workflow_id")
    }
    known = limits.workflows(list(named.values())) if named else frozenset()
    for place, workflow_id in named.items():
        if workflow_id not in known:
            message = "There is no such workflow."
            errors.add(f"#/steps/{place}/workflow_id", "workflow_unknown", message)


def _check_secrets(steps: Sequence[Mapping[str, Any]], errors: Errors, limits: Limits) -> None:
    """Note what is wrong with the named secrets of each call."""
    for place, step in enumerate(steps):
        for path in _CALLS:
            at = "/".join((f"#/steps/{place}", *path))
            check_secrets(_at(step, path) or {}, at, errors, limits)


def _refuse_moved(
    kept: Sequence[Place],
    change: tuple[Mapping[str, Any], Mapping[str, Any]],
    way: Iterable[object],
    errors: Errors,
) -> None:
    inside = Errors()
    refuse_moved(kept, *change, inside)
    at = "#/steps" + "".join(f"/{part}" for part in way)
    for error in inside.renamed(lambda pointer: pointer.replace("#/target", at, 1)):
        errors.add(error.pointer, error.code, error.message)


def _schedule(reader: FieldReader, clock: Clock) -> tuple[str, dict[str, Any]]:
    """Return the type and the schedule; ``max_concurrent`` may stand outside of it."""
    most = reader.integer("max_concurrent", None, 1, 1_000_000, nullable=True)
    part = reader.part("schedule")
    if part is None:
        return TaskType.MANUAL, schedule_defaults(TaskType.MANUAL) | {"max_concurrent": most}
    given = part.data.get("max_concurrent")
    if most is not None and given is not None and given != most:
        message = "Give it here or inside schedule, not both."
        reader.error("max_concurrent", "exclusive", message)
    elif most is not None:
        part = FieldReader({**part.data, "max_concurrent": most}, part.pointer, part.errors)
    task_type = read_type(reader, timing_given(part))
    return task_type, read_schedule(part, task_type, clock)


#: The place of a step, the way to one of its targets, that target before, and its kept secrets.
_Kept = tuple[int, tuple[str, ...], Mapping[str, Any], list[Place]]


def _with_secrets(
    body: Mapping[str, Any], stored: Definition | None
) -> tuple[Mapping[str, Any], list[_Kept]]:
    """Return the body with each mask replaced by the secret of the step of the same key."""
    steps = body.get("steps")
    if stored is None or not isinstance(steps, list):
        return body, []
    before = {step["key"]: step for step in stored.target["steps"]}
    filled, kept = list(steps), list[_Kept]()
    for place, step in enumerate(steps):
        known = before.get(str(step.get("key"))) if isinstance(step, Mapping) else None
        redact = (known or {}).get("redact", ())
        for path in _PAYLOADS if redact else ():
            written = _at(filled[place], path)
            if written is not None:
                payload = restored(written, _at(known, path), redact)
                filled[place] = _with(filled[place], path, payload)
        for path in _CALLS if known else ():
            written, old = _at(filled[place], path), _at(known, path)
            if isinstance(written, Mapping) and old is not None:
                target, places = keep_masked(written, old)
                filled[place] = _with(filled[place], path, target)
                if places and target.get("kind", "webhook") == old["kind"]:
                    kept.append((place, path, old, places))
    return {**body, "steps": filled}, kept


def _at(value: Any, path: Iterable[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _with(value: Mapping[str, Any], path: tuple[str, ...], part: Any) -> dict[str, Any]:
    first, *rest = path
    inside = _with(value[first], tuple(rest), part) if rest else part
    return {**value, first: inside}
