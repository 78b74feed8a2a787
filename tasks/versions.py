"""The numbers of a task's versions: its own count from 1, redirected ones from 2^30.

A redirected version holds the definition for the executions of one replay that goes into another
place; ``redirection`` makes it. The versions from 3 * 2^29 on hold the definitions of a workflow's
steps, 4,096 numbers for each version of the workflow. The task itself never has one of either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: The statements that settle and end tasks leave redirected versions out; they repeat this number.
FIRST_REDIRECTED = 2**30
#: Statements about a task's own work leave the executions of steps out; they repeat this number.
FIRST_OF_STEPS = 3 * 2**29
#: How many numbers the steps of a workflow can have over all its versions, 0 included.
MOST_STEPS_EVER = 2048
_OF_A_VERSION = 2 * MOST_STEPS_EVER
_MOST_VERSIONS = 2**29 // _OF_A_VERSION


def is_redirected(version: int) -> bool:
    """Return whether a version belongs to a replay into another place."""
    return FIRST_REDIRECTED <= version < FIRST_OF_STEPS


def is_of_step(version: int) -> bool:
    """Return whether a version is the definition of a workflow's step."""
    return version >= FIRST_OF_STEPS


def is_of_compensation(version: int) -> bool:
    """Return whether a version is the definition of what undoes a step."""
    return is_of_step(version) and version % _OF_A_VERSION >= MOST_STEPS_EVER


def step_version(version: int, step: int, *, compensates: bool = False) -> int:
    """Return the number of a step's definition in a version of its workflow.

    ``step`` is its number from 1; what undoes the step has a definition of its own. Raise
    ValueError beyond 131,071 versions or 2,047 numbers of steps.
    """
    if not 0 < step < MOST_STEPS_EVER or not 0 < version < _MOST_VERSIONS:
        raise ValueError("too many versions or steps")
    place = step + (MOST_STEPS_EVER if compensates else 0)
    return FIRST_OF_STEPS + version * _OF_A_VERSION + place


def step_in(version: int, other: int) -> int:
    """Return the number of the same step's definition in another version of its workflow.

    A key of a workflow keeps its number; ``redacted_fields/paths`` repeats this.
    """
    return other * _OF_A_VERSION + (FIRST_OF_STEPS + version % _OF_A_VERSION)


def into_of(version: int, target: Mapping[str, Any]) -> dict[str, str] | None:
    """Return where a redirected version goes, as a replay names it; None of any other version."""
    if not is_redirected(version):
        return None
    key = "url" if target["kind"] == "webhook" else "pool"
    return {key: target[key]}
