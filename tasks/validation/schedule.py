"""Validation of a schedule: which kind it is, its fields, and whether it can ever fire.

This module checks the words of the fields, ``tasks.schedules.spec`` the cron expressions, durations
and zones, so that the scheduler can compute every schedule that is accepted here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from shared.exceptions import FieldError, InvalidInput
from shared.instants import InstantError, ceil_millisecond, format_instant, parse_instant
from tasks import choices
from tasks.choices import TIMING_FIELDS, TaskType
from tasks.definition import (
    ONE_TIME_SCHEDULE_DEFAULTS,
    RECURRING_SCHEDULE_DEFAULTS,
    schedule_defaults,
)
from tasks.field_reader import FieldReader, called_in_json, spell, text_problem, whole
from tasks.known_fields import outside_of
from tasks.limits import CALENDARS, TEN_YEARS_SECONDS, Book, no_calendars, no_jitter
from tasks.repeats import Repeats
from tasks.schedules import spec
from tasks.schedules.calendars import CalendarDays
from tenants.models.tenant import MAX_JITTER_SECONDS

#: A run_at further in the past counts as a mistake.
PAST_TOLERANCE = timedelta(days=1)
TIMING_HINT = "give exactly one of run_at, delay_seconds, cron_expression and every"
#: A task that runs only when asked has no schedule, and is a workflow.
_TYPES = tuple(dict.fromkeys(str(kind) for kind in TIMING_FIELDS.values()))
_MAX_OCCURRENCES = 1_000_000_000
#: The most working days that a month can have.
_WORKING_DAYS = 31
# The range of the calendar of tasks.schedules.
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2199, 12, 31, 23, 59, 59, tzinfo=UTC)

#: Codes of the computation about missing or extra fields; validation reports these first.
_OF_ABSENCE = ("required", "conflict", "not_allowed")

SCHEDULE_FIELDS = tuple(
    dict.fromkeys([*TIMING_FIELDS, *RECURRING_SCHEDULE_DEFAULTS, *ONE_TIME_SCHEDULE_DEFAULTS])
)


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of the call; a ``run_at`` equal to the kept one may lie in the past.

    ``calendars`` finds the calendars that a schedule may name, ``default_jitter`` reads the jitter
    of a recurring task that gives none.
    """

    now: datetime
    kept_run_at: str | None = None
    past_allowed: bool = False
    calendars: Book = no_calendars
    default_jitter: Callable[[], float] = no_jitter


def read_type(reader: FieldReader, timing: list[str]) -> str:
    """Return the task's type: as given, else from its timing fields."""
    said = TIMING_FIELDS[timing[0]] if timing else TaskType.RECURRING
    return reader.choice("type", _TYPES, str(said))


def timing_given(schedule: FieldReader) -> list[str]:
    """Return the timing fields that are given."""
    return [key for key in TIMING_FIELDS if schedule.given(key)]


def read_repeated(
    reader: FieldReader, task_type: str, clock: Clock, repeats: Repeats
) -> dict[str, Any]:
    """Return the same as :func:`read_schedule`; many that differ in run_at are read as one."""
    data, errors = reader.data, reader.errors
    whole = partial(read_schedule, reader, task_type, clock)
    if task_type != TaskType.ONE_TIME or not isinstance(data.get("run_at"), str):
        return repeats.read(f"schedule {task_type}", data, errors, whole)
    rest = {key: value for key, value in data.items() if key != "run_at"}
    own = partial(_own_fields, reader, clock)
    return repeats.read("schedule with run_at", rest, errors, whole, own)


def _own_fields(reader: FieldReader, clock: Clock) -> dict[str, Any]:
    return {"run_at": _run_at(reader, clock)}


def read_schedule(reader: FieldReader, task_type: str, clock: Clock) -> dict[str, Any]:
    """Return the schedule in normal form; note what is wrong, also that it never fires."""
    reader.refuse_unknown(SCHEDULE_FIELDS, elsewhere=outside_of("schedule"))
    _check_timing(reader, task_type)
    one_time = task_type == TaskType.ONE_TIME
    calendars = _calendars(reader, clock)
    schedule = schedule_defaults(task_type) | _common(reader)
    schedule["calendars"] = list(calendars)
    if one_time:
        schedule["run_at"] = _run_at(reader, clock)
        _refuse_recurring_fields(reader)
    else:
        schedule |= _recurring(reader)
        if "jitter_seconds" not in reader.data:
            schedule["jitter_seconds"] = whole(clock.default_jitter())
    try:
        spec.parse(task_type, schedule, anchor=clock.now, calendars=tuple(calendars.values()))
    except InvalidInput as refused:
        _note(refused.errors, reader)
    return schedule


def _note(found: Sequence[FieldError], reader: FieldReader) -> None:
    """Note errors from computing the schedule, unless its fields have errors already.

    A refused field counts as left out in the computation, so errors about that field, or about
    missing and extra fields, would only repeat the first.
    """
    known = reader.errors.below(reader.pointer)
    for error in found:
        pointer = error.pointer.replace("#/schedule", reader.pointer, 1)
        if not known or not (error.code in _OF_ABSENCE or reader.errors.below(pointer)):
            reader.errors.add(pointer, error.code, error.message)


def _check_timing(reader: FieldReader, task_type: str) -> None:
    own = [key for key, kind in TIMING_FIELDS.items() if kind == task_type]
    given = timing_given(reader)
    for key in given:
        if key not in own:
            reader.error(
                key,
                "type_contradiction",
                f"The type is {task_type}, which takes {spell(own)}, not {key}.",
            )
    fitting = [key for key in given if key in own]
    for key in fitting[1:]:
        reader.error(key, "exclusive", f"Give exactly one of {fitting[0]} and {key}.")
    if not given:
        reader.errors.add(reader.pointer, "required", f"Say when: {TIMING_HINT}.")


def _common(reader: FieldReader) -> dict[str, Any]:
    common = {
        "timezone": reader.text("timezone", "UTC", longest=255),
        "jitter_seconds": reader.number("jitter_seconds", 0, 0, MAX_JITTER_SECONDS),
        "misfire_policy": reader.choice("misfire_policy", choices.MISFIRE_POLICIES, "coalesce"),
        "misfire_grace_seconds": reader.number(
            "misfire_grace_seconds", None, 0, TEN_YEARS_SECONDS, nullable=True
        ),
        "overlap_policy": reader.choice(
            "overlap_policy",
            choices.OVERLAP_POLICIES,
            "allow",
        ),
        "max_concurrent": reader.integer("max_concurrent", None, 1, 1_000_000, nullable=True),
        "calendar_policy": reader.choice("calendar_policy", choices.CALENDAR_POLICIES, "skip"),
    }
    return common


def _recurring(reader: FieldReader) -> dict[str, Any]:
    fields = {
        "cron_expression": _cron_expression(reader),
        "every": reader.text("every", None, longest=100, nullable=True),
        "dst_gap": reader.choice("dst_gap", choices.DST_GAP, "next_valid"),
        "dst_overlap": reader.choice("dst_overlap", choices.DST_OVERLAP, "first"),
        "start_at": _instant_text(reader, "start_at"),
        "end_at": _instant_text(reader, "end_at"),
        "max_occurrences": reader.integer(
            "max_occurrences", None, 1, _MAX_OCCURRENCES, nullable=True
        ),
        "misfire_coalesce": reader.choice("misfire_coalesce", choices.MISFIRE_COALESCE, "latest"),
        "misfire_replay_limit": reader.integer(
            "misfire_replay_limit", None, 1, _MAX_OCCURRENCES, nullable=True
        ),
        "misfire_replay_per_second": reader.number("misfire_replay_per_second", 10, 0.001, 1000),
        "working_day": _working_day(reader),
    }
    # Texts of one form and one zone: their order is the order of the instants.
    if fields["start_at"] and fields["end_at"] and fields["end_at"] < fields["start_at"]:
        reader.error("end_at", "end_before_start", "end_at must not be before start_at.")
    return fields


def _cron_expression(reader: FieldReader) -> str | None:
    """Return the expression without white space around it, which pasted lines often have."""
    text: str | None = reader.text(
        "cron_expression", None, longest=1000, nullable=True, printable=False
    )
    return None if text is None else text.strip()


def _working_day(reader: FieldReader) -> int | None:
    """Return which working day of the month: 1 is the first, -1 the last."""
    day: int | None = reader.integer(
        "working_day", None, -_WORKING_DAYS, _WORKING_DAYS, nullable=True
    )
    if day == 0:
        reader.error("working_day", "out_of_range", "Count from 1, or backwards from -1.")
    if day is not None and not reader.given("cron_expression"):
        reader.error("working_day", "not_applicable", "Only a cron_expression has a working_day.")
    return day


def _refuse_recurring_fields(reader: FieldReader) -> None:
    for key, default in RECURRING_SCHEDULE_DEFAULTS.items():
        if key in ONE_TIME_SCHEDULE_DEFAULTS or key in TIMING_FIELDS:
            continue
        if reader.given(key) and reader.data[key] != default:
            reader.error(key, "not_applicable", f"A ONE_TIME task has no {key}.")


def _run_at(reader: FieldReader, clock: Clock) -> str | None:
    delay = reader.number("delay_seconds", None, 0, TEN_YEARS_SECONDS, nullable=True)
    if delay is not None:
        return format_instant(ceil_millisecond(clock.now + timedelta(seconds=delay)))
    run_at = read_instant(reader, "run_at")
    if run_at is None:
        return None
    text = format_instant(run_at)
    past = run_at < clock.now - PAST_TOLERANCE
    if past and not clock.past_allowed and text != clock.kept_run_at:
        message = "run_at is more than a day in the past, which is taken for a mistake."
        reader.error("run_at", "run_at_past", message)
    return text


def _instant_text(reader: FieldReader, key: str) -> str | None:
    moment = read_instant(reader, key)
    return None if moment is None else format_instant(moment)


def read_instant(reader: FieldReader, key: str) -> datetime | None:
    """Return the instant of the field, rounded up to a millisecond; None if absent or wrong."""
    text = reader.text(key, None, longest=100, nullable=True)
    if text is None:
        return None
    try:
        moment = parse_instant(text)
    except InstantError as wrong:
        reader.error(key, "invalid_time", str(wrong))
        return None
    if not _EARLIEST <= moment <= _LATEST:
        reader.error(key, "out_of_range", "Must be between the years 1970 and 2199.")
        return None
    return ceil_millisecond(moment)


def _calendars(reader: FieldReader, clock: Clock) -> Mapping[str, CalendarDays]:
    """Return the calendars that the schedule names, in its order; note unknown ones."""
    names = reader.sequence("calendars", [])
    if len(names) > CALENDARS:
        reader.error("calendars", "too_many", f"Give at most {CALENDARS} calendars.")
        return {}
    texts = [name for name in names if isinstance(name, str) and not _name_problem(name)]
    known = clock.calendars(texts) if texts else {}
    found: dict[str, CalendarDays] = {}
    for place, name in enumerate(names):
        problem = _name_problem(name)
        if problem is None and name in found:
            problem = ("duplicate", "This calendar is named twice.")
        elif problem is None and name not in known:
            problem = ("calendar_unknown", "There is no such calendar.")
        if problem is None:
            found[name] = known[name]
        else:
            reader.errors.add(f"{reader.pointer}/calendars/{place}", *problem)
    return found


def _name_problem(name: Any) -> tuple[str, str] | None:
    if not isinstance(name, str):
        return "invalid_type", f"Must be text, not {called_in_json(name)}."
    return text_problem(name, longest=200)
