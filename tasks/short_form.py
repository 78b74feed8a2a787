"""The short form of a definition: the schedule at the top, the webhook inside the payload.

:func:`as_long` turns a body of either form into the long one and translates an error's pointer
into the form that the caller used. A body is in the short form when it has a schedule's
field at the top, or a payload with ``webhook_url`` and no ``target``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shared.json_pointer import child
from tasks.definition import TARGET_DEFAULTS
from tasks.field_reader import Errors, called_in_json, spell, suggest
from tasks.validation.schedule import SCHEDULE_FIELDS

#: Names that only the short form has.
_ALIASES = {"start_date": "start_at", "end_date": "end_at"}
SHORT_SCHEDULE_FIELDS = (*SCHEDULE_FIELDS, *_ALIASES)
#: Field inside the short form's payload -> field of the target.
_WEBHOOK = {"webhook_url": "url"} | {
    key: key for key in TARGET_DEFAULTS if key not in ("kind", "url")
}
_PAYLOAD_NAME = {name: key for key, name in _WEBHOOK.items()}
SHORT_PAYLOAD_FIELDS = (*_WEBHOOK, "body")

Rename = Callable[[str], str]


def as_long(body: Mapping[str, Any], errors: Errors) -> tuple[dict[str, Any], Rename]:
    """Return the body in the long form and the renaming of pointers into the body's own form.

    Note errors of the short form itself with the caller's pointers. A mixture of both forms raises
    InvalidInput.
    """
    marks = _short_marks(body)
    if not marks:
        return dict(body), str
    long_parts = [key for key in ("schedule", "target") if key in body]
    if long_parts:
        for mark in marks:
            errors.add(
                mark,
                "mixed_forms",
                f"This field belongs to the short form, {spell(long_parts)} to the long form; "
                "use one form in one call.",
            )
        errors.raise_if_any()
    return _convert(body, errors), _renaming(body)


def _short_marks(body: Mapping[str, Any]) -> list[str]:
    marks = [child("#", key) for key in SHORT_SCHEDULE_FIELDS if key in body]
    payload = body.get("payload")
    if "target" not in body and isinstance(payload, Mapping) and "webhook_url" in payload:
        marks.append("#/payload/webhook_url")
    return marks


def _convert(body: Mapping[str, Any], errors: Errors) -> dict[str, Any]:
    long = {
        key: value
        for key, value in body.items()
        if key not in SHORT_SCHEDULE_FIELDS and key != "payload"
    }
    schedule = {key: body[key] for key in SCHEDULE_FIELDS if key in body}
    for alias, name in _ALIASES.items():
        if alias in body and name in schedule:
            errors.add(child("#", alias), "exclusive", f"Give {alias} or {name}, not both.")
        elif alias in body:
            schedule[name] = body[alias]
    if schedule:
        long["schedule"] = schedule
    if "payload" in body:
        long |= _convert_payload(body["payload"], errors)
    return long


def _convert_payload(payload: Any, errors: Errors) -> dict[str, Any]:
    if not isinstance(payload, Mapping):
        message = (
            "In the short form the payload is an object with webhook_url, "
            f"not {called_in_json(payload)}."
        )
        errors.add("#/payload", "invalid_type", message)
        return {}
    for key in payload:
        if key not in SHORT_PAYLOAD_FIELDS and not errors.full:
            message = (
                "There is no such field; in the short form, what is sent stands under body."
                + suggest(key, SHORT_PAYLOAD_FIELDS)
            )
            errors.add(child("#/payload", key), "unknown_field", message)
    long: dict[str, Any] = {
        "target": {
            "kind": "webhook",
            **{_WEBHOOK[key]: value for key, value in payload.items() if key in _WEBHOOK},
        }
    }
    if "body" in payload:
        long["payload"] = payload["body"]
    return long


def _renaming(body: Mapping[str, Any]) -> Rename:
    used = {name: alias for alias, name in _ALIASES.items() if alias in body}

    def rename(pointer: str) -> str:
        first, *rest = pointer.removeprefix("#/").split("/")
        if first == "schedule":
            parts = [used.get(part, part) for part in rest[:1]] + rest[1:]
        elif first == "target":
            parts = ["payload", *(_PAYLOAD_NAME.get(part, part) for part in rest[:1]), *rest[1:]]
        elif first == "payload":
            parts = ["payload", "body", *rest]
        else:
            return pointer
        return "/".join(["#", *parts])

    return rename
