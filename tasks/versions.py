"""The numbers of a task's versions: its own count from 1, redirected ones from 2^30.

A redirected version holds the definition for the executions of one replay that goes into another
place; ``redirection`` makes it. The task itself never has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The statements that settle and end tasks leave redirected versions out; they repeat this number.
FIRST_REDIRECTED = 2**30


def is_redirected(version: int) -> bool:
    """Return whether a version belongs to a replay into another place."""
    return version >= FIRST_REDIRECTED


def into_of(version: int, target: Mapping[str, Any]) -> dict[str, str] | None:
    """Return where a redirected version goes, as a replay names it; None of any other version."""
    if not is_redirected(version):
        return None
    key = "url" if target["kind"] == "webhook" else "pool"
    return {key: target[key]}
