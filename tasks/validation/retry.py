"""Validation of a retry policy: from what a caller wrote to every key present."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.http_headers import is_token
from shared.json_pointer import child
from shared.status_patterns import parse_status_pattern
from tasks.choices import BACKOFFS, JITTERS, RETRY_WORDS
from tasks.definition import RETRY_DEFAULTS
from tasks.field_reader import (
    FieldReader,
    called_in_json,
    is_number,
    number_problem,
    whole,
)
from tasks.known_fields import outside_of
from tasks.limits import RUNTIME_SECONDS

MAX_ATTEMPTS = 25
MAX_DELAY_SECONDS = 7 * 24 * 3600
#: Maximum of ``pause_after_failures``: failures in a row after which a task pauses itself.
MOST_FAILURES = 10_000
_RETRY_ON = 50
_STATUSES = 50
RULES = 20
_RULE_DEFAULTS: dict[str, Any] = {"statuses": [], "max_attempts": None, "delay_seconds": None}


def read_retry_policy(reader: FieldReader) -> dict[str, Any]:
    """Return the policy in normal form; note what is wrong."""
    reader.refuse_unknown(RETRY_DEFAULTS, elsewhere=outside_of("retry_policy"))
    default = RETRY_DEFAULTS
    policy = {
        "max_attempts": reader.integer("max_attempts", default["max_attempts"], 1, MAX_ATTEMPTS),
        "backoff": reader.choice("backoff", BACKOFFS, default["backoff"]),
        "initial_delay_seconds": reader.number(
            "initial_delay_seconds", default["initial_delay_seconds"], 0, MAX_DELAY_SECONDS
        ),
        "factor": reader.number("factor", default["factor"], 1, 100),
        "max_delay_seconds": reader.number(
            "max_delay_seconds", default["max_delay_seconds"], 0, MAX_DELAY_SECONDS
        ),
        "delays_seconds": _delays(reader) if reader.given("delays_seconds") else None,
        "jitter": reader.choice("jitter", JITTERS, default["jitter"]),
        "retry_on": _retry_on(reader),
        "stop_on": read_statuses(reader, "stop_on", [], fewest=0),
        "stop_header": _stop_header(reader),
        "rules": _rules(reader),
        "max_age_seconds": reader.number(
            "max_age_seconds", None, 1, RUNTIME_SECONDS, nullable=True
        ),
        "pause_after_failures": reader.integer(
            "pause_after_failures", None, 1, MOST_FAILURES, nullable=True
        ),
    }
    _check_together(reader, policy)
    return policy


def _check_together(reader: FieldReader, policy: dict[str, Any]) -> None:
    listed = policy["backoff"] == "listed"
    if listed and not reader.given("delays_seconds"):
        reader.error("delays_seconds", "required", "The backoff 'listed' needs its delays.")
    if not listed and reader.given("delays_seconds"):
        reader.error("delays_seconds", "not_applicable", "Only the backoff 'listed' has a list.")
    if not listed and policy["initial_delay_seconds"] > policy["max_delay_seconds"]:
        wrong = "initial_delay_seconds" if reader.given("initial_delay_seconds") else ""
        reader.error(
            wrong or "max_delay_seconds",
            "out_of_range",
            "initial_delay_seconds must not be above max_delay_seconds.",
        )


def read_statuses(
    reader: FieldReader, key: str, default: list[str], *, fewest: int = 1
) -> list[str]:
    """Return the patterns of statuses that a field lists; note what is wrong."""
    statuses = reader.sequence(key, default)
    if not fewest <= len(statuses) <= _STATUSES:
        reader.error(key, "out_of_range", f"Give {fewest} to {_STATUSES} statuses.")
    for place, status in enumerate(statuses[:_STATUSES]):
        at = f"{child(reader.pointer, key)}/{place}"
        if not isinstance(status, str):
            reader.errors.add(at, "invalid_type", 'Write it as text, like "200" or "2xx".')
        elif not is_status_pattern(status):
            reader.errors.add(at, "invalid_choice", "Use '204', '2xx' or '200-204'.")
    return list(statuses)


def is_status_pattern(text: str) -> bool:
    """Return whether the text names statuses: '503', '5xx' or '500-504'."""
    try:
        parse_status_pattern(text)
    except ValueError:
        return False
    return True


def _delays(reader: FieldReader) -> list[Any]:
    delays = reader.sequence("delays_seconds", [0])
    if not 1 <= len(delays) <= MAX_ATTEMPTS:
        reader.error("delays_seconds", "out_of_range", f"Give 1 to {MAX_ATTEMPTS} delays.")
        return [0]
    for place, delay in enumerate(delays):
        at = f"delays_seconds/{place}"
        if not is_number(delay):
            _note(reader, at, "invalid_type", f"Must be a number, not {called_in_json(delay)}.")
        elif problem := number_problem(delay, 0, MAX_DELAY_SECONDS):
            _note(reader, at, *problem)
    if reader.errors.below(f"{reader.pointer}/delays_seconds"):
        return [0]
    return [whole(delay) for delay in delays]


def _retry_on(reader: FieldReader) -> list[str]:
    words = reader.sequence("retry_on", RETRY_DEFAULTS["retry_on"])
    if len(words) > _RETRY_ON:
        reader.error("retry_on", "too_many", f"Give at most {_RETRY_ON} words.")
        return []
    for place, word in enumerate(words):
        at = f"retry_on/{place}"
        if not isinstance(word, str):
            _note(reader, at, "invalid_type", 'Write it as text, like "503".')
        elif word not in RETRY_WORDS and not is_status_pattern(word):
            _note(
                reader,
                at,
                "invalid_choice",
                "Use '503', '5xx', '500-504', 'timeout' or 'connection'.",
            )
    return list(words)


def _stop_header(reader: FieldReader) -> str | None:
    name: str | None = reader.text("stop_header", None, longest=256, nullable=True)
    if name is not None and not is_token(name):
        reader.error("stop_header", "header_invalid", "The name of a header is an HTTP token.")
    return name


def _rules(reader: FieldReader) -> list[dict[str, Any]]:
    rules = reader.sequence("rules", [])
    if len(rules) > RULES:
        reader.error("rules", "too_many", f"Give at most {RULES} rules.")
        return []
    return [_rule(reader, place, rule) for place, rule in enumerate(rules)]


def _rule(reader: FieldReader, place: int, rule: Any) -> dict[str, Any]:
    at = f"rules/{place}"
    if not isinstance(rule, Mapping):
        _note(reader, at, "invalid_type", f"Must be an object, not {called_in_json(rule)}.")
        return dict(_RULE_DEFAULTS)
    inside = FieldReader(rule, f"{reader.pointer}/{at}", reader.errors)
    inside.refuse_unknown(_RULE_DEFAULTS)
    inside.require("statuses", "Say for which statuses the rule holds.")
    return {
        "statuses": read_statuses(inside, "statuses", ["5xx"]),
        "max_attempts": inside.integer("max_attempts", None, 1, MAX_ATTEMPTS, nullable=True),
        "delay_seconds": inside.number("delay_seconds", None, 0, MAX_DELAY_SECONDS, nullable=True),
    }


def _note(reader: FieldReader, at: str, code: str, message: str) -> None:
    reader.errors.add(f"{reader.pointer}/{at}", code, message)
