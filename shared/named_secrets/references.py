"""References to named secrets: ``{{ secrets.name }}`` in the texts of a target.

They may stand in the secret fields of ``auth``, in headers, and in the environment of a command. A
value is inserted once and not read again, also where it looks like a reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shared.templates import TEMPLATE, name_of

PREFIX = "secrets."
NAME_LENGTH = 63
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
#: The fields of ``auth`` that may hold references.
AUTH_FIELDS = ("password", "token", "value", "client_secret")
#: The parts of a target whose texts may all hold references.
WHOLE_PARTS = ("headers", "environment")
_PLACES = ("auth", *WHOLE_PARTS)
#: What may surround a reference in a text that is shown: names of schemes, and blanks.
_PLAIN_WORDS = re.compile(r"(?:(?:basic|bearer|token|apikey|key)\b)?[ \t]*", re.IGNORECASE)

#: A text whose references are kept apart: texts, and objects with the name of a secret.
Parts = list[str | dict[str, str]]


def is_name(name: str) -> bool:
    """Return whether a secret may have the name."""
    return _NAME.fullmatch(name) is not None


def secret_of(name: str) -> str | None:
    """Return the secret that a template's name refers to; None where it refers to none."""
    return name.removeprefix(PREFIX) if name.startswith(PREFIX) else None


def names_in(text: str) -> list[str]:
    """Return the names of the secrets that a text refers to, in order."""
    if PREFIX not in text:
        return []
    found = (secret_of(name_of(place)) for place in TEMPLATE.finditer(text))
    return [name for name in found if name is not None]


def without_references(text: str) -> str:
    """Return the text with letters in place of its references, and all other templates."""
    return _replaced(text, lambda name: "x" * len(name))


def places_of(target: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the part, the key and the text of each place of a target that may hold references."""
    auth = target.get("auth")
    if isinstance(auth, Mapping):
        yield from (
            ("auth", key, auth[key]) for key in AUTH_FIELDS if isinstance(auth.get(key), str)
        )
    for part in WHOLE_PARTS:
        inside = target.get(part)
        if isinstance(inside, Mapping):
            yield from ((part, key, text) for key, text in inside.items() if isinstance(text, str))


def names_of(target: Mapping[str, Any]) -> list[str]:
    """Return the names of the secrets that a target uses, in order, each once."""
    # Most targets have none of the places, and a task that is created is asked three times.
    if not any(map(target.get, _PLACES)):
        return []
    return sorted({name for _, _, text in places_of(target) for name in names_in(text)})


def split(text: str) -> str | Parts:
    """Return a text with its references apart; one without any as it is."""
    if not names_in(text):
        return text
    parts: Parts = []
    at = 0
    for place in TEMPLATE.finditer(text):
        name = secret_of(name_of(place))
        if name is not None:
            parts += [text[at : place.start()], {"secret": name}]
            at = place.end()
    return [*parts, text[at:]]


def joined(parts: str | Sequence[str | Mapping[str, str]], value_of: Callable[[str], str]) -> str:
    """Return the text of parts, each reference replaced by ``value_of`` its name."""
    if isinstance(parts, str):
        return parts
    return "".join(one if isinstance(one, str) else value_of(one["secret"]) for one in parts)


def as_written(parts: str | Sequence[str | Mapping[str, str]]) -> str:
    """Return the text of parts with its references as a person writes them."""
    return joined(parts, lambda name: f"{{{{ {PREFIX}{name} }}}}")


def fill(text: str, value_of: Callable[[str], str]) -> str:
    """Return the text, each reference replaced by ``value_of`` its name; other templates stay."""
    return _replaced(text, value_of) if PREFIX in text else text


def shows_no_secret(text: str) -> bool:
    """Return whether a text is references and the name of a scheme only, so that it may be shown.

    A text that has more beside its reference may hold a secret of its own.
    """
    if not names_in(text):
        return False
    return _PLAIN_WORDS.fullmatch(_replaced(text, lambda name: "")) is not None


def _replaced(text: str, value_of: Callable[[str], str]) -> str:
    def value(place: re.Match[str]) -> str:
        name = secret_of(name_of(place))
        return place[0] if name is None else value_of(name)

    return TEMPLATE.sub(value, text)
