"""Validation of a target: the webhook's URL, headers, limits and criteria of success.

Kinds and options that later versions bring are refused by name, so that nobody relies on a
setting that has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.addresses import UrlError, parse_target_url
from shared.http_headers import check_header
from tasks import choices
from tasks.definition import TARGET_DEFAULTS
from tasks.field_reader import FieldReader, called_in_json, child, suggest
from tasks.limits import HEADER_BYTES, HEADERS, URL_LENGTH, Limits
from tasks.validation_retry import is_status_pattern

_MAX_RUNTIME_SECONDS = 30 * 24 * 3600
_STATUSES = 50
_HEADER_PROBLEMS = {
    "header_reserved": "Punctual or the connection sets this header.",
    "header_invalid": "Names are HTTP tokens, values visible ASCII with single-line blanks.",
}
#: Options with exactly one value in this version, and what the others would be.
_LATER = {
    "template": "Templates are not supported by this version; leave template false.",
    "follow_redirects": "Following redirects is not supported by this version.",
}


def read_target(reader: FieldReader, limits: Limits) -> dict[str, Any]:
    """Return the target in normal form; what is wrong is noted."""
    kind = reader.choice("kind", choices.TARGET_KINDS, "webhook", choices.TARGET_KINDS_LATER)
    if reader.given("kind") and reader.data["kind"] != kind:
        # The fields of another kind would only be reported as unknown.
        return dict(TARGET_DEFAULTS)
    reader.refuse_unknown(TARGET_DEFAULTS)
    default = TARGET_DEFAULTS
    target = {
        "kind": kind,
        "url": _url(reader, limits),
        "method": reader.choice("method", choices.METHODS, default["method"]),
        "headers": _headers(reader),
        "timeout_seconds": reader.number("timeout_seconds", default["timeout_seconds"], 0.1, 3600),
        "connect_timeout_seconds": reader.number(
            "connect_timeout_seconds", default["connect_timeout_seconds"], 0.1, 60
        ),
        "completion": reader.choice(
            "completion", choices.COMPLETIONS, "response", choices.COMPLETIONS_LATER
        ),
        "heartbeat_timeout_seconds": reader.number(
            "heartbeat_timeout_seconds", default["heartbeat_timeout_seconds"], 1, 24 * 3600
        ),
        "max_runtime_seconds": reader.number(
            "max_runtime_seconds", None, 1, _MAX_RUNTIME_SECONDS, nullable=True
        ),
        "success": {"statuses": _statuses(reader)},
    }
    _check_runtime(reader, target)
    return target | _only_defaults(reader)


def _url(reader: FieldReader, limits: Limits) -> str:
    if "url" not in reader.data:
        reader.error("url", "required", "Give the URL to call.")
    url = reader.text("url", "", longest=URL_LENGTH)
    if url:
        try:
            parse_target_url(url, limits.allow_list, limits.allowed_low_ports)
        except UrlError as refused:
            reader.error("url", refused.code, refused.message)
    return str(url)


def _headers(reader: FieldReader) -> dict[str, str]:
    headers = reader.mapping("headers")
    if len(headers) > HEADERS:
        reader.error("headers", "too_many", f"Give at most {HEADERS} headers.")
        return {}
    at = child(reader.pointer, "headers")
    seen: set[str] = set()
    for name, value in headers.items():
        problem = _header_problem(str(name), value, seen)
        if problem:
            reader.errors.add(child(at, str(name)), *problem)
        seen.add(str(name).lower())
    if reader.errors.below(at):
        return {}
    size = sum(len(name) + len(value) + len(": \r\n") for name, value in headers.items())
    if size > HEADER_BYTES:
        reader.error("headers", "too_long", f"Headers are {size} bytes, over {HEADER_BYTES}.")
    return dict(headers)


def _header_problem(name: str, value: Any, seen: set[str]) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return "invalid_type", f"Must be text, not {called_in_json(value)}."
    if name.lower() in seen:
        return "duplicate", "The same header is given twice; upper and lower case are one."
    code = check_header(name, value)
    return (code, _HEADER_PROBLEMS.get(code, "Must be a valid header.")) if code else None


def _statuses(reader: FieldReader) -> list[str]:
    default: list[str] = TARGET_DEFAULTS["success"]["statuses"]
    success = FieldReader(
        reader.mapping("success"), child(reader.pointer, "success"), reader.errors
    )
    _refuse_other_criteria(success)
    statuses = success.sequence("statuses", default)
    if not 1 <= len(statuses) <= _STATUSES:
        success.error("statuses", "out_of_range", f"Give 1 to {_STATUSES} statuses.")
    for place, status in enumerate(statuses[:_STATUSES]):
        at = f"{success.pointer}/statuses/{place}"
        if not isinstance(status, str):
            reader.errors.add(at, "invalid_type", 'Write it as text, like "200" or "2xx".')
        elif not is_status_pattern(status):
            reader.errors.add(at, "invalid_choice", "Use '204', '2xx' or '200-204'.")
    return list(statuses)


def _refuse_other_criteria(success: FieldReader) -> None:
    for key in success.data:
        if key == "statuses" or success.errors.full:
            continue
        if meant := suggest(key, ["statuses"]):
            success.error(key, "unknown_field", f"There is no such field.{meant}")
        else:
            message = "Only 'statuses' decides over success in this version."
            success.error(key, "not_supported", message)


def _check_runtime(reader: FieldReader, target: Mapping[str, Any]) -> None:
    runtime = target["max_runtime_seconds"]
    if runtime is not None and runtime < target["timeout_seconds"]:
        reader.error(
            "max_runtime_seconds",
            "out_of_range",
            "Must not be below timeout_seconds, which already ends a call.",
        )


def _only_defaults(reader: FieldReader) -> dict[str, Any]:
    for key, message in _LATER.items():
        if reader.boolean(key, False):
            reader.error(key, "not_supported", message)
    if reader.given("auth"):
        message = "Authentication of targets is not supported by this version; use headers."
        reader.error("auth", "not_supported", message)
    return {"template": False, "follow_redirects": False, "auth": None}
