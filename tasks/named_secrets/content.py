"""From the body of a call to a named secret: its name, its value, and where it may go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.json_pointer import child
from shared.named_secrets.bindings import ANY, Binding, read_host
from shared.named_secrets.references import NAME_LENGTH, is_name
from shared.redaction import MASK
from tasks.field_reader import Errors, FieldReader, called_in_json, text_problem
from tasks.limits import DESTINATION_LENGTH, SECRET_BINDINGS, SECRET_BYTES
from tasks.limits import NAME_LENGTH as COMMAND_LENGTH

#: The longest host of a binding: a destination with a scheme and a wildcard.
HOST_LENGTH = DESTINATION_LENGTH + len("https://*.")
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")
_FIELDS = ("name", "value", "hosts", "commands")


@dataclass(frozen=True, slots=True)
class Content:
    """What a call asks for; None for what it leaves out."""

    name: str | None = None
    value: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] | None = None
    commands: tuple[str, ...] | None = None

    def binding(self, before: Binding) -> Binding:
        """Return the binding, what is left out as it was before."""
        return Binding(
            before.hosts if self.hosts is None else self.hosts,
            before.commands if self.commands is None else self.commands,
        )


def read_new(body: Mapping[str, Any]) -> Content:
    """Return the content of a new secret; raise InvalidInput."""
    errors = Errors()
    reader = FieldReader(body, "#", errors)
    reader.refuse_unknown(_FIELDS)
    reader.require("name", "Give the secret a name.")
    reader.require("value", "Give the value.")
    content = _read(reader)
    if not content.hosts and not content.commands and not errors.count:
        message = (
            "Say where the secret may go: hosts such as api.example.com, or names of commands; "
            "* allows every one."
        )
        errors.add("#/hosts", "required", message)
    errors.raise_if_any()
    return content


def read_changes(body: Mapping[str, Any]) -> Content:
    """Return the changes of a secret, whose name stays; raise InvalidInput."""
    errors = Errors()
    reader = FieldReader(body, "#", errors)
    reader.refuse_unknown(_FIELDS[1:], read_only=("name",))
    content = _read(reader)
    errors.raise_if_any()
    return content


def _read(reader: FieldReader) -> Content:
    return Content(
        name=_name(reader) if "name" in reader.data else None,
        value=_value(reader),
        hosts=_list(reader, "hosts", _host),
        commands=_list(reader, "commands", _command),
    )


def _name(reader: FieldReader) -> str:
    name: str = reader.text("name", "", longest=NAME_LENGTH)
    if name and not is_name(name):
        message = "Lower-case letters, digits, _ and -, beginning with a letter."
        reader.error("name", "name_invalid", message)
    return name


def _value(reader: FieldReader) -> str | None:
    value: str | None = reader.text("value", None, longest=SECRET_BYTES, printable=False)
    if value is None:
        return None
    if value == MASK:
        reader.error("value", "secret_masked", "This is a mask; write the secret itself.")
    elif len(value.encode(errors="surrogatepass")) > SECRET_BYTES:
        reader.error("value", "too_long", f"Must be at most {SECRET_BYTES} bytes.")
    elif _CONTROLS.search(value):
        message = "Of control characters only tabs and line ends may stand in a secret."
        reader.error("value", "invalid_characters", message)
    return value


def _list(reader: FieldReader, key: str, read: Callable[[str], str]) -> tuple[str, ...] | None:
    """Return the entries in normal form, each once; None where the field is left out."""
    if key not in reader.data:
        return None
    given = reader.sequence(key, [])
    if len(given) > SECRET_BINDINGS:
        reader.error(key, "too_many", f"Give at most {SECRET_BINDINGS}.")
        return ()
    found: dict[str, None] = {}
    for place, entry in enumerate(given):
        at = f"{child(reader.pointer, key)}/{place}"
        if not isinstance(entry, str):
            reader.errors.add(at, "invalid_type", f"Must be text, not {called_in_json(entry)}.")
            continue
        problem = text_problem(entry, longest=HOST_LENGTH)
        try:
            if problem is None:
                found[read(entry)] = None
        except ValueError as wrong:
            problem = ("invalid", f"This cannot be used: {wrong}")
        if problem:
            reader.errors.add(at, *problem)
    return (ANY,) if ANY in found else tuple(found)


def _host(entry: str) -> str:
    return read_host(entry)


def _command(entry: str) -> str:
    name = entry.strip()
    if len(name) > COMMAND_LENGTH:
        raise ValueError(f"a name has at most {COMMAND_LENGTH} characters")
    return name
