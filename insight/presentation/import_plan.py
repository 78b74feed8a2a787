"""The plan of an import as answers and commands show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executions.changes.importing import Action, Planned
from shared.instants import format_instant


def count_actions(plan: Sequence[Planned]) -> dict[Action, int]:
    """Return how many lines of the plan have each action."""
    return {action: sum(item.action is action for item in plan) for action in Action}


def present_plan(plan: Sequence[Planned], *, dry_run: bool) -> dict[str, Any]:
    """Return the plan with its counts; a task that a dry run has only planned has no id."""
    return {
        "dry_run": dry_run,
        "summary": {str(action): count for action, count in count_actions(plan).items()},
        "lines": [_line(item, dry_run=dry_run) for item in plan],
    }


def _printable(text: str) -> str:
    """Return the text without control characters, and bytes that were no text as question marks."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _line(item: Planned, *, dry_run: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "line": item.line,
        "action": item.action,
        "text": _printable(item.text),
        "reason": item.reason or None,
        "notes": list(item.notes),
    }
    if item.task is not None:
        invented = dry_run and item.action is Action.NEW
        document |= {
            "task_id": None if invented else str(item.task.id),
            "name": item.task.name,
            "schedule": item.task.schedule,
            "schedule_text": item.schedule_text,
            "next": [format_instant(moment) for moment in item.fires],
        }
    return document
