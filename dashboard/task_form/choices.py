"""The selects of the task's form: each word of the API, and its effect in plain words.

Also the parts of the form that unfold, with their fields. A part opens by itself where one of its
fields is set or wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.task_form.form import EMPTY
from tasks.choices import TARGETS

#: The words of the selects, each with its effect in plain words.
CHOICES: Mapping[str, Sequence[tuple[str, str]]] = {
    "overlap_policy": (
        ("allow", "the next runs beside it"),
        ("skip", "the next is skipped"),
        ("queue_one", "the next waits, one at most"),
        ("queue_all", "the next ones wait, all of them"),
        ("cancel_running", "it is cancelled for the next"),
    ),
    "misfire_policy": (
        ("coalesce", "runs once, afterwards"),
        ("skip", "is skipped"),
        ("replay", "runs for each missed time"),
    ),
    "misfire_coalesce": (
        ("latest", "for the latest missed time"),
        ("earliest", "for the earliest missed time"),
    ),
    "calendar_policy": (
        ("skip", "is skipped"),
        ("next_business_day", "moves to the next business day"),
        ("previous_business_day", "moves to the previous business day"),
    ),
    "dst_gap": (
        ("next_valid", "run right after the gap"),
        ("skip", "skip it"),
        ("before", "run right before the gap"),
    ),
    "dst_overlap": (
        ("first", "run the first time"),
        ("second", "run the second time"),
        ("both", "run both times"),
    ),
    "kind": (
        ("webhook", "A webhook over HTTP"),
        ("pool", "Workers of a pool"),
        ("handler", "A handler in Python"),
        ("command", "A command on the server"),
    ),
    "body_format": (
        ("json", "as JSON"),
        ("raw", "as plain text"),
    ),
    "completion": (
        ("response", "when the answer has come"),
        ("callback", "when the receiver reports the end, after answering 202"),
    ),
    "auth_type": (
        ("none", "nothing"),
        ("basic", "a user name and password"),
        ("bearer", "a bearer token"),
        ("api_key", "an API key"),
        ("oauth2", "OAuth 2 client credentials"),
    ),
    "auth_in": (
        ("header", "in a header"),
        ("query", "in the query of the address"),
    ),
    "tls_verify": (
        ("yes", "must be valid"),
        ("no", "may be any: the receiver's identity is not checked"),
    ),
    "template": (
        ("no", "are sent as they are"),
        ("yes", "are filled in, from the names below"),
    ),
    "follow_redirects": (
        ("no", "fails"),
        ("yes", "is followed"),
    ),
    "backoff": (
        ("exponential", "longer each time"),
        ("fixed", "always the same"),
        ("listed", "as listed"),
    ),
    "on_dependency_failure": (
        ("skip", "is skipped"),
        ("fail", "fails, with an alert"),
        ("wait", "waits for a retry of that task"),
    ),
    "concurrency_order": (
        ("any", "run at most a number at a time"),
        ("fifo", "run one at a time, strictly in order"),
    ),
    "jitter": (
        ("full", "anywhere up to the wait"),
        ("none", "exactly the wait"),
    ),
}
#: Parts that unfold -> their fields.
PARTS: Mapping[str, Sequence[str]] = {
    "request": ("headers", "body_format", "timeout_seconds", "connect_timeout_seconds"),
    "success": (
        "success_statuses",
        "success_header_name",
        "success_header_pattern",
        "success_body_pattern",
        "success_json_path",
        "success_json_equals",
    ),
    "auth": (
        "auth_type",
        "auth_username",
        "auth_password",
        "auth_token",
        "auth_name",
        "auth_value",
        "auth_token_url",
        "auth_client_id",
        "auth_client_secret",
        "auth_scope",
        "auth_audience",
    ),
    "tls": (
        "tls_verify",
        "tls_ca_certificates",
        "tls_client_certificate",
        "tls_client_key",
        "proxy_url",
        "proxy_username",
        "proxy_password",
    ),
    "long": ("completion", "heartbeat_timeout_seconds", "max_runtime_seconds"),
    "dynamic": ("template", "follow_redirects"),
    "labels": ("labels", "priority", "owner"),
    "budget": ("budget",),
    "dependencies": ("depends_on", "on_dependency_failure"),
    "reference": ("payload_ref",),
    "redact": ("redact",),
    "concurrency": ("concurrency_key", "concurrency_max", "concurrency_order"),
    "targets": TARGETS,
    "retry": ("jitter", "retry_on", "stop_on", "stop_header", "max_age_seconds", "rule_"),
}
#: Groups of parts that unfold -> their parts, and the fields that stand in no part.
GROUPS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "call": (
        ("reference", "redact", "request", "success", "auth", "tls", "long", "dynamic"),
        (),
    ),
    "when": (
        (),
        (
            "start_at",
            "end_at",
            "max_occurrences",
            "dst_gap",
            "dst_overlap",
            "working_day",
            "calendars",
            "calendar_policy",
            "jitter_seconds",
        ),
    ),
    "fails": (
        ("retry",),
        (
            "max_attempts",
            "backoff",
            "initial_delay_seconds",
            "factor",
            "max_delay_seconds",
            "delays_seconds",
            "pause_after_failures",
        ),
    ),
    "limits": (
        ("budget", "dependencies", "concurrency", "targets", "labels"),
        (
            "overlap_policy",
            "max_concurrent",
            "misfire_policy",
            "misfire_coalesce",
            "misfire_replay_limit",
            "misfire_replay_per_second",
            "misfire_grace_seconds",
        ),
    ),
}
#: Names that a template may hold, each with its value.
TEMPLATE_NAMES = (
    ("scheduled_for", "the nominal time"),
    ("attempt", "the number of the attempt"),
    ("task.name", "the name of the task"),
    ("labels.team", "the value of a label, here “team”"),
    ("last_success_at", "when the task last succeeded"),
)


def open_parts(fields: Mapping[str, str], errors: Mapping[str, str]) -> list[str]:
    """Return the parts with a field that is set or wrong."""
    told = _told(fields, errors)
    return [
        part
        for part, names in PARTS.items()
        if any(name.startswith(tuple(n for n in names if n[-1] == "_")) for name in told)
        or told.intersection(names)
    ]


def open_groups(fields: Mapping[str, str], errors: Mapping[str, str]) -> list[str]:
    """Return the groups with a part or a field that is set or wrong."""
    told, parts = _told(fields, errors), open_parts(fields, errors)
    return [
        group
        for group, (inner, names) in GROUPS.items()
        if told.intersection(names) or set(inner).intersection(parts)
    ]


def _told(fields: Mapping[str, str], errors: Mapping[str, str]) -> set[str]:
    """Return the fields with another value than a new form has, or with an error."""
    return {name for name, value in fields.items() if value != EMPTY.get(name, "")} | set(errors)


def clock_rule(schedule: Mapping[str, Any]) -> str:
    """Return the choices for changed clocks in words; nothing for what follows no clock."""
    if not schedule.get("cron_expression"):
        return ""
    gap, overlap = (
        dict(CHOICES[name]).get(schedule.get(name) or CHOICES[name][0][0], "")
        for name in ("dst_gap", "dst_overlap")
    )
    return f"When the clocks skip its time: {gap}. When its time occurs twice: {overlap}."
