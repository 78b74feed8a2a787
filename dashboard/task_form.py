"""The form of a task: from its fields to the API's long form, and back.

Pure: the rules are those of validation, so what the form accepts is what the API accepts. Parts
of a definition that the form does not show are carried over unchanged from ``base``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from dashboard import task_form_schedule as schedules
from dashboard.payload_form import pretty
from dashboard.task_form_schedule import UNITS
from dashboard.task_form_values import (
    Form,
    read_headers,
    read_number,
    read_pairs,
    read_payload,
    show_plain,
)
from executions.exchange import mask_headers
from shared.exceptions import FieldError, InvalidInput

__all__ = [
    "EMPTY",
    "UNITS",
    "field_errors",
    "form_of",
    "given_fields",
    "read_form",
    "read_schedule",
]

#: What a new form shows.
EMPTY: Mapping[str, str] = {
    **schedules.EMPTY,
    "method": "POST",
    "timeout_seconds": "30",
    "max_attempts": "5",
    "backoff": "exponential",
    "initial_delay_seconds": "1",
    "factor": "2",
    "max_delay_seconds": "3600",
    "priority": "5",
}
_RETRY_FIELDS = (
    "max_attempts",
    "backoff",
    "initial_delay_seconds",
    "factor",
    "max_delay_seconds",
    "pause_after_failures",
)
#: Pointer of an error -> field of the form; the longest that fits counts.
_FIELD_OF = {
    "#/name": "name",
    "#/schedule/cron_expression": "cron_expression",
    "#/schedule/every": "every_count",
    "#/schedule/run_at": "run_at",
    "#/schedule/delay_seconds": "delay_seconds",
    "#/schedule/start_at": "start_at",
    "#/schedule/end_at": "end_at",
    "#/schedule/calendars": "calendars",
    **{f"#/schedule/{name}": name for name in schedules.PLAIN},
    "#/target/url": "url",
    "#/target/method": "method",
    "#/target/headers": "headers",
    "#/target/timeout_seconds": "timeout_seconds",
    "#/payload": "payload",
    "#/priority": "priority",
    "#/labels": "labels",
    **{f"#/retry_policy/{name}": name for name in _RETRY_FIELDS},
}


def field_errors(errors: Sequence[FieldError]) -> dict[str, str]:
    """Return the first message of each field; what belongs to none stands under ``form``."""
    found: dict[str, str] = {}
    for error in errors:
        fits = [at for at in _FIELD_OF if (error.pointer + "/").startswith(at + "/")]
        field = _FIELD_OF[max(fits, key=len)] if fits else "form"
        found.setdefault(field, error.message)
    return found


def read_form(fields: Mapping[str, str], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the body that the fields describe; raise InvalidInput for text that is no value.

    A field that still shows what ``base`` holds keeps that exactly: the masked values of secret
    headers, instants to the millisecond, the second 02:30 of the night of the clock change.
    """
    form = _form(fields, base)
    body: dict[str, Any] = copy.deepcopy(dict(form.base))
    for name in ("id", "type", "name"):
        body.pop(name, None)
    if name := form.text("name"):
        body["name"] = name
    target = body.get("target", {})
    body["schedule"] = schedules.read_schedule(form, body.get("schedule", {}))
    body["target"] = {
        **target,
        "url": form.text("url"),
        "method": fields.get("method", "POST"),
        "headers": read_headers(form, target.get("headers", {})),
        **read_number(form, "timeout_seconds", "#/target/timeout_seconds", keep=False),
    }
    if not form.same("payload"):
        body["payload"] = read_payload(form)
    body |= read_number(form, "priority", "#/priority", keep=False)
    if not form.same("labels"):
        body["labels"] = read_pairs(form, "labels", "=", "#/labels")
    body["retry_policy"] = _retry_policy(form, body.get("retry_policy", {}))
    if form.errors:
        raise InvalidInput(form.errors)
    return body


def read_schedule(
    fields: Mapping[str, str], base: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the body of a preview: only the schedule of the form."""
    form = _form(fields, base)
    schedule = schedules.read_schedule(form, form.base.get("schedule", {}))
    if form.errors:
        raise InvalidInput(form.errors)
    return {"schedule": schedule}


def given_fields(definition: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that a partial definition speaks of, its secrets readable."""
    shown = form_of(definition, masked=False)
    found: dict[str, str] = {}
    for pointer, name in _FIELD_OF.items():
        *parents, last = pointer.removeprefix("#/").split("/")
        part: Any = definition
        for parent in parents:
            part = part.get(parent, {})
        if part.get(last) is not None:
            found[name] = shown[name]
    if "schedule" in definition:
        found |= {name: shown[name] for name in ("when", "every_unit")}
    return found


def form_of(definition: Mapping[str, Any], *, masked: bool = True) -> dict[str, str]:
    """Return the fields that show a definition in the long form, or as much of it as is given."""
    target, retry = definition.get("target", {}), definition.get("retry_policy", {})
    fields = {**EMPTY, **schedules.show_schedule(definition.get("schedule", {}))}
    fields |= {"name": definition.get("name", ""), "url": target.get("url", "")}
    given = {
        **{name: target.get(name) for name in ("method", "timeout_seconds")},
        **{name: retry.get(name) for name in _RETRY_FIELDS},
        "priority": definition.get("priority"),
    }
    fields |= {name: show_plain(value) for name, value in given.items() if value is not None}
    headers = target.get("headers", {}).items()
    shown = mask_headers(headers).items() if masked else headers
    fields["headers"] = "\n".join(f"{name}: {value}" for name, value in shown)
    fields["labels"] = "\n".join(f"{k}={v}" for k, v in definition.get("labels", {}).items())
    payload = definition.get("payload")
    fields["payload"] = "" if payload is None else pretty(payload)
    return fields


def _form(fields: Mapping[str, str], base: Mapping[str, Any] | None) -> Form:
    return Form(fields, form_of(base) if base else {}, dict(base or {}), [])


def _retry_policy(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    policy = dict(base)
    policy |= read_number(form, "max_attempts", "#/retry_policy/max_attempts", keep=False)
    name = "pause_after_failures"
    policy |= read_number(form, name, f"#/retry_policy/{name}")
    backoff = form.fields.get("backoff", policy.get("backoff", "exponential"))
    if backoff == "listed":
        return policy
    policy = {k: v for k, v in policy.items() if k != "delays_seconds"} | {"backoff": backoff}
    names = ("initial_delay_seconds", "factor", "max_delay_seconds")
    for name in names if backoff == "exponential" else names[:1]:
        policy |= read_number(form, name, f"#/retry_policy/{name}", keep=False)
    return policy
