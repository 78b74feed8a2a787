"""When a task runs, in plain words: once, at a rate, or by cron; the entry for forms and doors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from shared.durations import format_iso
from shared.instants import InstantError, ceil_millisecond, format_instant
from tasks.plain_times import moments, recurrences
from tasks.plain_times.moments import LEADING, is_length, read_moment
from tasks.plain_times.recurrences import read_recurrence
from tasks.plain_times.vocabulary import (
    NotUnderstood,
    PlainTimeError,
    named_zone,
    not_understood,
    split,
)
from tasks.schedules.zones import Zone

#: Examples of both kinds, for hints and errors.
EXAMPLES = (*recurrences.EXAMPLES[:6], *moments.EXAMPLES[:3], *recurrences.EXAMPLES[6:])


@dataclass(frozen=True, slots=True)
class Understood:
    """A schedule that was understood: its fields, and the expression that a person may copy.

    The fields have a `timezone` only where the text names one.
    """

    schedule: dict[str, Any]
    expression: str


def read_when(text: str, *, now: datetime, zone: Zone) -> Understood:
    """Return the schedule that a text means, in the zone or the one that the text names.

    A moment runs once: it must lie ahead. Raise PlainTimeError with a sentence and examples.
    """
    if not text.strip():
        raise PlainTimeError("Say when, like 'every weekday at 9' or 'tomorrow 9:00'.")
    named = named_zone(text)
    zone = named or zone
    try:
        fields = _once(text, now, zone)
    except NotUnderstood:
        fields = _recurring(text, now, zone)
    expression = _expression(fields)
    return Understood(fields | ({"timezone": named.name} if named else {}), expression)


def _once(text: str, now: datetime, zone: Zone) -> dict[str, Any]:
    words, _ = split(text, zone)
    if words.next in LEADING:
        raise not_understood(text, words, EXAMPLES)  # a bound is no begin
    if is_length(words):
        length = text.strip()
        raise PlainTimeError(
            f"{length!r} may be once or again and again. Write 'in {length}' or 'every {length}'."
        )
    try:
        moment = read_moment(text, now=now, zone=zone, ahead=True)
        at = ceil_millisecond(moment)
    except InstantError as error:
        raise PlainTimeError(str(error)) from error
    if at < now:
        raise PlainTimeError(
            f"{text.strip()!r} is {format_instant(at)}, which has passed. For a run in each month "
            "write it like 'last friday of the month 18:00'."
        )
    if words.next in ("in", "for"):
        return {"delay_seconds": (moment - now) // timedelta(seconds=1)}
    return {"run_at": format_instant(at)}


def _recurring(text: str, now: datetime, zone: Zone) -> dict[str, Any]:
    try:
        return read_recurrence(text, now=now, zone=zone)
    except NotUnderstood as error:
        words, _ = split(text, zone)
        if words.next in ("every", "each"):
            raise
        raise not_understood(text, words, EXAMPLES) from error


def _expression(fields: dict[str, Any]) -> str:
    """Return the cron expression, the ISO 8601 interval or the instant."""
    if "delay_seconds" in fields:
        return format_iso(timedelta(seconds=fields["delay_seconds"]))
    known = ("cron_expression", "every", "run_at")
    return str(next(fields[name] for name in known if name in fields))
