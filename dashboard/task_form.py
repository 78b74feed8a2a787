"""The form of a task: from its fields to the API's long form, and back.

Pure: the rules are those of validation, so what the form accepts is what the API accepts. Parts
of a definition that the form does not show are carried over unchanged from ``base``.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

import orjson

from dashboard.payload_form import pretty
from executions.exchange import is_secret_header, mask_headers
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant, parse_instant
from shared.redaction import MASK
from tasks.schedules.zones import UnknownZone, find_zone

#: What a new form shows.
EMPTY: Mapping[str, str] = {
    "when": "cron",
    "timezone": "UTC",
    "every_unit": "M",
    "every_count": "5",
    "delay_seconds": "60",
    "method": "POST",
    "timeout_seconds": "30",
    "max_attempts": "5",
    "backoff": "exponential",
    "initial_delay_seconds": "1",
    "factor": "2",
    "max_delay_seconds": "3600",
    "misfire_policy": "coalesce",
    "dst_gap": "next_valid",
    "dst_overlap": "first",
    "priority": "5",
}
UNITS = {"S": "seconds", "M": "minutes", "H": "hours", "D": "days"}
_EVERY = re.compile(r"P(?:(\d+)D)|PT(?:(\d+)([HMS]))")
#: Pointer of an error -> field of the form; the longest that fits counts.
_FIELD_OF = {
    "#/name": "name",
    "#/schedule/cron_expression": "cron_expression",
    "#/schedule/timezone": "timezone",
    "#/schedule/every": "every_count",
    "#/schedule/run_at": "run_at",
    "#/schedule/delay_seconds": "delay_seconds",
    "#/schedule/start_at": "start_at",
    "#/schedule/end_at": "end_at",
    "#/schedule/max_occurrences": "max_occurrences",
    "#/schedule/misfire_policy": "misfire_policy",
    "#/schedule/misfire_grace_seconds": "misfire_grace_seconds",
    "#/schedule/dst_gap": "dst_gap",
    "#/schedule/dst_overlap": "dst_overlap",
    "#/target/url": "url",
    "#/target/method": "method",
    "#/target/headers": "headers",
    "#/target/timeout_seconds": "timeout_seconds",
    "#/payload": "payload",
    "#/priority": "priority",
    "#/labels": "labels",
    "#/retry_policy/max_attempts": "max_attempts",
    "#/retry_policy/backoff": "backoff",
    "#/retry_policy/initial_delay_seconds": "initial_delay_seconds",
    "#/retry_policy/factor": "factor",
    "#/retry_policy/max_delay_seconds": "max_delay_seconds",
}
_RECURRING = ("cron", "every")


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
    form = _Form(fields, form_of(base) if base else {}, dict(base or {}), [])
    body: dict[str, Any] = copy.deepcopy(dict(form.base))
    for name in ("id", "type", "name"):
        body.pop(name, None)
    if name := fields.get("name", "").strip():
        body["name"] = name
    target = body.get("target", {})
    body["schedule"] = _schedule(form, body.get("schedule", {}))
    body["target"] = {
        **target,
        "url": fields.get("url", "").strip(),
        "method": fields.get("method", "POST"),
        "headers": _headers(form, target.get("headers", {})),
        **_number(form, "timeout_seconds", "#/target/timeout_seconds", keep=False),
    }
    if not form.same("payload"):
        body["payload"] = _payload(form)
    body |= _number(form, "priority", "#/priority", keep=False)
    if not form.same("labels"):
        body["labels"] = _pairs(form, "labels", "=", "#/labels")
    body["retry_policy"] = _retry_policy(form, body.get("retry_policy", {}))
    if form.errors:
        raise InvalidInput(form.errors)
    return body


def read_schedule(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a preview: only the schedule of the form."""
    form = _Form(fields, {}, {}, [])
    schedule = _schedule(form, {})
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
    schedule, target = definition.get("schedule", {}), definition.get("target", {})
    retry = definition.get("retry_policy", {})
    fields = {**EMPTY, "name": definition.get("name", ""), "url": target.get("url", "")}
    fields |= _when(schedule)
    given = {
        **{name: schedule.get(name) for name in _SCHEDULE_FIELDS},
        **{name: target.get(name) for name in ("method", "timeout_seconds")},
        **{name: retry.get(name) for name in _RETRY_FIELDS},
        "priority": definition.get("priority"),
    }
    fields |= {name: _plain(value) for name, value in given.items() if value is not None}
    headers = target.get("headers", {}).items()
    shown = mask_headers(headers).items() if masked else headers
    fields["headers"] = "\n".join(f"{name}: {value}" for name, value in shown)
    fields["labels"] = "\n".join(f"{k}={v}" for k, v in definition.get("labels", {}).items())
    payload = definition.get("payload")
    fields["payload"] = "" if payload is None else pretty(payload)
    zone = _zone_or_utc(fields["timezone"])
    for name in ("start_at", "end_at"):
        fields[name] = _local(schedule.get(name), zone)
    if "run_at" in schedule:
        fields["run_at"] = _local(schedule["run_at"], zone)
    return fields


_SCHEDULE_FIELDS = (
    "timezone",
    "misfire_policy",
    "misfire_grace_seconds",
    "dst_gap",
    "dst_overlap",
    "max_occurrences",
)
_RETRY_FIELDS = ("max_attempts", "backoff", "initial_delay_seconds", "factor", "max_delay_seconds")


def _when(schedule: Mapping[str, Any]) -> dict[str, str]:
    if schedule.get("cron_expression"):
        return {"when": "cron", "cron_expression": schedule["cron_expression"]}
    if schedule.get("every"):
        found = _EVERY.fullmatch(schedule["every"])
        count, unit = (found[1] or found[2], found[3] or "D") if found else ("", "S")
        shown = {"when": "every", "every_count": count, "every_unit": unit}
        return shown if found else {**shown, "every": schedule["every"]}
    if schedule.get("run_at"):
        return {"when": "at"}
    return {}


@dataclass(frozen=True, slots=True)
class _Form:
    """A form being read: its fields, what they showed at first, of what, and what is wrong."""

    fields: Mapping[str, str]
    shown: Mapping[str, str]
    base: Mapping[str, Any]
    errors: list[FieldError]

    def same(self, *names: str) -> bool:
        """Return whether the fields still say what they showed of the base."""
        return all(
            name in self.shown and _lines(self.fields.get(name, "")) == _lines(self.shown[name])
            for name in names
        )


def _lines(text: str) -> list[str]:
    # Browsers send CRLF; other separators that Python knows may be part of a value.
    return [line.removesuffix("\r") for line in text.split("\n")]


def _schedule(form: _Form, base: Mapping[str, Any]) -> dict[str, Any]:
    fields = form.fields
    when = fields.get("when", "cron")
    timing = {"cron_expression", "every", "run_at", "delay_seconds"}
    recurring_only = {"dst_gap", "dst_overlap", "start_at", "end_at", "max_occurrences"}
    dropped = timing if when in _RECURRING else timing | recurring_only
    # Fields of the other type of task would be refused.
    same_type = (when in _RECURRING) == any(base.get(name) for name in ("cron_expression", "every"))
    schedule = {k: v for k, v in base.items() if k not in dropped} if same_type else {}
    schedule["timezone"] = fields.get("timezone", "").strip() or "UTC"
    schedule["misfire_policy"] = fields.get("misfire_policy", "coalesce")
    at = "#/schedule/misfire_grace_seconds"
    schedule |= _number(form, "misfire_grace_seconds", at)
    schedule |= _timing(form, when, base)
    if when in _RECURRING:
        for name in ("start_at", "end_at"):
            schedule[name] = _instant(form, name, base)
        schedule |= _number(form, "max_occurrences", "#/schedule/max_occurrences")
        if when == "cron":
            schedule |= {
                name: fields[name] for name in ("dst_gap", "dst_overlap") if fields.get(name)
            }
        else:
            schedule = {k: v for k, v in schedule.items() if not k.startswith("dst_")}
            if schedule["start_at"] is None:
                del schedule["start_at"]
    return schedule


def _timing(form: _Form, when: str, base: Mapping[str, Any]) -> dict[str, Any]:
    fields = form.fields
    if when == "every":
        if base.get("every") and form.same("every_count", "every_unit"):
            return {"every": base["every"]}
        count, unit = fields.get("every_count", "").strip(), fields.get("every_unit", "M")
        if not count.isascii() or not count.isdecimal() or unit not in UNITS:
            message = "Give a whole number and a unit."
            form.errors.append(FieldError("#/schedule/every", "invalid", message))
            return {}
        return {"every": f"P{count}D" if unit == "D" else f"PT{count}{unit}"}
    if when == "at":
        return {"run_at": _instant(form, "run_at", base, required=True)}
    if when == "after":
        return _number(form, "delay_seconds", "#/schedule/delay_seconds")
    if when != "cron":
        message = "Choose when: by cron, at a fixed rate, or once."
        form.errors.append(FieldError("#/schedule", "invalid_choice", message))
        return {}
    return {"cron_expression": fields.get("cron_expression", "").strip()}


def _retry_policy(form: _Form, base: Mapping[str, Any]) -> dict[str, Any]:
    policy = dict(base)
    policy |= _number(form, "max_attempts", "#/retry_policy/max_attempts", keep=False)
    backoff = form.fields.get("backoff", policy.get("backoff", "exponential"))
    if backoff == "listed":
        return policy
    policy = {k: v for k, v in policy.items() if k != "delays_seconds"} | {"backoff": backoff}
    names = ("initial_delay_seconds", "factor", "max_delay_seconds")
    for name in names if backoff == "exponential" else names[:1]:
        policy |= _number(form, name, f"#/retry_policy/{name}", keep=False)
    return policy


def _number(form: _Form, name: str, pointer: str, *, keep: bool = True) -> dict[str, Any]:
    """Return the field's number; nothing given is null, or left out unless ``keep``."""
    text = form.fields.get(name, "").strip()
    if not text:
        return {name: None} if keep else {}
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        form.errors.append(FieldError(pointer, "invalid", "Must be a number."))
        return {}
    return {name: int(value) if value.is_integer() else value}


def _instant(
    form: _Form, name: str, base: Mapping[str, Any], *, required: bool = False
) -> str | None:
    """Return the instant of a date and time in the task's zone; an offset may be given."""
    text = form.fields.get(name, "").strip()
    at = f"#/schedule/{name}"
    if not text:
        if required:
            form.errors.append(FieldError(at, "required", "Give a date and time."))
        return None
    if base.get(name) and form.same(name, "timezone"):
        return str(base[name])
    try:
        if re.search(r"(Z|[+-]\d\d:\d\d)$", text):
            return format_instant(parse_instant(text))
        local = datetime.fromisoformat(text)
        zone = find_zone(form.fields.get("timezone", "").strip() or "UTC").info
        return format_instant(local if local.tzinfo else local.replace(tzinfo=zone))
    except UnknownZone:
        return None  # validation says so of the zone itself
    except (ValueError, OverflowError):
        message = "Give a date and time like 2026-11-20 08:00."
        form.errors.append(FieldError(at, "invalid", message))
        return None


def _payload(form: _Form) -> Any:
    text = form.fields.get("payload", "")
    if not text.strip():
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        message = f"This is not JSON: {error.msg} in line {error.lineno}, column {error.colno}."
        form.errors.append(FieldError("#/payload", "invalid_json", message))
        return None


def _headers(form: _Form, base: Mapping[str, str]) -> dict[str, str]:
    if form.same("headers"):
        return dict(base)
    at = "#/target/headers"
    known = {name.lower(): value for name, value in base.items()}
    headers = _pairs(form, "headers", ":", at)
    for name, value in headers.items():
        if value == MASK and is_secret_header(name):
            if name.lower() in known:
                headers[name] = known[name.lower()]
            else:
                message = f"Type the value of {name[:100]}; it is not known here."
                form.errors.append(FieldError(at, "secret_unknown", message))
    return headers


def _pairs(form: _Form, field: str, separator: str, pointer: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for number, line in enumerate(_lines(form.fields.get(field, "")), start=1):
        if not line.strip():
            continue
        name, found, value = (part.strip() for part in line.partition(separator))
        if not found or not name or name in pairs:
            problem = "is given twice" if name in pairs else f"is not “name{separator} value”"
            form.errors.append(FieldError(pointer, "invalid", f"Line {number} {problem}."))
            continue
        pairs[name] = value
    return pairs


def _zone_or_utc(name: str) -> tzinfo:
    try:
        return find_zone(name).info
    except UnknownZone:
        return UTC


def _local(text: str | None, zone: tzinfo) -> str:
    if not text:
        return ""
    return parse_instant(text).astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S")


def _plain(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
