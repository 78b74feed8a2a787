"""Templates of a webhook: ``{{ name }}`` in texts, replaced by values and never evaluated.

Validation refuses unknown names and templates in a URL's origin; delivery renders. A known name
without a value (a label that the task lacks) becomes the empty text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

#: The names besides ``labels.<key>``.
NAMES = ("scheduled_for", "attempt", "task.name", "last_success_at")
LABEL_PREFIX = "labels."

# Blanks are taken off afterwards: an expression that leaves it open which part of it takes them
# tries every way, for minutes where braces are followed by thousands of blanks.
TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
_BLANKS = " \t"
#: Scheme and authority, and the character that ends the authority.
_ORIGIN = re.compile(r"https?://[^/?#{}]+[/?#]", re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")


def names_in(text: str) -> list[str]:
    """Return the names that the text holds, in order; braces that hold no name are text."""
    return [name_of(found) for found in TEMPLATE.finditer(text)]


def name_of(found: re.Match[str]) -> str:
    """Return the name in one found TEMPLATE."""
    return found[1].strip(_BLANKS)


def is_known(name: str) -> bool:
    """Return whether a template may hold the name."""
    return name in NAMES or (name.startswith(LABEL_PREFIX) and len(name) > len(LABEL_PREFIX))


def unknown_names(value: Any) -> list[str]:
    """Return the unknown names in a JSON value's texts, each once; keys are not templates."""
    found = (name for text in _texts(value) for name in names_in(text))
    return list(dict.fromkeys(name for name in found if not is_known(name)))


def origin_is_fixed(url: str) -> bool:
    """Return whether every template of the URL follows its scheme, host and port."""
    place = TEMPLATE.search(url)
    if place is None:
        return True
    origin = _ORIGIN.match(url)
    return origin is not None and origin.end() <= place.start()


def render(text: str, values: Mapping[str, str], encode: Callable[[str], str] | None = None) -> str:
    """Return the text with its names replaced, each value through ``encode``; in one pass.

    A value that looks like a template stays as it is.
    """
    if "{{" not in text:
        return text

    def value_of(place: re.Match[str]) -> str:
        value = values.get(name_of(place), "")
        return encode(value) if encode else value

    return TEMPLATE.sub(value_of, text)


def render_url(url: str, values: Mapping[str, str]) -> str:
    """Return the URL; a value is percent-encoded whole, so it ends no part of the URL."""
    return render(url, values, _percent_encoded)


def render_header(value: str, values: Mapping[str, str]) -> str:
    """Return the header's value; controls in what is inserted become blanks."""
    return render(value, values, _without_controls).strip(" \t")


def render_json(value: Any, values: Mapping[str, str]) -> Any:
    """Return the JSON value with its texts rendered; keys and everything else stay."""
    return map_texts(value, lambda text: render(text, values))


def map_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return the JSON value with each text of it changed; keys and everything else stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {key: map_texts(item, change) for key, item in value.items()}
    return value


def _percent_encoded(value: str) -> str:
    return quote(value, safe="", errors="replace")


def _without_controls(value: str) -> str:
    return _CONTROLS.sub(" ", value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
