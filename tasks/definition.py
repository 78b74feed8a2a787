"""The definition of a task in its normal form, and its way into and out of storage.

Validation makes it, services store it as a revision, the loop reads its schedule, presentation
answers it. Every key of its parts is present, instants are UTC text with milliseconds, so equal
definitions are equal objects whatever form they came in.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tasks.choices import TaskType

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
TARGET_DEFAULTS: dict[str, Any] = {
    "kind": "webhook",
    "url": "",
    "method": "POST",
    "headers": {},
    "timeout_seconds": 30,
    "connect_timeout_seconds": 5,
    "completion": "response",
    "heartbeat_timeout_seconds": 300,
    "max_runtime_seconds": None,
    "template": False,
    "success": {"statuses": ["2xx"]},
    "follow_redirects": False,
    "auth": None,
}
RETRY_DEFAULTS: dict[str, Any] = {
    "max_attempts": 5,
    "backoff": "exponential",
    "initial_delay_seconds": 1,
    "factor": 2,
    "max_delay_seconds": 3600,
    "delays_seconds": None,
    "jitter": "full",
    "retry_on": ["5xx", "408", "425", "429", "timeout", "connection"],
    "pause_after_failures": None,
}
DEFAULT_PRIORITY = 5

#: Of these only the one in use is answered; null would say nothing.
_ALTERNATIVES = ("cron_expression", "every", "delays_seconds")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a task calls, when, and how it retries; its parts are not to be changed in place."""

    name: str
    type: str
    schedule: dict[str, Any]
    target: dict[str, Any]
    payload: Any
    priority: int
    retry_policy: dict[str, Any]
    labels: dict[str, str]
    depends_on: list[str]


def schedule_defaults(task_type: str) -> dict[str, Any]:
    """Return every key of a schedule of the type with its default."""
    if task_type == TaskType.ONE_TIME:
        return copy.deepcopy(ONE_TIME_SCHEDULE_DEFAULTS)
    return copy.deepcopy(RECURRING_SCHEDULE_DEFAULTS)


def to_stored(definition: Definition) -> dict[str, Any]:
    """Return the parts as plain JSON values that share nothing with the definition."""
    return {part.name: copy.deepcopy(getattr(definition, part.name)) for part in fields(Definition)}


def from_stored(stored: Mapping[str, Any]) -> Definition:
    """Return the definition of stored parts; a key that an older version lacked is its default."""
    parts = copy.deepcopy(dict(stored))
    task_type = parts["type"]
    return Definition(
        name=parts["name"],
        type=task_type,
        schedule=schedule_defaults(task_type) | parts["schedule"],
        target=copy.deepcopy(TARGET_DEFAULTS) | parts["target"],
        payload=parts.get("payload"),
        priority=parts.get("priority", DEFAULT_PRIORITY),
        retry_policy=copy.deepcopy(RETRY_DEFAULTS) | parts.get("retry_policy", {}),
        labels=parts.get("labels", {}),
        depends_on=parts.get("depends_on", []),
    )


def to_long(definition: Definition) -> dict[str, Any]:
    """Return the long form as answered; sent back unchanged, it makes the same definition."""
    parts = to_stored(definition)
    for part in ("schedule", "retry_policy"):
        for key in _ALTERNATIVES:
            if key in parts[part] and parts[part][key] is None:
                del parts[part][key]
    return parts
