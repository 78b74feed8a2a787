"""Validation of a webhook's templates: known names only, and none in a URL's origin.

Without ``template: true`` braces are text like any other and nothing of this applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.json_pointer import child
from shared.templates import NAMES, names_in, origin_is_fixed, render, unknown_names
from tasks.field_reader import Errors, FieldReader, suggest

_KNOWN = (*NAMES, "labels.<key>")


def check_templates(value: Any, pointer: str, errors: Errors) -> None:
    """Note every text of a JSON value that holds an unknown name."""
    waiting: list[tuple[Any, str]] = [(value, pointer)]
    while waiting and not errors.full:
        item, at = waiting.pop()
        if isinstance(item, Mapping):
            waiting.extend((inside, child(at, str(key))) for key, inside in item.items())
        elif isinstance(item, list):
            waiting.extend((inside, f"{at}/{place}") for place, inside in enumerate(item))
        else:
            for name in unknown_names(item):
                message = f"There is no template {name[:100]!r}; there are {', '.join(_KNOWN)}."
                errors.add(at, "template_unknown_name", message + suggest(name, NAMES))


def sample_url(reader: FieldReader, key: str, url: str) -> str:
    """Return the URL as an attempt could send it; a template in its origin is noted."""
    check_templates(url, child(reader.pointer, key), reader.errors)
    return "" if note_template_in_origin(reader, key, url) else with_names(url)


def note_template_in_origin(reader: FieldReader, key: str, url: str) -> bool:
    """Note a template in the origin of a URL, and return whether there is one."""
    if origin_is_fixed(url):
        return False
    message = "Templates may only stand behind the host of the URL."
    reader.error(key, "template_in_origin", message)
    return True


def with_names(text: str) -> str:
    """Return the text with each template replaced by its name."""
    return render(text, {name: name for name in names_in(text)}, _plain)


def _plain(name: str) -> str:
    return "".join(char if char.isascii() and char.isalnum() else "_" for char in name) or "_"
