"""Validation of targets that workers run: leased over the API, as a handler, as a command.

Only the workers know whether a handler is registered. The deployment must allow the tenant to use
a command, and the variables that it gets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from shared.json_pointer import child
from tasks.definition import (
    COMMAND_TARGET_DEFAULTS,
    HANDLER_TARGET_DEFAULTS,
)
from tasks.field_reader import FieldReader, called_in_json, spell, suggest
from tasks.known_fields import refuse_unknown_of_kind
from tasks.limits import NAME_LENGTH, RUNTIME_SECONDS, SECRET_BYTES, Limits
from tasks.validation.labels import read_labels
from tasks.validation.pools import read_callable, read_own_pool, read_pulled_pool
from tasks.validation.secrets import secret_problem

ARGUMENTS = 100
ARGUMENT_BYTES = 4096
VARIABLES = 64
EXIT_CODES = 50
OUTPUT_BYTES = (1024, 1024 * 1024)
MEMORY_BYTES = (16 * 1024**2, 64 * 1024**3)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_pool_target(reader: FieldReader, limits: Limits) -> dict[str, Any]:
    """Return work for pull workers in normal form; note what is wrong."""
    refuse_unknown_of_kind(reader, "pool")
    reader.require("handler", "Say what the worker is to run.")
    return {
        "kind": "pool",
        "pool": read_pulled_pool(reader, limits),
        "handler": reader.text("handler", "", longest=NAME_LENGTH),
        "requires": read_labels(reader, "requires"),
        "max_runtime_seconds": reader.number(
            "max_runtime_seconds", None, 1, RUNTIME_SECONDS, nullable=True
        ),
    }


def read_handler(reader: FieldReader, limits: Limits) -> dict[str, Any]:
    """Return a handler in normal form; note what is wrong."""
    default = HANDLER_TARGET_DEFAULTS
    refuse_unknown_of_kind(reader, "handler")
    return {
        "kind": "handler",
        "handler": read_callable(reader, "handler"),
        "pool": read_own_pool(reader, default["pool"]),
        **_times(reader, default),
    }


def read_command(reader: FieldReader, limits: Limits) -> dict[str, Any]:
    """Return a command in normal form; note what is wrong."""
    default = COMMAND_TARGET_DEFAULTS
    if not limits.commands:
        message = "This deployment allows no commands here (ALLOWED_COMMANDS, COMMAND_TENANTS)."
        reader.error("kind", "commands_disabled", message)
        return dict(default)
    refuse_unknown_of_kind(reader, "command")
    command = _command(reader, limits)
    return {
        "kind": "command",
        "command": command,
        "arguments": _arguments(reader),
        "environment": _environment(reader, command, limits),
        "pool": read_own_pool(reader, default["pool"]),
        **_times(reader, default),
        "output_bytes": reader.integer("output_bytes", default["output_bytes"], *OUTPUT_BYTES),
        "memory_bytes": reader.integer("memory_bytes", None, *MEMORY_BYTES, nullable=True),
        "success_exit_codes": _exit_codes(reader),
    }


def _times(reader: FieldReader, default: dict[str, Any]) -> dict[str, Any]:
    return {
        "timeout_seconds": reader.number(
            "timeout_seconds", default["timeout_seconds"], 0.1, 24 * 3600
        ),
        "cancel_grace_seconds": reader.number(
            "cancel_grace_seconds", default["cancel_grace_seconds"], 0, 300
        ),
    }


def _command(reader: FieldReader, limits: Limits) -> str:
    name = read_callable(reader, "command")
    at = child(reader.pointer, "command")
    if name and name not in limits.commands and not reader.errors.below(at):
        message = "The deployment does not allow this command."
        reader.error("command", "command_unknown", message + suggest(name, limits.commands))
    return name


def _arguments(reader: FieldReader) -> list[str]:
    arguments = reader.sequence("arguments", [])
    if len(arguments) > ARGUMENTS:
        reader.error("arguments", "too_many", f"Give at most {ARGUMENTS} arguments.")
        return []
    for place, value in enumerate(arguments):
        at = f"{child(reader.pointer, 'arguments')}/{place}"
        if not isinstance(value, str):
            reader.errors.add(at, "invalid_type", f"Must be text, not {called_in_json(value)}.")
        elif len(value.encode(errors="surrogatepass")) > ARGUMENT_BYTES:
            reader.errors.add(at, "too_long", f"Must be at most {ARGUMENT_BYTES} bytes.")
    return list(arguments)


def _environment(reader: FieldReader, command: str, limits: Limits) -> dict[str, str]:
    # For an unknown command, no variable can be called wrong.
    allowed = limits.variables.get(command, ()) if command in limits.commands else None
    variables = reader.mapping("environment")
    if len(variables) > VARIABLES:
        reader.error("environment", "too_many", f"Give at most {VARIABLES} variables.")
        return {}
    for name, value in variables.items():
        problem = _name_problem(name, command, allowed) or _value_problem(value)
        if problem:
            reader.errors.add(child(child(reader.pointer, "environment"), name), *problem)
    return dict(variables)


def _name_problem(name: str, command: str, allowed: Sequence[str] | None) -> tuple[str, str] | None:
    if not _VARIABLE.fullmatch(name) or len(name) > NAME_LENGTH:
        return "name_invalid", "Letters, digits and _, not beginning with a digit."
    if allowed is not None and name not in allowed:
        takes = spell(allowed) if allowed else "none"
        message = (
            f"{name} cannot be set here: of variables the command {command!r} takes {takes}. "
            f"The deployment names them in COMMAND_VARIABLES.{suggest(name, allowed)}"
        )
        return "variable_forbidden", message
    return None


def _value_problem(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return "invalid_type", f"Must be text, not {called_in_json(value)}."
    # The empty text and blanks are values of their own here.
    return secret_problem(value, printable=False) if value.strip() else _length_problem(value)


def _length_problem(value: str) -> tuple[str, str] | None:
    too_long = len(value) > SECRET_BYTES
    return ("too_long", f"Must be at most {SECRET_BYTES} bytes.") if too_long else None


def _exit_codes(reader: FieldReader) -> list[int]:
    default: list[int] = list(COMMAND_TARGET_DEFAULTS["success_exit_codes"])
    codes = reader.sequence("success_exit_codes", default)
    if not 1 <= len(codes) <= EXIT_CODES:
        reader.error("success_exit_codes", "out_of_range", f"Give 1 to {EXIT_CODES} codes.")
        return default
    for place, code in enumerate(codes):
        at = f"{child(reader.pointer, 'success_exit_codes')}/{place}"
        if not isinstance(code, int) or isinstance(code, bool):
            message = f"Must be a whole number, not {called_in_json(code)}."
            reader.errors.add(at, "invalid_type", message)
        elif not 0 <= code <= 255:
            reader.errors.add(at, "out_of_range", "Must be from 0 to 255.")
    return list(codes)
