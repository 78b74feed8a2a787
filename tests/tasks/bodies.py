"""Bodies of calls that create a task, as api.md shows them, and the time of the calls."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from shared.addresses import AllowList
from shared.exceptions import InvalidInput
from tasks.definition import Definition
from tasks.limits import Limits
from tasks.validation.bodies import StatusChange, parse_create, parse_patch

NOW = datetime(2026, 11, 20, 8, 0, 0, 123456, tzinfo=UTC)
LIMITS = Limits(
    payload_bytes=256 * 1024,
    allow_list=AllowList(),
    pools=lambda: frozenset({"batch-etl"}),
    commands=frozenset({"backup"}),
    variables={"backup": ("TOKEN", "MODE", "A", *(f"A{n}" for n in range(65)))},
)

LONG: dict[str, Any] = {
    "name": "Daily Report",
    "type": "RECURRING",
    "schedule": {
        "cron_expression": "0 8 * * *",
        "timezone": "Europe/Berlin",
        "dst_gap": "next_valid",
        "dst_overlap": "first",
        "start_at": None,
        "end_at": "2026-12-31T00:00:00Z",
        "max_occurrences": None,
        "jitter_seconds": 0,
        "misfire_policy": "coalesce",
        "misfire_grace_seconds": 3600,
        "overlap_policy": "allow",
        "max_concurrent": None,
        "calendars": [],
    },
    "target": {
        "kind": "webhook",
        "url": "https://api.example.com/reports",
        "method": "POST",
        "headers": {"X-Team": "billing"},
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
    },
    "payload": {"report_type": "daily"},
    "priority": 5,
    "retry_policy": {
        "max_attempts": 5,
        "backoff": "exponential",
        "initial_delay_seconds": 1,
        "factor": 2,
        "max_delay_seconds": 3600,
        "jitter": "full",
        "retry_on": ["5xx", "408", "425", "429", "timeout", "connection"],
        "stop_on": [],
        "stop_header": None,
        "rules": [],
        "max_age_seconds": None,
    },
    "labels": {"team": "billing"},
    "depends_on": [],
}
SHORT: dict[str, Any] = {
    "name": "Daily Report",
    "type": "RECURRING",
    "payload": {
        "webhook_url": "https://api.example.com/reports",
        "method": "POST",
        "body": {"report_type": "daily"},
    },
    "cron_expression": "0 8 * * *",
    "end_date": "2026-12-31T00:00:00Z",
}
MINIMAL: dict[str, Any] = {
    "schedule": {"cron_expression": "0 8 * * *"},
    "target": {"url": "https://api.example.com/reports"},
}
ONCE: dict[str, Any] = {
    "schedule": {"run_at": "2026-11-20T09:00:00Z"},
    "target": {"url": "https://api.example.com/reports"},
}
POOL: dict[str, Any] = {
    "kind": "pool",
    "pool": "batch-etl",
    "handler": "generate_invoices",
    "requires": {"gpu": "yes"},
    "max_runtime_seconds": 3600,
}
HANDLER: dict[str, Any] = {
    "kind": "handler",
    "handler": "reports.daily",
    "pool": "reports",
    "timeout_seconds": 60,
    "cancel_grace_seconds": 5,
}
COMMAND: dict[str, Any] = {
    "kind": "command",
    "command": "backup",
    "arguments": ["--full", ""],
    "environment": {"TOKEN": "s3cret", "MODE": ""},
    "pool": "commands",
    "timeout_seconds": 600,
    "cancel_grace_seconds": 10,
    "output_bytes": 1024,
    "memory_bytes": 64 * 1024**2,
    "success_exit_codes": [0, 3],
}
AUTHS: dict[str, dict[str, Any]] = {
    "basic": {"type": "basic", "username": "u", "password": "s3cret"},
    "bearer": {"type": "bearer", "token": "s3cret"},
    "api_key": {"type": "api_key", "name": "X-Api-Key", "value": "s3cret", "in": "header"},
    "oauth2": {
        "type": "oauth2",
        "token_url": "https://auth.example.com/token",
        "client_id": "punctual",
        "client_secret": "s3cret",
        "scope": "reports:write",
        "audience": None,
    },
}
#: A webhook with every field that has a default given another value.
WEBHOOK: dict[str, Any] = {
    "kind": "webhook",
    "url": "https://api.example.com/reports/{{ labels.team }}?at={{scheduled_for}}",
    "method": "PUT",
    "headers": {"X-Team": "billing", "X-At": "{{ scheduled_for }}", "X-Token": "s3cret"},
    "body_format": "json",
    "timeout_seconds": 20,
    "connect_timeout_seconds": 2,
    "completion": "callback",
    "heartbeat_timeout_seconds": 60,
    "max_runtime_seconds": 7200,
    "template": True,
    "success": {
        "statuses": ["200", "202"],
        "header": {"name": "X-Done", "pattern": "^(yes|true)$"},
        "body_pattern": "ok|done",
        "json": {"path": "$.items[0]['state']", "equals": None},
    },
    "follow_redirects": True,
    "auth": AUTHS["basic"],
    "tls": None,
    "proxy": {"url": "http://proxy.example.com:3128", "username": "u", "password": "s3cret"},
}
TARGETS: dict[str, dict[str, Any]] = {
    "webhook": WEBHOOK,
    "pool": POOL,
    "handler": HANDLER,
    "command": COMMAND,
}

#: A value that stands for "take the field away".
ABSENT: Any = object()


def changed(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of the body with the value at a path such as ``schedule/every``."""
    copied = copy.deepcopy(body)
    *parents, last = path.split("/")
    place = copied
    for parent in parents:
        place = place.setdefault(parent, {})
    if value is ABSENT:
        del place[last]
    else:
        place[last] = value
    return copied


def create(body: Any) -> Definition:
    """Read the body at NOW under LIMITS."""
    return parse_create(body, now=NOW, limits=LIMITS)


def with_target(target: dict[str, Any]) -> dict[str, Any]:
    """Return a body that creates a task with the target."""
    return MINIMAL | {"target": copy.deepcopy(target)}


def patch(current: Definition, body: Any) -> tuple[Definition, StatusChange | None]:
    """Merge the body at NOW under LIMITS."""
    return parse_patch(current, body, now=NOW, limits=LIMITS)


def problems(call: Any, *arguments: Any) -> set[tuple[str, str]]:
    """Return pointer and code of every error of a call that must raise InvalidInput."""
    try:
        call(*arguments)
    except InvalidInput as refused:
        return {(error.pointer, error.code) for error in refused.errors}
    raise AssertionError("nothing was refused")
