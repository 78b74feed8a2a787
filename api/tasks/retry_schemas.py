"""JSON Schema of a retry policy for the OpenAPI document."""

from __future__ import annotations

from api.tasks.schema_parts import (
    STATUS_PATTERN,
    Schema,
    closed,
    integer,
    number,
    or_null,
    statuses,
    text,
    with_defaults,
    words,
)
from tasks import choices
from tasks.definition import RETRY_DEFAULTS
from tasks.limits import RUNTIME_SECONDS
from tasks.validation.retry import MAX_ATTEMPTS, MAX_DELAY_SECONDS, MOST_FAILURES, RULES

_RULE: Schema = closed(
    {
        "statuses": statuses(),
        "max_attempts": or_null(integer(1, MAX_ATTEMPTS)),
        "delay_seconds": or_null(number(0, MAX_DELAY_SECONDS)),
    },
    "statuses",
)
RETRY: Schema = with_defaults(
    {
        "max_attempts": integer(1, MAX_ATTEMPTS),
        "backoff": words(*choices.BACKOFFS),
        "initial_delay_seconds": number(0, MAX_DELAY_SECONDS),
        "factor": number(1, 100),
        "max_delay_seconds": number(0, MAX_DELAY_SECONDS),
        "delays_seconds": {
            "type": ["array", "null"],
            "items": number(0, MAX_DELAY_SECONDS),
            "minItems": 1,
            "maxItems": MAX_ATTEMPTS,
            "description": "Only for the backoff 'listed'; the last one repeats.",
        },
        "jitter": words(*choices.JITTERS),
        "retry_on": {
            "type": "array",
            "items": {"type": "string", "pattern": f"^(timeout|connection)$|{STATUS_PATTERN}"},
            "maxItems": 50,
        },
        "stop_on": statuses(0) | {"description": "Statuses that are never retried."},
        "stop_header": or_null(text(256))
        | {
            "description": "A header of the answer that forbids a retry with any value but "
            "'false' or '0'."
        },
        "rules": {
            "type": "array",
            "items": _RULE,
            "maxItems": RULES,
            "description": "Exceptions for some statuses; the first rule that matches counts.",
        },
        "max_age_seconds": or_null(number(1, RUNTIME_SECONDS))
        | {"description": "No retry begins later than this after the nominal time."},
        "pause_after_failures": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": MOST_FAILURES,
            "description": "Pause the task after this number of failures in a row.",
        },
    },
    RETRY_DEFAULTS,
)
