"""The definition of a task in its normal form, and its way into and out of storage.

Validation makes it, services store it as a revision, the loop reads its schedule, presentation
shows it. Every key of its parts is present and instants are UTC text with milliseconds, so equal
definitions are equal objects, whether they came in the short form or the long one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from shared.payload_sight import hide
from tasks.choices import ON_DEPENDENCY_FAILURE, ON_FAILURE, WORKFLOW, TaskType
from tasks.destination_names import name_of_url
from tasks.masking import mask_target

COMMON_SCHEDULE_DEFAULTS: dict[str, Any] = {
    "timezone": "UTC",
    "jitter_seconds": 0,
    "misfire_policy": "coalesce",
    "misfire_grace_seconds": None,
    "overlap_policy": "allow",
    "max_concurrent": None,
    "calendars": [],
    "calendar_policy": "skip",
}
ONE_TIME_SCHEDULE_DEFAULTS: dict[str, Any] = {"run_at": None, **COMMON_SCHEDULE_DEFAULTS}
#: Schedule of a one-time task that no policy affects, apart from its instant.
_PLAIN = {**ONE_TIME_SCHEDULE_DEFAULTS, "timezone": "UTC"}
RECURRING_SCHEDULE_DEFAULTS: dict[str, Any] = {
    "cron_expression": None,
    "every": None,
    "dst_gap": "next_valid",
    "dst_overlap": "first",
    "start_at": None,
    "end_at": None,
    "max_occurrences": None,
    "misfire_coalesce": "latest",
    "misfire_replay_limit": None,
    "misfire_replay_per_second": 10,
    "working_day": None,
    **COMMON_SCHEDULE_DEFAULTS,
}
_SCHEDULE_DEFAULTS: dict[str, dict[str, Any]] = {
    TaskType.ONE_TIME: ONE_TIME_SCHEDULE_DEFAULTS,
    TaskType.RECURRING: RECURRING_SCHEDULE_DEFAULTS,
    TaskType.MANUAL: COMMON_SCHEDULE_DEFAULTS,
}
TARGET_DEFAULTS: dict[str, Any] = {
    "kind": "webhook",
    "url": "",
    "method": "POST",
    "headers": {},
    "body_format": "json",
    "timeout_seconds": 30,
    "connect_timeout_seconds": 5,
    "completion": "response",
    "heartbeat_timeout_seconds": 300,
    "max_runtime_seconds": None,
    "template": False,
    "success": {"statuses": ["2xx"]},
    "follow_redirects": False,
    "auth": None,
    "tls": None,
    "proxy": None,
}
POOL_TARGET_DEFAULTS: dict[str, Any] = {
    "kind": "pool",
    "pool": "",
    "handler": "",
    "requires": {},
    "max_runtime_seconds": None,
}
HANDLER_TARGET_DEFAULTS: dict[str, Any] = {
    "kind": "handler",
    "handler": "",
    "pool": "handlers",
    "timeout_seconds": 300,
    "cancel_grace_seconds": 10,
}
COMMAND_TARGET_DEFAULTS: dict[str, Any] = {
    "kind": "command",
    "command": "",
    "arguments": [],
    "environment": {},
    "pool": "commands",
    "timeout_seconds": 300,
    "cancel_grace_seconds": 10,
    "output_bytes": 65536,
    "memory_bytes": None,
    "success_exit_codes": [0],
}
#: ``numbers`` has the number of each key that a version of the workflow has had.
WORKFLOW_TARGET_DEFAULTS: dict[str, Any] = {
    "kind": WORKFLOW,
    "steps": [],
    "numbers": {},
    "on_failure": ON_FAILURE[0],
    "input_schema": None,
    "deadline_seconds": None,
    "deadline_at": None,
    "deadline_timezone": None,
}
TARGET_DEFAULTS_BY_KIND: dict[str, dict[str, Any]] = {
    "webhook": TARGET_DEFAULTS,
    "pool": POOL_TARGET_DEFAULTS,
    "handler": HANDLER_TARGET_DEFAULTS,
    "command": COMMAND_TARGET_DEFAULTS,
    WORKFLOW: WORKFLOW_TARGET_DEFAULTS,
}
#: The pool of the workers that send webhooks.
WEBHOOK_POOL = "default"
#: The pool of runs of workflows, which no worker takes: a scheduler begins them.
WORKFLOW_POOL = "workflow"
#: For a target without a time-out of its own: its pull worker's lease ends the attempt.
LEASED_SECONDS = 60.0
#: Prefix of the name of a pool whose workers lease over the API, so that no other worker takes its
#: work, even if another pool has the same name.
PULL_PREFIX = "pull."
RETRY_DEFAULTS: dict[str, Any] = {
    "max_attempts": 5,
    "backoff": "exponential",
    "initial_delay_seconds": 1,
    "factor": 2,
    "max_delay_seconds": 3600,
    "delays_seconds": None,
    "jitter": "full",
    "retry_on": ["5xx", "408", "425", "429", "timeout", "connection"],
    "stop_on": [],
    "stop_header": None,
    "rules": [],
    "max_age_seconds": None,
    "pause_after_failures": None,
}
DEFAULT_PRIORITY = 5

#: Parts of a workflow's target that its own calls show.
_OF_STEPS = ("steps", "numbers")
#: Answers show only the one of these that is in use; null would carry no information.
_ALTERNATIVES = ("cron_expression", "every", "delays_seconds")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a task calls, when, and how it retries; callers must not change its parts in place."""

    name: str
    type: str
    schedule: dict[str, Any]
    target: dict[str, Any]
    payload: Any
    priority: int
    retry_policy: dict[str, Any]
    labels: dict[str, str]
    depends_on: list[str]
    #: A URL or the key of an object, which the receiver gets in place of a payload.
    payload_ref: str | None = None
    #: An e-mail address or the name of an API key.
    owner: str | None = None
    #: What becomes of it when one of ``depends_on`` has ended without success.
    on_dependency_failure: str = ON_DEPENDENCY_FAILURE[0]
    #: JSON paths of the fields of payload and answers that are masked wherever they are shown.
    redact: list[str] = field(default_factory=list)
    #: What it may use: entries of ``unit``, ``limit`` and ``per``.
    budget: list[dict[str, Any]] = field(default_factory=list)
    #: ``key``, ``max`` and ``order`` of the concurrency key that it shares with other tasks.
    concurrency: dict[str, Any] | None = None
    #: ``start_within_seconds`` and ``max_duration_seconds``, against which its runs are measured.
    targets: dict[str, Any] | None = None

    @property
    def sent(self) -> Any:
        """The payload for the receiver, or the reference in its place."""
        if self.payload_ref is None:
            return self.payload
        # A raw body is text, and the reference is one.
        is_raw = self.target.get("body_format") == "raw"
        return self.payload_ref if is_raw else {"payload_ref": self.payload_ref}


_PARTS = tuple(part.name for part in fields(Definition))


def schedule_defaults(task_type: str) -> dict[str, Any]:
    """Return every key of a schedule of the type with its default."""
    found: dict[str, Any] = _fresh(_SCHEDULE_DEFAULTS[task_type])
    return found


def target_defaults(kind: str) -> dict[str, Any]:
    """Return every key of a target of the kind with its default."""
    found: dict[str, Any] = _fresh(TARGET_DEFAULTS_BY_KIND[kind])
    return found


def _fresh(value: Any) -> Any:
    """Return a JSON value in lists and objects of its own; deepcopy takes ten times as long."""
    if isinstance(value, dict):
        return {key: _fresh(part) for key, part in value.items()}
    return [_fresh(part) for part in value] if isinstance(value, list) else value


def pool_of(target: Mapping[str, Any]) -> str:
    """Return the pool whose workers run the target, as the ledger names it."""
    if target["kind"] == "webhook":
        return WEBHOOK_POOL
    if target["kind"] == WORKFLOW:
        return WORKFLOW_POOL
    return PULL_PREFIX + target["pool"] if target["kind"] == "pool" else str(target["pool"])


def plain_pool(pool: str) -> str:
    """Return the name that people gave a pool, from its name in the ledger."""
    return pool.removeprefix(PULL_PREFIX)


def pools_called(name: str) -> tuple[str, str]:
    """Return the names that a pool of this name may have in the ledger."""
    plain = plain_pool(name)
    return plain, PULL_PREFIX + plain


def destination_of(target: Mapping[str, Any]) -> str:
    """Return the name of the destination that a webhook calls; '' for other kinds."""
    return name_of_url(target["url"]) if target["kind"] == "webhook" else ""


def runtime_seconds(target: Mapping[str, Any]) -> float:
    """Return how long one attempt of ours may take, the end of a cancelled one included."""
    return float(target.get("timeout_seconds", LEASED_SECONDS)) + float(
        target.get("cancel_grace_seconds", 0)
    )


def is_gated(definition: Definition) -> bool:
    """Return whether executions wait for the gate: for a place, or for what a budget has left."""
    return bool(definition.budget) or is_limited(definition.schedule)


def is_limited(schedule: Mapping[str, Any]) -> bool:
    """Return whether executions of the schedule wait for a place."""
    policy = schedule.get("overlap_policy", "allow")
    return policy != "allow" or schedule.get("max_concurrent") is not None


def waits_otherwise(one: Definition, other: Definition) -> bool:
    """Return whether a one-time task waits for other tasks, or otherwise, by the other definition.

    A task of another type is planned anew in any case.
    """
    if one.type != other.type or not (one.depends_on or other.depends_on):
        return False
    return (one.depends_on, one.on_dependency_failure) != (
        other.depends_on,
        other.on_dependency_failure,
    )


def is_plain(
    task_type: str, schedule: Mapping[str, Any], concurrency_key: str | None = None
) -> bool:
    """Return whether a one-time task runs at its instant and no policy decides about that."""
    return (
        task_type == TaskType.ONE_TIME
        and concurrency_key is None
        and {
            **schedule,
            "run_at": None,
            "timezone": "UTC",
        }
        == _PLAIN
    )


def to_stored(definition: Definition) -> dict[str, Any]:
    """Return the parts as plain JSON values that share nothing with the definition."""
    found: dict[str, Any] = _fresh(parts_of(definition))
    return found


def parts_of(definition: Definition) -> dict[str, Any]:
    """Return the parts by name; they are the definition's own, callers must not change them."""
    return {name: getattr(definition, name) for name in _PARTS}


def from_stored(stored: Mapping[str, Any]) -> Definition:
    """Return the definition of stored parts; a key that an older version lacks gets its default."""
    parts = _fresh(dict(stored))
    task_type = parts["type"]
    return Definition(
        name=parts["name"],
        type=task_type,
        schedule=schedule_defaults(task_type) | parts["schedule"],
        target=target_defaults(parts["target"].get("kind", "webhook")) | parts["target"],
        payload=parts.get("payload"),
        priority=parts.get("priority", DEFAULT_PRIORITY),
        retry_policy=_fresh(RETRY_DEFAULTS) | parts.get("retry_policy", {}),
        labels=parts.get("labels", {}),
        depends_on=parts.get("depends_on", []),
        payload_ref=parts.get("payload_ref"),
        owner=parts.get("owner"),
        on_dependency_failure=parts.get("on_dependency_failure", ON_DEPENDENCY_FAILURE[0]),
        redact=parts.get("redact", []),
        budget=parts.get("budget", []),
        concurrency=parts.get("concurrency"),
        targets=parts.get("targets"),
    )


def to_long(definition: Definition, *, secrets: bool = False) -> dict[str, Any]:
    """Return the long form as answers show it, secrets masked unless ``secrets`` is set.

    Sent back unchanged as an edit or replacement of its task, it makes the same definition.
    """
    found: dict[str, Any] = _fresh(shown_parts(definition, secrets=secrets))
    return found


def shown_parts(definition: Definition, *, secrets: bool = False) -> dict[str, Any]:
    """Return the same for a caller that changes nothing in it: it shares with the definition."""
    parts = parts_of(definition)
    if not definition.depends_on and definition.on_dependency_failure == ON_DEPENDENCY_FAILURE[0]:
        del parts["on_dependency_failure"]
    if not definition.redact:
        del parts["redact"]
    if not definition.budget:
        del parts["budget"]
    if definition.concurrency is None:
        del parts["concurrency"]
    if definition.targets is None:
        del parts["targets"]
    if not secrets:
        parts["target"] = mask_target(parts["target"])
        parts["payload"] = hide(parts["payload"], definition.redact)
        parts["payload_ref"] = hide(parts["payload_ref"])
    if parts["target"]["kind"] == WORKFLOW:
        # The calls of workflows show its steps.
        target = parts["target"]
        parts["target"] = {key: target[key] for key in target if key not in _OF_STEPS}
    for part in ("schedule", "retry_policy"):
        inside = parts[part]
        unused = [key for key in _ALTERNATIVES if key in inside and inside[key] is None]
        if unused:
            parts[part] = {key: value for key, value in inside.items() if key not in unused}
    return parts
