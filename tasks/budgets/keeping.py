"""Keep the budgets of tasks as their definitions have them; show them with their use."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from shared.instants import format_instant
from shared.sql import run
from tasks.budgets.periods import end_of
from tasks.budgets.purses import plain, read
from tasks.definition import Definition
from tasks.models import Task


def put(made: Iterable[tuple[Task, Definition]], now: datetime) -> None:
    """Store the budgets of definitions that have some; what is used in the period stays.

    The period of a budget that has another zone, or another length, ends as it now says.
    """
    found = [
        (task, entry, end_of(entry["per"], definition.schedule["timezone"], now))
        for task, definition in made
        for entry in definition.budget
    ]
    if found:
        run(
            "budgets/put",
            {
                "now": now,
                "tasks": [task.id for task, _, _ in found],
                "tenants": [task.tenant_id for task, _, _ in found],
                "units": [entry["unit"] for _, entry, _ in found],
                "per": [entry["per"] for _, entry, _ in found],
                "most": [Decimal(str(entry["limit"])) for _, entry, _ in found],
                "resets_at": [resets_at for _, _, resets_at in found],
            },
        )


def follow(task: Task, definition: Definition, now: datetime) -> None:
    """Give a locked task the budgets of its next definition, and remove the others."""
    units = [entry["unit"] for entry in definition.budget]
    run("budgets/remove_others", {"task": task.id, "units": units})
    put([(task, definition)], now)


def forget(task_id: UUID) -> None:
    """Remove the budgets of a task."""
    run("budgets/remove_others", {"task": task_id, "units": []})


def present_use(task: Task) -> list[dict[str, Any]]:
    """Return what a task has used of each budget in the present period, and when that ends.

    Asks nothing about a task whose work does not wait for the gate.
    """
    found = read([task.id]).get(task.id) if task.limited else None
    return [
        {
            "unit": purse.unit,
            "per": purse.per,
            "limit": plain(purse.most),
            "used": plain(purse.used),
            "left": plain(purse.left),
            "used_up": not purse.left,
            "resets_at": format_instant(purse.resets_at),
        }
        for purse in (found.all if found else ())
    ]
