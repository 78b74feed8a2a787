"""Validation of a workflow's steps: each by its kind, and all together as a graph.

The body is JSON that ``payloads.require_object`` has taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shared.json_pointer import child
from tasks.choices import COMPENSATED_ENDS, STEP_CONDITIONS, STEP_KINDS
from tasks.definition import TARGET_DEFAULTS_BY_KIND
from tasks.field_reader import Errors, FieldReader, called_in_json, spell, suggest
from tasks.limits import (
    FAN_OUT_ITEMS,
    MOST_PARALLEL_ITEMS,
    NAME_LENGTH,
    PARALLEL_ITEMS,
    RUNTIME_SECONDS,
    STEP_DEPENDENCIES,
    STEP_KEY_LENGTH,
    STEPS,
    Limits,
)
from tasks.payloads import check_payload
from tasks.repeats import Repeats
from tasks.validation import deadlines
from tasks.validation.deadlines import read_deadline
from tasks.validation.dependencies import is_task_id
from tasks.validation.redaction import read_redact, refuse_masks
from tasks.validation.retry import read_retry_policy
from tasks.validation.step_templates import Names, read_templated_target
from tasks.validation.webhook import check_payload_fits
from tasks.workflow.expressions import LONGEST, ExpressionInvalid, parse_expression
from tasks.workflow.graph import Cycle, Graph, Step
from tasks.workflow.references import is_alone

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
COMMON_FIELDS = ("key", "kind", "depends_on", "condition", "when", *deadlines.FIELDS)
_FANNED = ("for_each", "max_parallel", "min_success_share", "sensitive")
#: Kind -> its fields besides the common ones.
FIELDS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "target": (
        "target",
        "payload",
        "retry_policy",
        "timeout_seconds",
        "priority",
        "pool",
        "compensate",
        "redact",
        *_FANNED,
    ),
    "workflow": ("workflow_id", "input", *_FANNED),
    "delay": ("delay_seconds",),
    "wait_for_event": (
        "event",
        "correlation",
        "timeout_seconds",
        "accept_earlier_seconds",
        "sensitive",
    ),
    "approval": ("timeout_seconds",),
}
_LOWEST_PRIORITY = 9
_NEEDS_AN_END = ("one_failed", "any_success")
#: Fields of a target that a step may give in its place.
_OF_TARGET = ("timeout_seconds", "pool")
_SHOWN_OF_A_CYCLE = 10


def read_steps(reader: FieldReader, limits: Limits) -> list[dict[str, Any]]:
    """Return the steps in normal form, every field of their kind present; note what is wrong."""
    reader.require("steps", "Give the steps of the workflow.")
    given = reader.sequence("steps", [])
    if not reader.errors.below(child(reader.pointer, "steps")) and not 1 <= len(given) <= STEPS:
        reader.error("steps", "out_of_range", f"Give 1 to {STEPS} steps.")
        return []
    repeats = Repeats()
    steps = [_step(reader, place, step, limits, repeats) for place, step in enumerate(given)]
    errors = reader.errors
    # With as many errors as are kept, one of a step may have been dropped.
    if steps and not errors.full and not errors.below(child(reader.pointer, "steps")):
        _check_together(steps, child(reader.pointer, "steps"), reader.errors)
    return steps


def graph_of(steps: Sequence[Mapping[str, Any]], numbers: Mapping[str, int]) -> Graph:
    """Return the graph of steps in normal form; ``numbers`` has each key. Raise Cycle."""
    return Graph(
        Step(
            numbers[step["key"]],
            step["key"],
            tuple(numbers[key] for key in step["depends_on"]),
            step["condition"],
        )
        for step in steps
    )


def _step(
    reader: FieldReader, place: int, step: Any, limits: Limits, repeats: Repeats
) -> dict[str, Any]:
    at = f"{child(reader.pointer, 'steps')}/{place}"
    if not isinstance(step, Mapping):
        reader.errors.add(at, "invalid_type", f"Must be an object, not {called_in_json(step)}.")
        return {}
    inside = FieldReader(step, at, reader.errors)
    kind = inside.choice("kind", STEP_KINDS, "target")
    common = {
        "key": _key(inside),
        "kind": kind,
        "depends_on": _depends_on(inside),
        "condition": inside.choice("condition", STEP_CONDITIONS, STEP_CONDITIONS[0]),
        "when": _when(inside),
        **read_deadline(inside, limits),
    }
    if not common["depends_on"] and common["condition"] in _NEEDS_AN_END:
        message = "Without depends_on nothing can fulfil it."
        inside.error("condition", "not_applicable", message)
    if step.get("kind", kind) != kind:
        # Of an unknown kind, no field can be called wrong.
        return common
    inside.refuse_unknown((*COMMON_FIELDS, *FIELDS_BY_KIND[kind]), elsewhere=_kinds_with)
    return common | _READERS[kind](inside, limits, repeats)


def _kinds_with(key: str) -> str:
    having = [kind for kind, fields in FIELDS_BY_KIND.items() if key in fields]
    return (
        f" Steps of kind {spell([repr(kind) for kind in having], 'and')} have it." if having else ""
    )


def _key(step: FieldReader) -> str:
    step.require("key", "Give the step a key, which others name in depends_on.")
    key: str = step.text("key", "", longest=STEP_KEY_LENGTH)
    if key and not _KEY.fullmatch(key):
        message = "A key has letters, digits, '_' and '-', and begins with a letter or '_'."
        step.error("key", "invalid", message)
    return key


def _when(step: FieldReader) -> str | None:
    text: str | None = step.text("when", None, longest=LONGEST, nullable=True)
    if text is not None:
        try:
            parse_expression(text)
        except ExpressionInvalid as wrong:
            step.error("when", "expression_invalid", f"This is not an expression: {wrong}.")
            return None
    return text


def _depends_on(step: FieldReader) -> list[str]:
    given = step.sequence("depends_on", [])
    if len(given) > STEP_DEPENDENCIES:
        step.error("depends_on", "too_many", f"Give at most {STEP_DEPENDENCIES} keys.")
        return []
    keys: list[str] = []
    for place, key in enumerate(given):
        at = f"{child(step.pointer, 'depends_on')}/{place}"
        if not isinstance(key, str):
            step.errors.add(at, "invalid_type", f"Must be a key, not {called_in_json(key)}.")
        elif key in keys:
            step.errors.add(at, "not_unique", "Name each step once.")
        else:
            keys.append(key)
    return keys


def _target(step: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    target = _called(step, "Say what the step calls.", limits, repeats, own=_OF_TARGET)
    policy = step.part("retry_policy")
    if step.given("compensate") and step.given("for_each"):
        message = "A fan-out is not undone as one: let its items be workflows that compensate."
        step.error("compensate", "not_applicable", message)
    return {
        "target": target,
        "payload": _sent(step, target, limits),
        "retry_policy": read_retry_policy(policy) if policy else None,
        "priority": step.integer("priority", None, 0, _LOWEST_PRIORITY, nullable=True),
        "compensate": _compensate(step, limits, repeats),
        **_fan_out(step, limits),
        **_redact(step),
    }


def _redact(step: FieldReader) -> dict[str, Any]:
    """Return the paths that are masked of the payload, the answers and the output."""
    paths = read_redact(step)
    for part in (step.data, step.data.get("compensate")):
        if isinstance(part, Mapping):
            refuse_masks(part.get("payload"), paths, child(step.pointer, "payload"), step.errors)
    return {"redact": paths} if paths else {}


def _called(
    step: FieldReader, hint: str, limits: Limits, repeats: Repeats, own: Sequence[str] = ()
) -> dict[str, Any] | None:
    """Return the target in normal form, with those of its fields that the step gives itself."""
    if not step.given("target"):
        step.error("target", "required", hint)
        return None
    target = step.part("target")
    if target is None:
        return None
    given = [key for key in own if step.given(key)]
    known = TARGET_DEFAULTS_BY_KIND.get(str(target.data.get("kind", "webhook")))
    for key in given:
        if key in target.data:
            step.error(key, "exclusive", f"The target gives {key} already.")
        elif known and key not in known:
            message = f"A target of kind {known['kind']!r} has no {key}."
            step.error(key, "not_applicable", message)
        else:
            target = FieldReader(
                {**target.data, key: step.data[key]}, target.pointer, target.errors
            )
    return read_templated_target(target, limits, repeats)


def _workflow(step: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    step.require("workflow_id", "Give the id of the workflow to run.")
    workflow_id: str = step.text("workflow_id", "", longest=NAME_LENGTH)
    if workflow_id and not is_task_id(workflow_id):
        step.error("workflow_id", "invalid", "Must be the id of a workflow.")
    return {
        "workflow_id": workflow_id.lower(),
        "input": _payload(step, "input", limits),
        **_fan_out(step, limits),
    }


def _delay(step: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    step.require("delay_seconds", "Say for how many seconds.")
    return {"delay_seconds": step.number("delay_seconds", 0, 0, limits.run_seconds)}


def _wait_for_event(step: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    step.require("event", "Give the name of the signal that ends the wait.")
    return {
        "event": step.text("event", "", longest=NAME_LENGTH),
        "correlation": step.text("correlation", None, longest=NAME_LENGTH, nullable=True),
        "timeout_seconds": _timeout(step, limits),
        "accept_earlier_seconds": step.number("accept_earlier_seconds", 0, 0, RUNTIME_SECONDS),
        "sensitive": step.boolean("sensitive", False),
    }


def _approval(step: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    return {"timeout_seconds": _timeout(step, limits)}


def _timeout(step: FieldReader, limits: Limits) -> Any:
    return step.number("timeout_seconds", None, 1, limits.run_seconds, nullable=True)


_READERS: Mapping[str, Callable[[FieldReader, Limits, Repeats], dict[str, Any]]] = {
    "target": _target,
    "workflow": _workflow,
    "delay": _delay,
    "wait_for_event": _wait_for_event,
    "approval": _approval,
}


def _payload(step: FieldReader, key: str, limits: Limits) -> Any:
    payload = step.data.get(key)
    check_payload(payload, child(step.pointer, key), step.errors, limit=limits.payload_bytes)
    return payload


def _sent(step: FieldReader, target: Mapping[str, Any] | None, limits: Limits) -> Any:
    payload = _payload(step, "payload", limits)
    if target and target["kind"] == "webhook":
        check_payload_fits(target, payload, step.errors, child(step.pointer, "payload"))
    return payload


def _compensate(step: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any] | None:
    part = step.part("compensate")
    if part is None:
        return None
    part.refuse_unknown(("target", "payload", "on"))
    target = _called(part, "Say what undoes the step.", limits, repeats)
    ends = part.sequence("on", ["SUCCEEDED"])
    if not 1 <= len(ends) <= len(COMPENSATED_ENDS):
        part.error("on", "out_of_range", f"Give 1 to {len(COMPENSATED_ENDS)} ends.")
    else:
        for place, end in enumerate(ends):
            if end not in COMPENSATED_ENDS:
                message = f"Use {spell(COMPENSATED_ENDS)}.{suggest(str(end), COMPENSATED_ENDS)}"
                part.errors.add(f"{child(part.pointer, 'on')}/{place}", "invalid_choice", message)
    return {
        "target": target,
        "payload": _sent(part, target, limits),
        "on": list(dict.fromkeys(end for end in ends if isinstance(end, str))),
    }


def _fan_out(step: FieldReader, limits: Limits) -> dict[str, Any]:
    fans_out = step.given("for_each")
    parallel = step.integer("max_parallel", None, 1, MOST_PARALLEL_ITEMS, nullable=True)
    share = step.number("min_success_share", 1, 0, 1)
    for key, unused in (("max_parallel", parallel is None), ("min_success_share", share == 1)):
        if not fans_out and not unused:
            step.error(key, "not_applicable", "Only a step with for_each has items.")
    return {
        "for_each": _for_each(step, limits) if fans_out else None,
        "max_parallel": (parallel or PARALLEL_ITEMS) if fans_out else None,
        "min_success_share": share,
        "sensitive": step.boolean("sensitive", False),
    }


def _for_each(step: FieldReader, limits: Limits) -> Any:
    items = step.data["for_each"]
    if isinstance(items, list):
        if len(items) > FAN_OUT_ITEMS:
            step.error("for_each", "too_many", f"Give at most {FAN_OUT_ITEMS} items.")
        return _payload(step, "for_each", limits)
    if not isinstance(items, str) or not is_alone(items):
        message = "Must be a list, or one template such as {{ steps.load.output.files }}."
        step.error("for_each", "invalid_type", message)
    return items


def _check_together(steps: list[dict[str, Any]], pointer: str, errors: Errors) -> None:
    """Note what only all steps together show: keys, cycles, and names of steps not before."""
    keys = [step["key"] for step in steps]
    numbers = {key: place for place, key in reversed(list(enumerate(keys, start=1)))}
    for place, step in enumerate(steps):
        first = numbers[step["key"]] - 1
        if first != place:
            message = f"{pointer}/{first} has this key already; choose another."
            errors.add(f"{pointer}/{place}/key", "not_unique", message)
        for number, key in enumerate(step["depends_on"]):
            if errors.full:
                return
            if key not in numbers:
                message = f"There is no step {key[:STEP_KEY_LENGTH]!r}.{suggest(key, keys)}"
                errors.add(f"{pointer}/{place}/depends_on/{number}", "step_unknown", message)
    if errors.below(pointer):
        return
    try:
        graph = graph_of(steps, numbers)
    except Cycle as cycle:
        place = numbers[cycle.path[0]] - 1
        message = f"The steps wait for each other: {_shortened(cycle.path)}."
        at = f"{pointer}/{place}/depends_on"
        errors.add(at, "workflow_cycle", message, path=tuple(cycle.path))
        return
    names = Names(graph, numbers, errors)
    for place, step in enumerate(steps):
        if errors.full:
            return
        names.check(step, f"{pointer}/{place}")


def _shortened(path: Sequence[str]) -> str:
    if len(path) > _SHOWN_OF_A_CYCLE:
        hidden = len(path) - _SHOWN_OF_A_CYCLE
        path = [*path[: _SHOWN_OF_A_CYCLE - 1], f"({hidden} more)", path[-1]]
    return " → ".join(path)
