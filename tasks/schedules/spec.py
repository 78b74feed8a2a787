"""From the API's form of a schedule to a :class:`Spec`, or to every error in it at once.

The entry to `tasks.schedules`: services and the engine call :func:`parse` and use the result.
Jitter, misfire policy and `max_occurrences` are not read here; the caller owns them, and brings
the calendars that the schedule names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from shared.exceptions import FieldError
from shared.instants import ceil_millisecond, parse_instant
from tasks.schedules.base import DST_GAP, DST_OVERLAP, Occurrence, ScheduleError, Spec
from tasks.schedules.calendars import CalendarDays, CalendarSpec, Policy
from tasks.schedules.cron import CronSpec, Gap, Overlap
from tasks.schedules.cron_parse import CronFields, parse_cron
from tasks.schedules.cron_terms import CronProblem
from tasks.schedules.days_off import days_off
from tasks.schedules.durations import parse_duration
from tasks.schedules.interval import IntervalSpec
from tasks.schedules.local_time import LocalRules
from tasks.schedules.never import NeverSpec
from tasks.schedules.once import OnceSpec
from tasks.schedules.wall_calendar import wall_calendar
from tasks.schedules.working_days import WorkingDays, date_problem, working_days
from tasks.schedules.zones import Zone, find_zone

__all__ = ["DST_GAP", "DST_OVERLAP", "Occurrence", "ScheduleError", "Spec", "parse"]

#: The first of each is the default.
GAPS: tuple[Gap, ...] = ("next_valid", "skip", "before")
OVERLAPS: tuple[Overlap, ...] = ("first", "second", "both")

POLICIES: tuple[Policy, ...] = ("skip", "next_business_day", "previous_business_day")
#: A more frequent schedule is not moved: the search for moved instants would take too long.
MOVED_PER_DAY = 96

_ONE_TIME_ONLY = ("run_at",)
_RECURRING_ONLY = ("cron_expression", "every", "start_at", "end_at")

_Value = TypeVar("_Value")
_Word = TypeVar("_Word", bound=str)


def parse(
    type: str,  # the word of the API
    schedule: Mapping[str, Any],
    *,
    seed: str = "",
    anchor: datetime | None = None,
    calendars: Sequence[CalendarDays] = (),
) -> Spec:
    """Make the schedule that a definition describes; raise ScheduleError with every fault.

    `seed` (the task's id) decides the values of `H` in a cron expression. `anchor` is the
    creation time: where `every` starts without a `start_at`. `calendars` are the calendars that
    the schedule names, with their days.
    """
    reader = _Reader(schedule)
    if type == "ONE_TIME":
        spec = _once(reader)
    elif type == "RECURRING":
        spec = _recurring(reader, seed, anchor, calendars)
    elif type == "MANUAL":
        spec = NeverSpec(reader.zone() or find_zone("UTC"))
    else:
        raise ScheduleError([FieldError("#/type", "choice_invalid", "Use ONE_TIME or RECURRING.")])
    if reader.errors or spec is None:
        raise ScheduleError(reader.errors)
    return _under(calendars, spec, schedule) if calendars else spec


class _Reader:
    """Reads fields and gathers errors, so that one answer names them all."""

    def __init__(self, schedule: Mapping[str, Any]) -> None:
        self._schedule = schedule
        self.errors: list[FieldError] = []

    def given(self, name: str) -> bool:
        return self._schedule.get(name) is not None

    def complain(self, name: str, code: str, message: str) -> None:
        self.errors.append(FieldError(f"#/schedule/{name}", code, message))

    def refuse(self, names: tuple[str, ...], kind: str) -> None:
        for name in names:
            if self.given(name):
                self.complain(name, "not_allowed", f"A {kind} task has no '{name}'.")

    def read(self, name: str, code: str, reader: Callable[[object], _Value]) -> _Value | None:
        if not self.given(name):
            return None
        try:
            return reader(self._schedule[name])
        except CronProblem as problem:
            self.complain(name, problem.code, str(problem))
        except ValueError as problem:
            self.complain(name, code, str(problem))
        return None

    def choice(self, name: str, choices: tuple[_Word, ...]) -> _Word:
        value = self._schedule.get(name)
        for choice in choices:
            if value == choice:
                return choice
        if value is not None:
            self.complain(name, "choice_invalid", f"Use one of {', '.join(choices)}.")
        return choices[0]

    def zone(self) -> Zone | None:
        if not self.given("timezone"):
            return find_zone("UTC")
        return self.read("timezone", "timezone_unknown", find_zone)


def _once(reader: _Reader) -> Spec | None:
    reader.refuse(_RECURRING_ONLY, "ONE_TIME")
    zone = reader.zone()
    at = reader.read("run_at", "datetime_invalid", _instant)
    reader.choice("dst_gap", GAPS)
    reader.choice("dst_overlap", OVERLAPS)
    if not reader.given("run_at"):
        reader.complain("run_at", "required", "A ONE_TIME task needs 'run_at' or 'delay_seconds'.")
    return OnceSpec(at, zone) if at and zone else None


def _recurring(
    reader: _Reader, seed: str, anchor: datetime | None, calendars: Sequence[CalendarDays]
) -> Spec | None:
    reader.refuse(_ONE_TIME_ONLY, "RECURRING")
    zone = reader.zone()
    gap, overlap = reader.choice("dst_gap", GAPS), reader.choice("dst_overlap", OVERLAPS)
    start = reader.read("start_at", "datetime_invalid", _instant)
    end = reader.read("end_at", "datetime_invalid", _instant)
    if start and end and end < start:
        reader.complain("end_at", "end_before_start", "'end_at' is before 'start_at'.")
    fields = reader.read("cron_expression", "cron_invalid", lambda text: _cron_fields(text, seed))
    step = reader.read("every", "interval_invalid", parse_duration)
    _check_exactly_one(reader)
    dates = _working_days(reader, fields, calendars) if fields else None
    _check_policy(reader, fields)
    if reader.errors or zone is None:
        return None
    if fields:
        return CronSpec(fields, zone, gap=gap, overlap=overlap, start=start, end=end, dates=dates)
    return IntervalSpec(step, zone, start=start or _anchored(anchor), end=end) if step else None


def _check_exactly_one(reader: _Reader) -> None:
    cron, every = reader.given("cron_expression"), reader.given("every")
    if cron and every:
        reader.complain("every", "conflict", "Give 'cron_expression' or 'every', not both.")
    elif not cron and not every:
        reader.complain(
            "cron_expression", "required", "A RECURRING task needs 'cron_expression' or 'every'."
        )


def _working_days(
    reader: _Reader, fields: CronFields, calendars: Sequence[CalendarDays]
) -> WorkingDays | None:
    if not reader.given("working_day"):
        return None
    problem = date_problem(fields)
    if problem:
        reader.complain("cron_expression", "not_applicable", problem)
    return reader.read("working_day", "working_day_invalid", partial(_nth, fields, calendars))


def _nth(fields: CronFields, calendars: Sequence[CalendarDays], which: object) -> WorkingDays:
    if not isinstance(which, int) or which == 0:
        raise ValueError("Count working days from 1, or backwards from -1.")
    return working_days(fields.months, which, days_off(tuple(calendars)))


def _check_policy(reader: _Reader, fields: CronFields | None) -> None:
    """Refuse to move a frequent schedule: its next instant is as good as a moved one."""
    if reader.choice("calendar_policy", POLICIES) == "skip":
        return
    if fields is None:
        if reader.given("every"):
            message = "What runs at a fixed rate is not moved to another day; use 'skip'."
            reader.complain("calendar_policy", "not_applicable", message)
    elif len(fields.hours) * len(fields.minutes) * len(fields.seconds) > MOVED_PER_DAY:
        message = f"What runs more than {MOVED_PER_DAY} times a day is not moved; use 'skip'."
        reader.complain("calendar_policy", "not_applicable", message)


def _under(calendars: Sequence[CalendarDays], spec: Spec, schedule: Mapping[str, Any]) -> Spec:
    policy = next((p for p in POLICIES if p == schedule.get("calendar_policy")), POLICIES[0])
    rules = LocalRules()
    if isinstance(spec, CronSpec):
        gap, overlap = schedule.get("dst_gap") or GAPS[0], schedule.get("dst_overlap")
        rules = LocalRules(gap, overlap or OVERLAPS[0], 1 if spec.has_seconds else 60)
    return CalendarSpec(spec, calendars, policy, rules)


def _cron_fields(expression: object, seed: str) -> CronFields:
    fields = parse_cron(expression, seed)
    wall_calendar(fields)  # refuses an expression that never fires
    return fields


def _instant(value: object) -> datetime:
    """Read RFC 3339 text or an aware datetime, rounded up to the API's milliseconds."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("The time has no offset.")
        return ceil_millisecond(value.astimezone(UTC))
    return ceil_millisecond(parse_instant(value if isinstance(value, str) else ""))


def _anchored(anchor: datetime | None) -> datetime:
    if anchor is None:
        raise TypeError("'every' without 'start_at' needs an anchor, the creation time")
    return ceil_millisecond(anchor.astimezone(UTC))
