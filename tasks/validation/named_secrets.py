"""Validation of references to named secrets: their names, their places, and where they may go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shared.json_pointer import child
from shared.named_secrets.bindings import refusals
from shared.named_secrets.references import (
    AUTH_FIELDS,
    WHOLE_PARTS,
    is_name,
    names_in,
    names_of,
    places_of,
)
from tasks.field_reader import Errors
from tasks.limits import SECRETS_IN_TARGET, Limits

NOT_HERE = (
    "A secret may stand in the secret fields of auth, in headers, and in the environment of a "
    "command only."
)
_BAD_NAME = "Names of secrets have lower-case letters, digits, _ and -, and begin with a letter."


def check_secrets(target: Mapping[str, Any], pointer: str, errors: Errors, limits: Limits) -> None:
    """Note each reference that cannot stand where it does, exists nowhere, or may not go there.

    The target is in normal form; one with errors of its own is not judged.
    """
    if not target or errors.full or errors.below(pointer):
        return
    for at in _elsewhere(target):
        errors.add(f"{pointer}{at}", "secret_not_here", NOT_HERE)
    names = names_of(target)
    if not names:
        return
    if len(names) > SECRETS_IN_TARGET:
        message = f"A target can use at most {SECRETS_IN_TARGET} secrets."
        errors.add(pointer, "too_many", message)
        return
    bindings = limits.secrets([name for name in names if is_name(name)])
    for part, key, text in places_of(target):
        at = child(child(pointer, part), key)
        for name in dict.fromkeys(names_in(text)):
            if not is_name(name):
                errors.add(at, "secret_name_invalid", _BAD_NAME)
            elif name not in bindings:
                message = f"There is no secret {name!r}. An admin of the tenant writes it."
                errors.add(at, "secret_unknown", message)
            else:
                for _, reason in refusals(bindings[name], target):
                    message = f"The secret {name!r} is bound: {reason}."
                    errors.add(at, "secret_not_allowed", message)


def is_place(way: tuple[str | int, ...]) -> bool:
    """Return whether a reference may stand at this way within a target."""
    part, key = (*way, "", "")[:2]
    return part in WHOLE_PARTS or (part == "auth" and key in AUTH_FIELDS)


def _elsewhere(target: Mapping[str, Any]) -> Iterator[str]:
    """Yield the pointer, within the target, of each text that holds a reference in vain."""
    if isinstance(target.get("url"), str) and names_in(target["url"]):
        yield "/url"
    for place, text in enumerate(target.get("arguments") or ()):
        if names_in(text):
            yield f"/arguments/{place}"
    for part in ("auth", "proxy", "tls"):
        inside = target.get(part)
        for key, text in inside.items() if isinstance(inside, Mapping) else ():
            allowed = part == "auth" and key in AUTH_FIELDS
            if isinstance(text, str) and not allowed and names_in(text):
                yield child(f"/{part}", key)
