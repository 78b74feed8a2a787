"""Validation of a webhook: its URL, method, headers, limits and further options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.json_pointer import child
from shared.named_secrets.references import without_references
from tasks import choices
from tasks.definition import TARGET_DEFAULTS
from tasks.field_reader import Errors, FieldReader, called_in_json
from tasks.known_fields import refuse_unknown_of_kind
from tasks.limits import RUNTIME_SECONDS, URL_LENGTH, Limits
from tasks.validation.auth import read_auth
from tasks.validation.headers import read_headers
from tasks.validation.proxy import read_proxy
from tasks.validation.success import check_against_method, read_success
from tasks.validation.templates import check_templates, sample_url
from tasks.validation.tls import read_tls
from tasks.validation.urls import parse_noting

#: Fields in which otherwise equal webhooks of tasks differ; read by themselves where neither
#: templates nor authentication use them.
OWN_FIELDS = ("headers", "url")


def read_webhook(reader: FieldReader, limits: Limits) -> dict[str, Any]:
    """Return the webhook in normal form; note what is wrong."""
    default = TARGET_DEFAULTS
    refuse_unknown_of_kind(reader, "webhook")
    template = reader.boolean("template", False)
    method = reader.choice("method", choices.METHODS, default["method"])
    headers = read_headers(reader)
    if template:
        # Named secrets may stand in headers with templates and without.
        own = {name: without_references(value) for name, value in headers.items()}
        check_templates(own, child(reader.pointer, "headers"), reader.errors)
    success = read_success(reader)
    check_against_method(reader, success, method)
    return {
        "kind": "webhook",
        "url": _url(reader, limits, template=template),
        "method": method,
        "headers": headers,
        "body_format": reader.choice("body_format", choices.BODY_FORMATS, default["body_format"]),
        **_times(reader),
        "template": template,
        "success": success,
        "follow_redirects": reader.boolean("follow_redirects", False),
        "auth": read_auth(reader, headers, limits),
        "tls": read_tls(reader, limits),
        "proxy": read_proxy(reader, limits),
    }


def read_own_fields(reader: FieldReader, limits: Limits) -> dict[str, Any]:
    """Return OWN_FIELDS of a webhook whose other fields are known; note what is wrong."""
    headers = read_headers(reader)
    return {"headers": headers, "url": _url(reader, limits, template=False)}


def check_payload_fits(
    target: Mapping[str, Any], payload: Any, errors: Errors, pointer: str = "#/payload"
) -> None:
    """Note a payload that the webhook cannot send, or that holds an unknown template."""
    if target["body_format"] == "raw" and not isinstance(payload, str | None):
        message = f"A raw body is text or null, not {called_in_json(payload)}."
        errors.add(pointer, "invalid_type", message)
    if target["template"]:
        check_templates(payload, pointer, errors)


def _url(reader: FieldReader, limits: Limits, *, template: bool) -> str:
    reader.require("url", "Give the URL to call.")
    url: str = reader.text("url", "", longest=URL_LENGTH)
    called = sample_url(reader, "url", url) if url and template else url
    if called:
        parse_noting(reader, "url", called, limits)
    return url


def _times(reader: FieldReader) -> dict[str, Any]:
    default = TARGET_DEFAULTS
    times = {
        "timeout_seconds": reader.number("timeout_seconds", default["timeout_seconds"], 0.1, 3600),
        "connect_timeout_seconds": reader.number(
            "connect_timeout_seconds", default["connect_timeout_seconds"], 0.1, 60
        ),
        "completion": reader.choice("completion", choices.COMPLETIONS, default["completion"]),
        "heartbeat_timeout_seconds": reader.number(
            "heartbeat_timeout_seconds", default["heartbeat_timeout_seconds"], 1, 24 * 3600
        ),
        "max_runtime_seconds": reader.number(
            "max_runtime_seconds", None, 1, RUNTIME_SECONDS, nullable=True
        ),
    }
    _check_runtime(reader, times)
    return times


def _check_runtime(reader: FieldReader, times: Mapping[str, Any]) -> None:
    runtime = times["max_runtime_seconds"]
    if runtime is None or reader.errors.below(child(reader.pointer, "completion")):
        return
    if times["completion"] != "callback":
        message = "Only with completion 'callback'; timeout_seconds ends a call."
        reader.error("max_runtime_seconds", "not_applicable", message)
    elif runtime < times["timeout_seconds"]:
        message = "Must not be below timeout_seconds, which already ends a call."
        reader.error("max_runtime_seconds", "out_of_range", message)
