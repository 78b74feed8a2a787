"""The fields that the list shows of a workflow and of a step: by its kind, in parts that unfold.

Rules are those of validation; a definition may have more than is shown here, and keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dashboard.task_form.choices import CHOICES
from tasks.choices import COMPENSATED_ENDS, METHODS, TARGET_KINDS, TIMING_FIELDS
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS_BY_KIND

Path = tuple[str, ...]
Options = Sequence[tuple[str, str]]

#: Names that are places of a choice, and no fields: what a step is, when a workflow runs, and what
#: undoes a step.
KIND, TIMING, UNDONE_BY = ("@kind",), ("schedule", "@timing"), ("compensate", "@kind")
#: The limit of runs at one time; a schedule may give it in place of the workflow.
LIMIT = "max_concurrent"
_BUDGET_HINT = 'Runs beyond it are skipped, like [{"unit": "runs", "limit": 10, "per": "day"}].'
#: Fields of a target that a step may give in its place.
OF_TARGET = ("timeout_seconds", "pool")
_KINDS: Mapping[str, str] = {
    "webhook": "Webhook",
    "pool": "Workers of a pool",
    "handler": "Python handler",
    "command": "Command",
    "workflow": "Sub-workflow",
    "delay": "Delay",
    "wait_for_event": "Wait for an event",
    "approval": "Approval",
}
_CONDITIONS: Options = (
    ("all_success", "all have succeeded"),
    ("all_done", "all have ended, in any way"),
    ("none_failed", "all have ended, none has failed"),
    ("one_failed", "one has failed"),
    ("any_success", "one has succeeded"),
)
_ON_FAILURE: Options = (
    ("fail_fast", "what is open is cancelled"),
    ("continue", "other branches continue"),
    ("compensate", "what has succeeded is undone"),
)
_TIMINGS: Options = (
    ("", "only when asked"),
    ("cron_expression", "by a cron expression"),
    ("every", "at an interval"),
    ("run_at", "once, at a time"),
    ("delay_seconds", "once, after a delay"),
)
_TRUTH: Options = (("no", "no"), ("yes", "yes"))
_MASKED = "JSON paths such as $.card.number, one per line."


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the list: where its value is, its label, and the widget that shows it."""

    path: Path
    label: str
    widget: str = "text"
    hint: str = ""
    options: Options = ()
    #: The word that a field without a value shows.
    default: str = ""
    place: str = ""
    #: Whether it has a row of its own.
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Fields that unfold together; those of the part without a title are always shown."""

    title: str
    fields: Sequence[Field]


def kind_of(step: Mapping[str, Any]) -> str:
    """Return the kind as the list names it: that of the target where the step calls one."""
    kind = step.get("kind", "target")
    return target_kind(step.get("target")) if kind == "target" else str(kind)[:80]


def target_kind(target: Any) -> str:
    """Return the kind of a target; a webhook where it gives none."""
    return str(target.get("kind", "webhook"))[:80] if isinstance(target, Mapping) else "webhook"


def kind_label(kind: str) -> str:
    """Return what the list calls a kind."""
    return _KINDS.get(kind, kind)


def timing_of(schedule: Any) -> str:
    """Return the field that says when the workflow runs; '' for none."""
    given = schedule if isinstance(schedule, Mapping) else {}
    return next((name for name in TIMING_FIELDS if name in given), "")


def workflow_parts(body: Mapping[str, Any]) -> list[Part]:
    """Return the fields of the workflow itself."""
    timing = timing_of(body.get("schedule"))
    main = [
        Field(("name",), "Name"),
        Field(TIMING, "It runs", "choice", options=_TIMINGS),
        *([_TIMING_FIELDS[timing]] if timing else []),
        *([_zone(("schedule", "timezone"))] if body.get("schedule") is not None else []),
        Field(
            ("on_failure",), "If a step fails", "choice", options=_ON_FAILURE, default="fail_fast"
        ),
    ]
    schedule = [
        _choice(
            ("schedule", "overlap_policy"), "While a run is under way", "overlap_policy", "allow"
        ),
        _choice(("schedule", "misfire_policy"), "A missed run", "misfire_policy", "coalesce"),
        Field(("schedule", "jitter_seconds"), "Jitter, in seconds", "number"),
        Field(("schedule", "calendars"), "Calendars", "lines", hint="One name per line."),
    ]
    if timing in ("cron_expression", "every"):
        schedule += [
            Field(("schedule", "start_at"), "Not before", place="2026-12-01T00:00:00Z"),
            Field(("schedule", "end_at"), "Not after"),
            Field(("schedule", "max_occurrences"), "Number of runs, at most", "number"),
        ]
    return [
        Part("", main),
        *([Part("More of the schedule", schedule)] if body.get("schedule") is not None else []),
        Part(
            "Limits, deadline and labels",
            [
                Field(_place_of_limit(body), "Runs at one time", "number"),
                *_deadline(),
                Field(("concurrency",), "Concurrency key", "json", hint='{"key": "...", "max": 1}'),
                _seconds(
                    ("targets", "start_within_seconds"), "Report a start later by, in seconds"
                ),
                _seconds(
                    ("targets", "max_duration_seconds"), "Report a run longer than, in seconds"
                ),
                Field(("priority",), "Priority", "number", hint="0 goes first, 9 last."),
                Field(("owner",), "Owner", hint="An e-mail address, or the name of an API key."),
                Field(("budget",), "Budget", "json", hint=_BUDGET_HINT),
                Field(("labels",), "Labels", "pairs", hint="One per line, key=value."),
                Field(("input_schema",), "Schema of the input", "json", hint="JSON Schema."),
                Field(("redact",), "Fields of the input that are never shown", "lines", _MASKED),
            ],
        ),
    ]


def _place_of_limit(body: Mapping[str, Any]) -> Path:
    """Return where the limit of runs is: of its two places, the schedule if only it has one."""
    schedule = body.get("schedule")
    inside = isinstance(schedule, Mapping) and schedule.get(LIMIT) is not None
    return ("schedule", LIMIT) if inside and body.get(LIMIT) is None else (LIMIT,)


def step_parts(step: Mapping[str, Any]) -> list[Part]:
    """Return the fields of a step, by its kind."""
    kind = kind_of(step)
    calls = kind in TARGET_KINDS
    main = [
        Field(("key",), "Key", hint="Other steps name it in “Waits for” and in templates."),
        Field(KIND, "Kind", "choice", options=_options(kind)),
        Field(("depends_on",), "Waits for", "keys"),
        Field(("condition",), "Starts when", "choice", options=_CONDITIONS, default="all_success"),
    ]
    own = (
        [_of_step(one, step) for one in _target(kind, ("target",))] if calls else _OWN.get(kind, [])
    )
    main += own[: _SHOWN_OF[kind]] if calls else own
    if calls:
        main.append(_payload(("payload",)))
    parts = [Part("", main)]
    if calls:
        parts.append(Part("More of the call", own[_SHOWN_OF[kind] :]))
        parts.append(Part("Retries", _retries(step)))
    parts.append(Part("Start, deadline and output", _start(kind)))
    if calls or kind == "workflow":
        parts.append(Part("Once for each item of a list", _FAN_OUT))
    if calls:
        parts.append(Part("How it is undone", _undone(step)))
    return parts


def _options(kind: str) -> Options:
    known = tuple(_KINDS.items())
    return known if kind in _KINDS else ((kind, kind), *known)


def _choice(path: Path, label: str, name: str, default: str) -> Field:
    return Field(path, label, "choice", options=CHOICES[name], default=default)


def _zone(path: Path) -> Field:
    return Field(path, "Time zone", place="UTC")


def _payload(path: Path) -> Field:
    hint = "JSON or YAML; templates such as {{ steps.load.output }} are filled in."
    return Field(path, "Payload", "json", hint=hint)


def _deadline() -> list[Field]:
    return [
        Field(("deadline_seconds",), "Deadline, in seconds from the start", "number"),
        Field(("deadline_at",), "Or a time of day", place="06:00"),
        Field(("deadline_timezone",), "In the time zone"),
    ]


def _seconds(path: Path, label: str, hint: str = "") -> Field:
    return Field(path, label, "number", hint=hint)


_TIMING_FIELDS: Mapping[str, Field] = {
    "cron_expression": Field(("schedule", "cron_expression"), "Cron expression", place="0 2 * * *"),
    "every": Field(
        ("schedule", "every"), "Every", place="PT15M", hint="Such as PT30S, PT15M or P1D."
    ),
    "run_at": Field(("schedule", "run_at"), "At", place="2026-12-01T08:00:00Z"),
    "delay_seconds": _seconds(("schedule", "delay_seconds"), "After, in seconds"),
}
_FAN_OUT = [
    Field(
        ("for_each",),
        "The list",
        "json",
        hint="A template such as {{ steps.load.output.files }}, or a JSON list.",
    ),
    Field(("max_parallel",), "Items at one time", "number", place="100"),
    Field(
        ("min_success_share",),
        "Share of items that must succeed",
        "number",
        place="1",
        hint="From 0 to 1.",
    ),
]
#: Kinds that call no target -> their fields.
_OWN: Mapping[str, list[Field]] = {
    "workflow": [
        Field(("workflow_id",), "Workflow", "workflow"),
        Field(("input",), "Input", "json", hint="JSON or YAML; templates are filled in."),
    ],
    "delay": [_seconds(("delay_seconds",), "Waits, in seconds")],
    "wait_for_event": [
        Field(("event",), "Event", hint="The name of the signal."),
        Field(("correlation",), "Correlation", hint="May hold templates."),
        _seconds(("timeout_seconds",), "Fails after, in seconds", "Empty: it waits on."),
        _seconds(
            ("accept_earlier_seconds",), "Takes signals from this many seconds before the run"
        ),
    ],
    "approval": [_seconds(("timeout_seconds",), "Fails after, in seconds", "Empty: it waits on.")],
}
#: Fields of a target, as many as are always shown.
_SHOWN_OF: Mapping[str, int] = {"webhook": 3, "pool": 3, "handler": 1, "command": 2}


def _target(kind: str, at: Path) -> list[Field]:
    """Return the fields of a target of the kind."""
    worked = [
        Field((*at, "pool"), "Pool"),
        _seconds((*at, "timeout_seconds"), "Time limit, in seconds"),
        _seconds((*at, "cancel_grace_seconds"), "Seconds to end in, when cancelled"),
    ]
    found: Mapping[str, list[Field]] = {
        "webhook": [
            Field((*at, "url"), "URL", place="https://api.example.com/load", is_wide=True),
            Field(
                (*at, "method"),
                "Method",
                "choice",
                options=tuple((one, one) for one in METHODS),
                default="POST",
            ),
            Field((*at, "headers"), "Headers", "headers", hint="One per line, Name: value."),
            _seconds((*at, "timeout_seconds"), "Time limit of an attempt, in seconds"),
            _seconds((*at, "connect_timeout_seconds"), "To connect, in seconds"),
            _choice((*at, "body_format"), "Payload is sent", "body_format", "json"),
            Field((*at, "success", "statuses"), "Statuses of success", "words", place="2xx"),
            _choice((*at, "completion"), "It has ended", "completion", "response"),
            _seconds((*at, "heartbeat_timeout_seconds"), "Heartbeat at least every, in seconds"),
            _seconds((*at, "max_runtime_seconds"), "Runs at most, in seconds"),
            Field(
                (*at, "follow_redirects"), "Follow redirects", "truth", options=_TRUTH, default="no"
            ),
        ],
        "pool": [
            Field((*at, "pool"), "Pool"),
            Field((*at, "handler"), "Handler"),
            Field((*at, "requires"), "Requires", "pairs", hint="One per line, name=value."),
            _seconds((*at, "max_runtime_seconds"), "Runs at most, in seconds"),
        ],
        "handler": [Field((*at, "handler"), "Handler"), *worked],
        "command": [
            Field((*at, "command"), "Command"),
            Field((*at, "arguments"), "Arguments", "lines", hint="One per line."),
            Field((*at, "environment"), "Environment", "pairs", hint="One per line, NAME=value."),
            *worked,
            Field((*at, "success_exit_codes"), "Exit codes of success", "numbers", place="0"),
            Field((*at, "output_bytes"), "Output kept, in bytes", "number"),
            Field((*at, "memory_bytes"), "Memory at most, in bytes", "number"),
        ],
    }
    return found.get(kind, [])


def _of_step(field: Field, step: Mapping[str, Any]) -> Field:
    """Return the field at the step itself where the step gives it in place of its target."""
    name = field.path[-1]
    outside = name in OF_TARGET and step.get(name) is not None
    target = step.get("target")
    inside = isinstance(target, Mapping) and name in target
    return replace(field, path=(name,)) if outside and not inside else field


def _retries(step: Mapping[str, Any]) -> list[Field]:
    at = "retry_policy"
    policy = step.get(at)
    backoff = policy.get("backoff") if isinstance(policy, Mapping) else None
    waits = [
        _seconds((at, "initial_delay_seconds"), "First wait, in seconds"),
        Field((at, "factor"), "Backoff multiplier", "number"),
        _seconds((at, "max_delay_seconds"), "Longest wait, in seconds"),
    ]
    if backoff == "listed":
        waits = [
            Field((at, "delays_seconds"), "The waits, in seconds", "numbers", place="1, 10, 60")
        ]
    elif backoff == "fixed":
        waits = waits[:1]
    words = ", ".join(RETRY_DEFAULTS["retry_on"])
    return [
        Field(
            (at, "max_attempts"), "Attempts", "number", place=str(RETRY_DEFAULTS["max_attempts"])
        ),
        _choice((at, "backoff"), "Wait between attempts", "backoff", "exponential"),
        *waits,
        _choice((at, "jitter"), "Each wait lasts", "jitter", "full"),
        Field((at, "retry_on"), "Try again on", "words", place=words),
        Field((at, "stop_on"), "Never on these statuses", "words"),
        Field((at, "stop_header"), "Never when the answer has this header"),
        _seconds((at, "max_age_seconds"), "Give up if later than, in seconds"),
    ]


def _start(kind: str) -> list[Field]:
    found = [
        Field(
            ("when",),
            "Only when",
            "area",
            hint="An expression such as steps.load.output.rows > 0; else the step is skipped.",
        ),
        *_deadline(),
    ]
    if kind in TARGET_KINDS:
        found.append(Field(("priority",), "Priority", "number", hint="0 goes first, 9 last."))
    if kind not in ("delay", "approval"):
        label = "Keep its output out of answers and logs"
        found.append(Field(("sensitive",), label, "truth", options=_TRUTH, default="no"))
    if kind in TARGET_KINDS:
        label = "Fields of payload, answers and output that are never shown"
        found.append(Field(("redact",), label, "lines", _MASKED))
    return found


def _undone(step: Mapping[str, Any]) -> list[Field]:
    undo = step.get("compensate")
    target = undo.get("target") if isinstance(undo, Mapping) else None
    kind = target_kind(target) if undo is not None else ""
    known = tuple((one, kind_label(one)) for one in TARGET_KINDS)
    found = [Field(UNDONE_BY, "Undone by", "choice", options=(("", "nothing"), *known))]
    if undo is None:
        return found
    at = ("compensate", "target")
    shown = _target(kind, at)[: _SHOWN_OF.get(kind, 0)]
    ends = ", ".join(COMPENSATED_ENDS)
    return [
        *found,
        *shown,
        _payload(("compensate", "payload")),
        Field(("compensate", "on"), "After", "words", place="SUCCEEDED", hint=f"Of {ends}."),
    ]


def fields_of_target(kind: str) -> frozenset[str]:
    """Return the names of the fields that a target of the kind may have."""
    return frozenset(TARGET_DEFAULTS_BY_KIND.get(kind, {}))
