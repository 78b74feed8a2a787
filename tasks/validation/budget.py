"""Validation of a task's budget: how much it may use of a unit in each day or month."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.json_pointer import child
from tasks.budgets.units import MOST_LIMIT, RUNS, SMALLEST_LIMIT, is_unit
from tasks.choices import BUDGET_PERIODS, TaskType
from tasks.field_reader import FieldReader
from tasks.limits import BUDGETS

_FIELDS = ("unit", "limit", "per")


def read_budget(reader: FieldReader, task_type: str) -> list[dict[str, Any]]:
    """Return the entries of a budget in normal form, each unit once; note what is wrong."""
    given = reader.sequence("budget", []) if reader.given("budget") else []
    if len(given) > BUDGETS:
        reader.error("budget", "too_many", f"Give at most {BUDGETS} entries.")
        return []
    found: list[dict[str, Any]] = []
    for place, value in enumerate(given):
        pointer = child(child(reader.pointer, "budget"), str(place))
        if not isinstance(value, Mapping):
            reader.errors.add(pointer, "invalid_type", "Must be an object.")
            continue
        found.append(_entry(FieldReader(value, pointer, reader.errors), found))
    if given and task_type == TaskType.ONE_TIME:
        message = "A one-time task runs once; only what runs again has a budget."
        reader.error("budget", "not_applicable", message)
    return found


def _entry(reader: FieldReader, before: list[dict[str, Any]]) -> dict[str, Any]:
    reader.refuse_unknown(_FIELDS)
    for name, hint in (
        ("unit", "Say what counts: runs, seconds, or a unit that the receiver reports."),
        ("limit", "Say how much may be used."),
    ):
        reader.require(name, hint)
    unit = reader.text("unit", "", longest=32)
    if unit and not is_unit(unit):
        message = "Use a lower-case letter, then lower-case letters, digits and underscores."
        reader.error("unit", "invalid", message)
    elif unit and any(entry["unit"] == unit for entry in before):
        reader.error("unit", "not_unique", "Name each unit once.")
    if unit == RUNS:
        limit = reader.integer("limit", 1, 1, MOST_LIMIT)
    else:
        limit = reader.number("limit", 1, SMALLEST_LIMIT, MOST_LIMIT)
        limit = limit if isinstance(limit, int) else round(limit, 6)
    return {
        "unit": unit,
        "limit": limit,
        "per": reader.choice("per", BUDGET_PERIODS, BUDGET_PERIODS[0]),
    }
