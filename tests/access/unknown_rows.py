"""Ids of no row, and answers without what is one answer's own."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from tests.access.world import World

#: What differs from one answer to the next: traces, form keys and tokens.
_OWN = re.compile(
    r'[0-9a-f]{32}|name="(?:csrfmiddlewaretoken|form_key)" value="[^"]*"|csrfToken[^,]*'
    r'|data-server-time="\d+"'
)


def beside(value: Any) -> Any:
    """Return an id of no row, close to this one."""
    if isinstance(value, UUID):
        # Of the same time: what is looked for by time is looked for in the same place.
        return UUID(int=value.int ^ 1)
    return 700000007 if isinstance(value, int) else "elsewhere"


def plain(text: str, *worlds: World) -> str:
    """Return the text without the ids of the worlds, and without what is one answer's own."""
    ids = {str(one) for world in worlds for one in world.ids.values()}
    longest_first = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    return re.sub(rf"(?<![\w-])(?:{longest_first})(?![\w-])", "ID", _OWN.sub("OWN", text))
