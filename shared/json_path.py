"""Paths into a JSON value: ``$.items[0]['unit price']``, each naming at most one place.

A subset of RFC 9535: names with a dot or in quotes, and indexes, from the end when negative.
Validation parses them on creation, delivery reads answers with them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

Step = str | int

#: What :func:`read` returns for a place that does not exist; null is a value of its own.
MISSING: Final = object()

_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff-]*)
    | \[(?P<index>0|-?[1-9][0-9]{0,8})\]
    | \['(?P<single>(?:[^'\\\x00-\x1f]|\\['\\])*)'\]
    | \["(?P<double>(?:[^"\\\x00-\x1f]|\\["\\])*)"\]""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[Step, ...]:
    """Return the steps from the root; raise ValueError that says where the path is wrong."""
    if not text.startswith("$"):
        raise ValueError("a path begins with $")
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f"no step (.name, ['name'] or [0]) at character {at + 1}")
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def read(document: Any, steps: Sequence[Step]) -> Any:
    """Return the value at the place, or MISSING."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(document, dict) or step not in document:
                return MISSING
        elif not isinstance(document, list) or not -len(document) <= step < len(document):
            return MISSING
        document = document[step]
    return document


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    if found["name"] is not None:
        return found["name"]
    quoted = found["single"] if found["single"] is not None else found["double"]
    return _ESCAPED.sub(r"\1", quoted)
