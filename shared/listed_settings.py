"""Settings whose value is a JSON list with an object for each thing: issuers, providers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def read_list(text: str, of: str, bad: Callable[[str], Exception]) -> list[Any]:
    """Return the entries of a setting, none for a blank text; raise ``bad`` of what is wrong.

    ``of`` is the word for one entry. No error quotes the text, which may hold a secret.
    """
    if not text.strip():
        return []
    try:
        given = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise bad("it is not JSON, or names a field twice") from error
    if not isinstance(given, list):
        raise bad(f"it must be a list of objects, one for each {of}")
    return given


def refuse_unknown(
    given: dict[str, Any], known: frozenset[str], where: str, bad: Callable[[str], Exception]
) -> None:
    """Raise ``bad`` for a field of an entry that the setting does not know."""
    unknown = sorted(set(given) - known)
    if unknown:
        raise bad(f"{where} has the unknown field {unknown[0][:50]!r}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found
