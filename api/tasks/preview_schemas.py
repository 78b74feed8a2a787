"""JSON Schemas of the preview of a schedule: plain words, clock changes and occurrences."""

from __future__ import annotations

from api.tasks.schema_parts import INSTANT, NULL, Schema, closed, words
from tasks.plain_times.vocabulary import MAX_LENGTH

IN_WORDS: Schema = {
    "type": "string",
    "maxLength": MAX_LENGTH,
    "examples": ["every weekday at 9", "last friday of the month 18:00", "tomorrow 9:00"],
    "description": "When, in plain words, in place of the fields that say when; they are answered.",
}
_OCCURRENCE: Schema = closed(
    {
        "utc": INSTANT,
        "local": INSTANT,
        "due_from": INSTANT
        | {"description": "When it starts at the earliest: its time, which jitter moves later."},
        "due_until": INSTANT
        | {"description": "Before when it starts, as its id decides; without jitter the same."},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
    "utc",
    "local",
    "due_from",
    "due_until",
    "notes",
)
_UNDERSTOOD: Schema = {
    "description": "What the words mean, as the fields of a schedule; null without words.",
    "anyOf": [
        closed(
            {
                "expression": {
                    "type": "string",
                    "description": "The cron expression, the ISO 8601 interval or the instant.",
                    "examples": ["0 9 * * 1-5"],
                },
                "schedule": {"type": "object"},
            },
            "expression",
            "schedule",
        ),
        NULL,
    ],
}
_CLOCK_CHANGE: Schema = closed(
    {
        "at": INSTANT,
        "kind": words("skipped", "repeated"),
        "effect": words("none", "left_out", "moved", "first", "second", "both", "elapsed"),
        "runs": {"type": "array", "items": INSTANT},
        "text": {"type": "string"},
    },
    "at",
    "kind",
    "effect",
    "runs",
    "text",
)
PREVIEW: Schema = closed(
    {
        "text": {"type": "string"},
        "understood": _UNDERSTOOD,
        "clock_changes": {
            "type": "array",
            "items": _CLOCK_CHANGE,
            "description": "The next skipped and the next repeated local times of the zone, and "
            "their effect on a cron schedule.",
        },
        "occurrences": {"type": "array", "items": _OCCURRENCE},
    },
    "text",
    "understood",
    "clock_changes",
    "occurrences",
)
