"""Validation of a target: its kind, and the name that it gives to a task without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from shared.addresses import UrlError, parse_target_url
from tasks import choices
from tasks.definition import target_defaults
from tasks.field_reader import FieldReader
from tasks.known_fields import missing_kind
from tasks.limits import NAME_LENGTH, Limits
from tasks.repeats import Repeats
from tasks.validation.templates import with_names
from tasks.validation.webhook import OWN_FIELDS, read_own_fields, read_webhook
from tasks.validation.worked import read_command, read_handler, read_pool_target

_READERS: dict[str, Callable[[FieldReader, Limits], dict[str, Any]]] = {
    "webhook": read_webhook,
    "pool": read_pool_target,
    "handler": read_handler,
    "command": read_command,
}


def read_target(reader: FieldReader, limits: Limits, repeats: Repeats) -> dict[str, Any]:
    """Return the target in normal form; note what is wrong."""
    data, errors = reader.data, reader.errors
    if missing := missing_kind(data):
        # Without a kind, no field can be called wrong.
        reader.error("kind", "required", missing)
        return target_defaults("webhook")
    kind = reader.choice("kind", choices.TARGET_KINDS, "webhook")
    if data.get("kind", kind) != kind:
        # For an unknown kind, no field can be called wrong.
        return target_defaults("webhook")
    whole = partial(_READERS[kind], reader, limits)
    if kind != "webhook" or data.get("template") or data.get("auth"):
        return repeats.read("target", data, errors, whole)
    rest = {key: value for key, value in data.items() if key not in OWN_FIELDS}
    return repeats.read("webhook", rest, errors, whole, partial(read_own_fields, reader, limits))


def default_name(target: Mapping[str, Any], limits: Limits) -> str:
    """Return the name of a task without one: where its target is, and what it runs there."""
    if target["kind"] == "command":
        return str(target["command"])
    if target["kind"] in ("pool", "handler"):
        return f"{target['pool']}/{target['handler']}"[:NAME_LENGTH]
    return _name_of_webhook(target, limits)


def _name_of_webhook(target: Mapping[str, Any], limits: Limits) -> str:
    called = with_names(target["url"]) if target["template"] else target["url"]
    try:
        url = parse_target_url(called, limits.allow_list, limits.allowed_low_ports)
    except UrlError:
        return ""  # The target has an error of its own.
    # Without the path, which may hold a token: a name is stored, listed and mailed in clear.
    return url.authority[:NAME_LENGTH]
