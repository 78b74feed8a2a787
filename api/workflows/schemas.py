"""JSON Schemas of workflows for the OpenAPI document; they describe and do not validate.

``tasks.validation.workflow`` validates; tests compare the two.
"""

from __future__ import annotations

from api.tasks.budget_schemas import BUDGET_USE
from api.tasks.retry_schemas import RETRY
from api.tasks.schema_parts import (
    ANY,
    ID,
    Schema,
    as_seen,
    closed,
    integer,
    number,
    or_null,
    text,
    words,
)
from api.tasks.schemas import COMMON_PARTS, COMMON_SCHEDULE, MISSING, PLACE, schedules
from api.tasks.target_schemas import TARGET, TARGET_ANSWER, WORKFLOW_OPTIONS
from tasks import choices
from tasks.choices import TaskStatus
from tasks.limits import (
    FAN_OUT_ITEMS,
    MOST_PARALLEL_ITEMS,
    NAME_LENGTH,
    PARALLEL_ITEMS,
    POOL_NAME_LENGTH,
    RUNTIME_SECONDS,
    STEP_DEPENDENCIES,
    STEP_KEY_LENGTH,
    STEPS,
)
from tasks.masking import SEEN_OF_STEP
from tasks.workflow.expressions import LONGEST

# --- steps ---------------------------------------------------------------------------------

_KEY: Schema = text(STEP_KEY_LENGTH) | {"pattern": "^[A-Za-z_][A-Za-z0-9_-]*$"}
_TIME_OUT: Schema = or_null(number(1, RUNTIME_SECONDS))
_DEADLINE: Schema = {key: WORKFLOW_OPTIONS[key] for key in WORKFLOW_OPTIONS if "deadline" in key}
_COMMON: Schema = {
    "key": _KEY,
    "depends_on": {
        "type": "array",
        "items": _KEY,
        "uniqueItems": True,
        "maxItems": STEP_DEPENDENCIES,
        "description": "Keys of the steps that it waits for.",
    },
    "condition": words(*choices.STEP_CONDITIONS)
    | {"default": choices.STEP_CONDITIONS[0], "description": "By which ends of these it starts."},
    "when": or_null(
        text(
            LONGEST,
            "An expression over input, outputs and states; where it does not hold, the "
            "step is skipped.",
        )
        | {"examples": ["steps.load.output.failed == 0"]}
    ),
    **_DEADLINE,
}
_FANNED: Schema = {
    "for_each": {
        "anyOf": [
            {"type": "array", "maxItems": FAN_OUT_ITEMS},
            {"type": "string", "examples": ["{{ steps.list.output.files }}"]},
            {"type": "null"},
        ],
        "description": "Runs the step once for each item: a list, or one template that gives one.",
    },
    "max_parallel": or_null(integer(1, MOST_PARALLEL_ITEMS))
    | {"description": f"Items that run at one time; {PARALLEL_ITEMS} unless given."},
    "min_success_share": number(0, 1) | {"default": 1},
    "sensitive": {
        "type": "boolean",
        "default": False,
        "description": "Keeps the output out of every answer.",
    },
}
_EVENT: Schema = {
    "event": text(NAME_LENGTH, "The name of the signal that ends the wait."),
    "correlation": or_null(text(NAME_LENGTH) | {"minLength": 0}),
    "timeout_seconds": _TIME_OUT,
    "accept_earlier_seconds": number(0, RUNTIME_SECONDS) | {"default": 0},
    "sensitive": _FANNED["sensitive"],
}


def _called(target: Schema) -> Schema:
    """Return the fields of a step that calls something."""
    undone = {
        "target": target,
        "payload": ANY,
        "on": {
            "type": "array",
            "items": words(*choices.COMPENSATED_ENDS),
            "minItems": 1,
            "maxItems": len(choices.COMPENSATED_ENDS),
            "default": ["SUCCEEDED"],
        },
    }
    return {
        "target": target,
        "payload": ANY,
        "retry_policy": {"anyOf": [closed(RETRY), {"type": "null"}]},
        "priority": or_null(integer(0, 9)),
        "compensate": {"anyOf": [closed(undone, "target"), {"type": "null"}]},
        "redact": COMMON_PARTS["redact"],
        **_FANNED,
    }


#: Fields of the target that a step may give in its place.
_IN_PLACE: Schema = {
    "timeout_seconds": number(0.1, 86_400),
    "pool": text(POOL_NAME_LENGTH),
}
#: Kind of a step -> its fields besides the common ones, and those that it needs.
_KINDS: dict[str, tuple[Schema, tuple[str, ...]]] = {
    "target": ({**_called(TARGET), **_IN_PLACE}, ("target",)),
    "workflow": ({"workflow_id": ID, "input": ANY, **_FANNED}, ("workflow_id",)),
    "delay": ({"delay_seconds": number(0, RUNTIME_SECONDS)}, ("delay_seconds",)),
    "wait_for_event": (_EVENT, ("event",)),
    "approval": ({"timeout_seconds": _TIME_OUT}, ()),
}


def _kind(name: str, *, implied: bool) -> Schema:
    fields, needed = _KINDS[name]
    kind = {"kind": words(name) | ({"default": name} if implied else {})}
    return closed({**_COMMON, **kind, **fields}, "key", *needed, *(() if implied else ("kind",)))


#: The target says itself what of it is hidden.
_SEEN = SEEN_OF_STEP | {"target"}


def _answered(name: str) -> Schema:
    fields = _called(TARGET_ANSWER) if name == "target" else _KINDS[name][0]
    shown: Schema = {**_COMMON, "kind": words(name), **fields}
    return closed(as_seen(shown, _SEEN), *(key for key in shown if key != "redact"))


STEP: Schema = {"anyOf": [_kind(name, implied=name == "target") for name in _KINDS]}
STEP_ANSWER: Schema = {"anyOf": [_answered(name) for name in _KINDS]}

# --- whole bodies --------------------------------------------------------------------------

_WITH_TIME: Schema = {
    "anyOf": [part for kind in ("RECURRING", "ONE_TIME") for part in schedules(kind)["anyOf"]]
}
_OPTIONS: Schema = {
    **WORKFLOW_OPTIONS,
    "max_concurrent": or_null(integer(1, 1_000_000))
    | {"description": "Runs at one time; here or inside schedule."},
    "labels": COMMON_PARTS["labels"],
    "priority": COMMON_PARTS["priority"],
    "owner": COMMON_PARTS["owner"],
    "redact": COMMON_PARTS["redact"],
    "budget": COMMON_PARTS["budget"],
    "concurrency": COMMON_PARTS["concurrency"],
    "targets": COMMON_PARTS["targets"],
}
_NAME: Schema = {"name": text(NAME_LENGTH)}
_SCHEDULE: Schema = {"anyOf": [_WITH_TIME, {"type": "null"}]}


def _steps(step: Schema) -> Schema:
    return {"type": "array", "items": step, "minItems": 1, "maxItems": STEPS}


WORKFLOW_CREATE: Schema = closed(
    {**_NAME, "steps": _steps(STEP), "schedule": _SCHEDULE | {"default": None}, **_OPTIONS},
    "name",
    "steps",
) | {"description": "A graph of steps, which runs by its schedule and when asked."}
#: A schedule merges: any part of one, or null for none.
_SCHEDULE_EDIT: Schema = {
    "type": ["object", "null"],
    "properties": COMMON_SCHEDULE,
    "description": "Merged into the schedule; null removes it.",
}
WORKFLOW_EDIT: Schema = closed(
    {
        **_NAME,
        "steps": _steps(STEP),
        "schedule": _SCHEDULE_EDIT,
        **{key: {"anyOf": [part, {"type": "null"}]} for key, part in _OPTIONS.items()},
        "labels": {
            "type": ["object", "null"],
            "additionalProperties": {"type": ["string", "null"]},
        },
        "status": words(TaskStatus.PAUSED.value, TaskStatus.SCHEDULED.value),
    }
) | {"description": "Merged into the workflow (RFC 7396): `steps` is replaced whole."}
_SHOWN: Schema = {
    "id": ID,
    **_NAME,
    # A definition that no key opens has none.
    "steps": {"type": "array", "items": STEP_ANSWER, "maxItems": STEPS},
    "schedule": _SCHEDULE,
    **as_seen(_OPTIONS, _OPTIONS.keys() - {"input_schema"}),
    **PLACE,
}
WORKFLOW: Schema = closed(
    {**_SHOWN, "missing": MISSING, "budget_use": BUDGET_USE},
    *(key for key in _SHOWN if key not in ("redact", "targets")),
) | {"description": "A workflow: its definition and its state."}
WORKFLOW_REVISION: Schema = closed(
    {
        "version": integer(1, 2**31 - 1),
        "changed_by": {"type": "string"},
        "created_at": PLACE["created_at"],
        "definition": {"type": "object", "description": "As the workflow's own call shows it."},
    },
    "version",
    "changed_by",
    "created_at",
    "definition",
)
