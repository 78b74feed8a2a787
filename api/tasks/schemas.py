"""JSON Schemas of task definitions for the OpenAPI document; they describe and do not validate.

``tasks.validation`` validates; tests compare the two. Rules that a schema cannot express (a cron
expression, a forbidden address) are in the descriptions.
"""

from __future__ import annotations

from api.tasks.budget_schemas import BUDGET
from api.tasks.preview_schemas import IN_WORDS
from api.tasks.retry_schemas import RETRY
from api.tasks.schema_parts import (
    ANY,
    ID,
    INSTANT,
    INSTANT_OR_NULL,
    NULL,
    Schema,
    closed,
    merged_in,
    nullable,
    number,
    with_defaults,
    words,
)
from api.tasks.target_schemas import TARGET, TARGET_ANSWER, TARGET_EDIT, URL, WEBHOOK_OPTIONS
from api.tasks.timing_target_schemas import TARGETS
from tasks import choices
from tasks.choices import TaskStatus, TaskType
from tasks.definition import RECURRING_SCHEDULE_DEFAULTS
from tasks.limits import (
    CALENDARS,
    DEPENDENCIES,
    LABEL_KEY_LENGTH,
    LABEL_VALUE_LENGTH,
    LABELS,
    NAME_LENGTH,
    OWNER_LENGTH,
    PATH_LENGTH,
    REDACTED_PATHS,
    TEN_YEARS_SECONDS,
    URL_LENGTH,
)
from tasks.preview import DEFAULT_COUNT, MAX_COUNT

#: The types of plain tasks: only a workflow runs when asked and never else.
_TYPES = tuple(dict.fromkeys(str(kind.value) for kind in choices.TIMING_FIELDS.values()))

# --- schedule ------------------------------------------------------------------------------

_WHEN: Schema = {
    "run_at": INSTANT | {"description": "When to run; at most a day past, then at once."},
    "delay_seconds": number(0, TEN_YEARS_SECONDS)
    | {"description": "Run this long after the call; answered as run_at."},
    "cron_expression": {
        "type": "string",
        "minLength": 1,
        "maxLength": 500,
        "examples": ["0 8 * * *"],
        "description": "Five fields, six with seconds first, or a word like @daily.",
    },
    "every": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "examples": ["PT5M"],
        "description": "An ISO 8601 duration from PT1S, without months and years.",
    },
}
COMMON_SCHEDULE: Schema = with_defaults(
    {
        "timezone": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "examples": ["Europe/Berlin"],
            "description": "An IANA time zone.",
        },
        "jitter_seconds": number(0, 86_400),
        "misfire_policy": words(*choices.MISFIRE_POLICIES),
        "misfire_grace_seconds": number(0, TEN_YEARS_SECONDS) | {"type": ["number", "null"]},
        "overlap_policy": words(*choices.OVERLAP_POLICIES),
        "max_concurrent": {"type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000},
        "calendars": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": NAME_LENGTH},
            "uniqueItems": True,
            "maxItems": CALENDARS,
            "description": "Names of the tenant's calendars; an instant that any of them excludes "
            "does not run at that time.",
        },
        "calendar_policy": words(*choices.CALENDAR_POLICIES)
        | {
            "description": "An excluded instant is skipped, or moved to the same local time of "
            "the next or previous day that is a working day and not excluded. Only 'skip' with "
            "`every`, or with more than 96 instants a day."
        },
    },
    RECURRING_SCHEDULE_DEFAULTS,
)
_RECURRING: Schema = with_defaults(
    {
        "dst_gap": words(*choices.DST_GAP),
        "dst_overlap": words(*choices.DST_OVERLAP),
        "start_at": INSTANT_OR_NULL,
        "end_at": INSTANT_OR_NULL,
        "max_occurrences": {"type": ["integer", "null"], "minimum": 1, "maximum": 10**9},
        "misfire_coalesce": words(*choices.MISFIRE_COALESCE),
        "misfire_replay_limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 10**9},
        "misfire_replay_per_second": number(0.001, 1000),
        "working_day": {
            "type": ["integer", "null"],
            "minimum": -31,
            "maximum": 31,
            "not": {"const": 0},
            "description": "Only with cron_expression, whose day fields are then `*`: on this "
            "working day of the month, counted from 1, or backwards from -1.",
        },
    },
    RECURRING_SCHEDULE_DEFAULTS,
)
_SHORT_NAMES: Schema = {"start_date": INSTANT_OR_NULL, "end_date": INSTANT_OR_NULL}
#: A one-time task takes a recurring one's fields only with their default values.
_RECURRING_UNUSED: Schema = {
    key: {"enum": [RECURRING_SCHEDULE_DEFAULTS[key]]} for key in _RECURRING
}


def _timing(key: str) -> Schema:
    """Return the properties of a schedule that this field defines."""
    recurring = choices.TIMING_FIELDS[key] == TaskType.RECURRING
    unused: Schema = {other: NULL for other in _WHEN if other != key}
    return (
        {key: _WHEN[key]}
        | unused
        | (_RECURRING if recurring else _RECURRING_UNUSED)
        | COMMON_SCHEDULE
    )


def schedules(task_type: str) -> Schema:
    """Return the schedules of the type, one for each field that says when."""
    keys = [key for key, kind in choices.TIMING_FIELDS.items() if kind == task_type]
    return {"anyOf": [closed(_timing(key), key) for key in keys]}


# --- the other parts -----------------------------------------------------------------------

CONCURRENCY: Schema = closed(
    {
        "key": {"type": "string", "minLength": 1, "maxLength": choices.CONCURRENCY_KEY_LENGTH},
        "max": {
            "type": "integer",
            "minimum": 1,
            "maximum": choices.MOST_OF_A_KEY,
            "default": 1,
            "description": "How many of the key may run when one of this task starts; 1 in order.",
        },
        "order": words(*choices.CONCURRENCY_ORDERS)
        | {
            "default": choices.CONCURRENCY_ORDERS[0],
            "description": "`fifo`: one at a time in order of due time; the next starts when the "
            "one before has ended for good, its retries included. `any`: a failed attempt gives "
            "its place back until the next attempt.",
        },
    },
    "key",
) | {
    "type": ["object", "null"],
    "description": "The key that the tenant's tasks share whose executions are not to run beside "
    "each other.",
}
COMMON_PARTS: Schema = {
    "name": {"type": "string", "minLength": 1, "maxLength": NAME_LENGTH},
    "priority": {"type": "integer", "minimum": 0, "maximum": 9, "default": 5},
    "retry_policy": closed(RETRY),
    "labels": {
        "type": "object",
        "maxProperties": LABELS,
        "propertyNames": {"minLength": 1, "maxLength": LABEL_KEY_LENGTH},
        "additionalProperties": {"type": "string", "maxLength": LABEL_VALUE_LENGTH},
    },
    "depends_on": {
        "type": "array",
        "items": ID,
        "uniqueItems": True,
        "maxItems": DEPENDENCIES,
        "description": "Ids of one-time tasks that must have succeeded before this one-time task "
        "starts.",
    },
    "on_dependency_failure": words(*choices.ON_DEPENDENCY_FAILURE)
    | {
        "default": choices.ON_DEPENDENCY_FAILURE[0],
        "description": "What becomes of the task at its time when one of `depends_on` has ended "
        "without success: it is skipped, it fails, or it waits for a retry of that task.",
    },
    "payload_ref": {
        "type": ["string", "null"],
        "minLength": 1,
        "maxLength": URL_LENGTH,
        "description": "A URL or the key of an object that the receiver gets in place of a "
        'payload, as `{"payload_ref": "..."}`; not with a payload.',
    },
    "concurrency": CONCURRENCY,
    "owner": {
        "type": ["string", "null"],
        "minLength": 1,
        "maxLength": OWNER_LENGTH,
        "description": "An e-mail address, or the name of an API key of the tenant.",
    },
    "redact": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": PATH_LENGTH},
        "maxItems": REDACTED_PATHS,
        "description": "JSON paths of fields of payload and answers that are masked wherever they "
        "are shown, such as `$.card.number`.",
    },
    "budget": BUDGET,
    "targets": TARGETS,
}
#: A task that runs once has no budget.
_HAS_NO_BUDGET: Schema = {"budget": {"type": "array", "maxItems": 0}}
#: A recurring task waits for no other.
_WAITS_FOR_NONE: Schema = {"depends_on": {"type": "array", "items": ID, "maxItems": 0}}
_SHORT_PAYLOAD: Schema = closed({"webhook_url": URL, **WEBHOOK_OPTIONS, "body": ANY}, "webhook_url")


# --- whole bodies --------------------------------------------------------------------------


def _common_parts(task_type: str) -> Schema:
    recurring = task_type == TaskType.RECURRING
    return COMMON_PARTS | (_WAITS_FOR_NONE if recurring else _HAS_NO_BUDGET)


def _long(task_type: str) -> Schema:
    parts = {
        "type": words(task_type),
        "schedule": schedules(task_type),
        "target": TARGET,
        "payload": ANY,
    }
    return closed(_common_parts(task_type) | parts, "schedule", "target")


def _short(key: str) -> Schema:
    task_type = str(choices.TIMING_FIELDS[key].value)
    names = _SHORT_NAMES if task_type == TaskType.RECURRING else {}
    parts = {"type": words(task_type), "payload": _SHORT_PAYLOAD}
    return closed(_common_parts(task_type) | parts | _timing(key) | names, key, "payload")


TASK_CREATE: Schema = {
    "description": "A task in the long form (schedule, target) or the short form.",
    "anyOf": [*(_long(str(kind)) for kind in _TYPES), *(_short(key) for key in _WHEN)],
}
_SCHEDULE_EDIT: Schema = _WHEN | _RECURRING | COMMON_SCHEDULE
_TOP_EDIT: Schema = {
    **nullable(COMMON_PARTS | _SCHEDULE_EDIT | _SHORT_NAMES),
    "type": words(*_TYPES),
    "status": words(TaskStatus.PAUSED.value, TaskStatus.SCHEDULED.value),
    "schedule": merged_in(closed(_SCHEDULE_EDIT)),
    "target": TARGET_EDIT,
    "retry_policy": merged_in(closed(RETRY)),
    "payload": ANY,
    "labels": {
        "type": ["object", "null"],
        "additionalProperties": {"type": ["string", "null"]},
    },
}
TASK_EDIT: Schema = closed(_TOP_EDIT) | {
    "description": "Merged into the task (RFC 7396): null removes; fields of one form only."
}
TASK_CLONE: Schema = closed({key: part for key, part in _TOP_EDIT.items() if key != "status"}) | {
    "description": "Merged into the copy (RFC 7396); without a name it is that of the source with "
    "' (copy)' behind."
}

_LAST_EXECUTION: Schema = {
    **closed({"id": ID, "status": {"type": "string"}, "at": INSTANT_OR_NULL}, "id", "status", "at"),
    "type": ["object", "null"],
}
_PAUSED_BY: Schema = {
    **closed(
        {
            "id": ID,
            "scope": words(*choices.PauseScope.values, choices.SUSPENSION),
            "value": {"type": "string"},
            "note": {"type": "string"},
            "until": INSTANT_OR_NULL,
        },
        "id",
        "scope",
        "value",
        "note",
        "until",
    ),
    "type": ["object", "null"],
    "description": "The standing pause that holds the task.",
}
PLACE: Schema = {
    "id": ID,
    "status": words(*TaskStatus.values),
    "version": {"type": "integer", "minimum": 1},
    "next_execution": INSTANT_OR_NULL,
    "next_execution_local": INSTANT_OR_NULL,
    "next_execution_due_at": INSTANT_OR_NULL
    | {"description": "When the next execution starts: its time, and the task's share of jitter."},
    "schedule_text": {"type": "string"},
    "last_execution": _LAST_EXECUTION,
    "created_at": INSTANT,
    "updated_at": INSTANT,
    "paused_until": INSTANT_OR_NULL,
    "pause_note": {"type": "string"},
    "paused_by": _PAUSED_BY,
}
_ANSWERED: Schema = {
    **COMMON_PARTS,
    "type": words(*TaskType.values),
    "schedule": {
        "anyOf": [*(schedules(str(kind)) for kind in _TYPES), closed(COMMON_SCHEDULE)],
        "description": "That of a MANUAL workflow has no time.",
    },
    "target": TARGET_ANSWER,
    "payload": ANY,
    "retry_policy": closed(RETRY, *(key for key in RETRY if key != "delays_seconds")),
    **PLACE,
}
MISSING: Schema = {
    "type": "string",
    "description": "Only where a sealed value cannot be opened: why.",
}
#: Answers have these only where the task has them.
_OPTIONAL = ("on_dependency_failure", "budget", "redact", "concurrency", "targets")
TASK: Schema = closed(
    _ANSWERED | {"missing": MISSING}, *(key for key in _ANSWERED if key not in _OPTIONAL)
) | {
    "description": "A task: its definition in the long form and its state.",
    # Single views and bulk answers add fields of their own.
    "additionalProperties": True,
}

_RANGE: Schema = {
    "type": words(*_TYPES),
    "from": INSTANT | {"description": "Instants strictly after it; now unless given."},
    "count": {"type": "integer", "minimum": 1, "maximum": MAX_COUNT, "default": DEFAULT_COUNT},
}
PREVIEW_REQUEST: Schema = {
    "anyOf": [
        *(
            closed(
                _RANGE | {"type": words(str(kind)), "schedule": schedules(str(kind))}, "schedule"
            )
            for kind in _TYPES
        ),
        *(
            closed(
                _RANGE | _timing(key) | {"type": words(str(choices.TIMING_FIELDS[key].value))}, key
            )
            for key in _WHEN
        ),
        closed(_RANGE | _RECURRING | COMMON_SCHEDULE | {"words": IN_WORDS}, "words"),
    ]
}
_MOVE: Schema = {
    "id": ID,
    "task_id": ID,
    "task_name": {"type": "string"},
    "timezone": {"type": "string"},
    "from_release": {"type": "string", "examples": ["2026.6"]},
    "to_release": {"type": "string"},
    "before": INSTANT_OR_NULL | {"description": "The first instant that the move removes."},
    "after": INSTANT_OR_NULL | {"description": "The first instant that the move adds."},
    "moved_count": {
        "type": "integer",
        "minimum": 0,
        "description": "How many instants of a year moved; of many, the first 50,000 are compared.",
    },
    "noticed_at": INSTANT,
}
ZONE_MOVE: Schema = closed(_MOVE, *_MOVE)
