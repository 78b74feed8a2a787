"""JSON Schema of what the lateness and duration of a task's runs are measured against."""

from __future__ import annotations

from api.tasks.schema_parts import Schema, closed, number, or_null
from tasks.limits import TARGET_SECONDS

TARGETS: Schema = closed(
    {
        "start_within_seconds": or_null(number(1, TARGET_SECONDS))
        | {
            "description": "How long after its due time an execution may start; 5 s unless given. "
            "A later start is an alert of its own."
        },
        "max_duration_seconds": or_null(number(1, TARGET_SECONDS))
        | {"description": "How long an attempt may run before an alert reports it."},
    }
) | {
    "type": ["object", "null"],
    "description": "What lateness and duration of the task are measured against. Nothing is "
    "stopped or skipped for them.",
}
