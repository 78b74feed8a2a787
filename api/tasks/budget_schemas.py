"""JSON Schemas of the budget of a task, and of what has been used of it."""

from __future__ import annotations

from api.tasks.schema_parts import INSTANT, Schema, closed, number, words
from tasks.budgets.units import MOST_LIMIT, SMALLEST_LIMIT, UNIT
from tasks.choices import BUDGET_PERIODS
from tasks.limits import BUDGETS

_BUDGET_ENTRY: Schema = {
    "unit": {
        "type": "string",
        "pattern": f"^{UNIT}$",
        "description": "`runs`, `seconds` of attempts, or a unit that the receiver reports in "
        "`X-Cost` or in the field `cost` of the result; a plain number is of `units`.",
    },
    "limit": number(SMALLEST_LIMIT, MOST_LIMIT)
    | {"description": "How much may be used; of runs a whole number."},
    "per": words(*BUDGET_PERIODS)
    | {"default": BUDGET_PERIODS[0], "description": "In the zone of the schedule."},
}
BUDGET: Schema = {
    "type": "array",
    "items": closed(_BUDGET_ENTRY, "unit", "limit"),
    "maxItems": BUDGETS,
    "description": "What the task may use in a day or month, each unit once. Instants beyond it "
    "are skipped with the reason `budget_exceeded`.",
}
#: What has been used of each budget in the present period.
BUDGET_USE: Schema = {
    "type": "array",
    "items": closed(
        {
            **_BUDGET_ENTRY,
            "used": {"type": "number", "minimum": 0},
            "left": {"type": "number", "minimum": 0},
            "used_up": {"type": "boolean"},
            "resets_at": INSTANT,
        },
        *_BUDGET_ENTRY,
        "used",
        "left",
        "used_up",
        "resets_at",
    ),
    "description": "What has been used of each budget in the present period.",
}
