"""The target in the task's form: its kind, and the fields of each kind.

``form`` reads and shows it with the other parts. Fields of another kind than the chosen one are
left out, and a change of the kind drops the old target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from dashboard.task_form import webhook as webhooks
from dashboard.task_form.values import (
    Form,
    exact_text,
    lines,
    read_number,
    read_pairs,
    read_words,
    show_plain,
)
from shared.exceptions import InvalidInput
from shared.strict_json import read_json_or_word
from tasks.choices import TARGET_KINDS
from tasks.definition import COMMAND_TARGET_DEFAULTS, HANDLER_TARGET_DEFAULTS

#: The fields of a new form.
EMPTY: Mapping[str, str] = {
    **webhooks.EMPTY,
    "kind": "webhook",
    "handler_pool": HANDLER_TARGET_DEFAULTS["pool"],
    "command_pool": COMMAND_TARGET_DEFAULTS["pool"],
    "run_timeout_seconds": "300",
    "cancel_grace_seconds": "10",
    "output_bytes": "65536",
    "success_exit_codes": "0",
}
_LIMITS = {"timeout_seconds": "run_timeout_seconds", "cancel_grace_seconds": "cancel_grace_seconds"}
#: Kind -> pointer within the target -> field.
FIELD_OF: Mapping[str, Mapping[str, str]] = {
    "webhook": webhooks.FIELD_OF,
    "pool": {
        "pool": "pool_name",
        "handler": "pool_handler",
        "requires": "requires",
        "max_runtime_seconds": "pool_max_runtime_seconds",
    },
    "handler": {"handler": "handler_name", "pool": "handler_pool", **_LIMITS},
    "command": {
        "command": "command",
        "arguments": "arguments",
        "environment": "environment",
        "pool": "command_pool",
        "output_bytes": "output_bytes",
        "memory_bytes": "memory_bytes",
        "success_exit_codes": "success_exit_codes",
        **_LIMITS,
    },
}


def kind_of(fields: Mapping[str, str]) -> str:
    """Return the chosen kind; a webhook where none of the known ones is."""
    kind = fields.get("kind", EMPTY["kind"])
    return kind if kind in TARGET_KINDS else EMPTY["kind"]


def show_target(target: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that show a target, or as much of it as is given."""
    kind = target.get("kind", "webhook")
    if kind == "webhook":
        return {**EMPTY, **webhooks.show_webhook(target)}
    shown = {
        field: show_plain(target[key])
        for key, field in FIELD_OF[kind].items()
        if target.get(key) is not None and not isinstance(target[key], dict | list)
    }
    shown["requires"] = _show_pairs(target.get("requires") or {})
    shown["environment"] = _show_pairs(target.get("environment") or {})
    shown["arguments"] = _show_arguments(target.get("arguments") or [])
    codes = target.get("success_exit_codes")
    if codes is not None:
        shown["success_exit_codes"] = ", ".join(str(code) for code in codes)
    return {**EMPTY, **shown, "kind": kind}


def read_target(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target that the form describes; errors are noted in the form."""
    kind = form.text("kind", EMPTY["kind"])
    if kind not in TARGET_KINDS:
        form.refuse("#/target/kind", "invalid_choice", "Choose what it calls.")
        return {}
    before = base if base.get("kind", "webhook") == kind else {}
    return {**_READERS[kind](form, before), "kind": kind}


def _read_pool(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    name = "pool_max_runtime_seconds"
    number = read_number(form, name, "#/target/max_runtime_seconds")
    requires = dict(base["requires"]) if _same(form, base, "requires") else None
    if requires is None:
        requires = read_pairs(form, "requires", "=", "#/target/requires")
    return {
        **base,
        "pool": exact_text(form, "pool_name", base.get("pool")),
        "handler": exact_text(form, "pool_handler", base.get("handler")),
        "requires": requires,
        **({"max_runtime_seconds": number[name]} if number else {}),
    }


def _read_handler(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **base,
        "handler": exact_text(form, "handler_name", base.get("handler")),
        "pool": form.text("handler_pool", EMPTY["handler_pool"]),
        **_read_limits(form),
    }


def _read_command(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    same = _same(form, base, "arguments")
    return {
        **base,
        "command": exact_text(form, "command", base.get("command")),
        "arguments": list(base["arguments"]) if same else _read_arguments(form),
        "environment": dict(base["environment"])
        if _same(form, base, "environment")
        else read_pairs(form, "environment", "=", "#/target/environment"),
        "pool": form.text("command_pool", EMPTY["command_pool"]),
        "success_exit_codes": _read_exit_codes(form),
        **read_number(form, "output_bytes", "#/target/output_bytes", keep=False),
        **read_number(form, "memory_bytes", "#/target/memory_bytes"),
        **_read_limits(form),
    }


_READERS = {
    "webhook": webhooks.read_webhook,
    "pool": _read_pool,
    "handler": _read_handler,
    "command": _read_command,
}


def _same(form: Form, base: Mapping[str, Any], name: str) -> bool:
    return name in base and form.same(name)


def _read_limits(form: Form) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, field in _LIMITS.items():
        number = read_number(form, field, f"#/target/{key}", keep=False)
        found |= {key: number[field]} if number else {}
    return found


def _show_pairs(pairs: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}={value}" for name, value in pairs.items())


def _show_arguments(arguments: Sequence[str]) -> str:
    """Return one argument a line, or JSON where lines would be read as other arguments."""
    text = "\n".join(arguments)
    try:
        if _split_arguments(text, "#") == list(arguments):
            return text
    except InvalidInput:
        pass  # Validation would refuse it as lines, so it is shown as JSON.
    return orjson.dumps(arguments).decode()


def _read_arguments(form: Form) -> list[str]:
    text = "\n".join(lines(form.fields.get("arguments", "")))
    return form.read(_split_arguments, text, "#/target/arguments") or []


def _split_arguments(text: str, pointer: str) -> list[str]:
    """Return one argument a line, or those of a JSON list of texts; raise InvalidInput."""
    given = read_json_or_word(text, pointer, marks="") if text.startswith("[") else None
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        return given
    return [line for line in text.split("\n") if line.strip()]


def _read_exit_codes(form: Form) -> list[int]:
    codes: list[int] = []
    for word in read_words(form, "success_exit_codes"):
        if not word.isascii() or not word.isdecimal() or len(word) > 9:
            message = "Write whole numbers with commas between, like 0, 2."
            form.refuse("#/target/success_exit_codes", "invalid", message)
            return []
        codes.append(int(word))
    return codes
