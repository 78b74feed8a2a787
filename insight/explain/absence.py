"""Find out why the schedule does not expect an instant that has no row.

The reasons are tried in turn, the plainest first; the last one always fits.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from insight.explain.answer import told
from insight.explain.evidence import Situation
from insight.explain.timetable import occurrence_at
from shared.exceptions import InvalidInput
from shared.instants import InstantError, parse_instant
from tasks.choices import DST_GAP as GAP_CHOICES
from tasks.schedules.base import DST_GAP, DST_OVERLAP
from tasks.schedules.zones import EPOCH

Absence = tuple[str, str]
_SECOND = timedelta(seconds=1)


def why_absent(found: Situation) -> Absence | None:
    """Return a clause and further sentences; None for an instant that is expected."""
    if found.without_calendars is None:
        return "the stored schedule cannot be read", "Edit the task to repair it."
    expected = found.occurrence is not None or _is_nominal(found)
    if expected:
        return _why_not_of_this_task(found)
    return next(filter(None, (reason(found) for reason in _REASONS)), None) or _generic(found)


def _is_nominal(found: Situation) -> bool:
    return occurrence_at(found.without_calendars, found.at) is not None


def _why_not_of_this_task(found: Situation) -> Absence | None:
    """Return why an instant that the schedule in force has was not expected after all."""
    used = _used_up(found)
    if used is not None:
        return used
    if not found.passed or found.at > found.now:
        return None
    if found.at < found.task.created_at:
        return f"the task was made later, at {told(found.task.created_at)}", ""
    return _edited_since(found)


def _used_up(found: Situation) -> Absence | None:
    limit = found.task.schedule.get("max_occurrences")
    if limit is None:
        return None
    says = f"its {limit} occurrences (max_occurrences) are used up before it"
    if found.task.next_run_at is None:
        many = found.task.occurrence_count >= int(limit)
        return (says, "") if many else None
    if found.passed:
        return None
    try:
        left = found.timetable.left_from(found.at, found.at)
    except InvalidInput:
        return None  # too far ahead to count; the explanation does not claim it
    return None if left is None or left > 0 else (says, "")


def _edited_since(found: Situation) -> Absence | None:
    """Return that the version in force then lacked this instant, which the present one has."""
    then = found.timetable.version_at(found.at)
    if then is None or then[0] == found.task.version:
        return None
    if occurrence_at(found.timetable.of(then[0]), found.at) is not None:
        return None
    changed = found.timetable.version_at(found.now)
    since = f", of {told(changed[1])}" if changed else ""
    return (
        f"version {found.task.version}{since}, has this instant; version {then[0]}, in force "
        "then, did not",
        "",
    )


def _edited_away(found: Situation) -> Absence | None:
    """Return that the latest edit removed this instant."""
    version = found.task.version - 1
    if version < 1 or occurrence_at(found.timetable.of(version), found.at) is None:
        return None
    changed = found.timetable.version_at(found.now)
    since = f" of {told(changed[1])}" if changed else ""
    return f"the edit{since} to version {found.task.version} removed this instant", ""


def _before_start(found: Situation) -> Absence | None:
    start = _bound(found, "start_at")
    if start is None or found.at >= start:
        return None
    return f"the schedule begins later, at {told(start)} (start_at)", ""


def _after_end(found: Situation) -> Absence | None:
    end = _bound(found, "end_at")
    if end is None or found.at <= end:
        return None
    return f"the schedule has ended before, at {told(end)} (end_at)", ""


def _bound(found: Situation, name: str) -> datetime | None:
    value = found.task.schedule.get(name)
    try:
        return parse_instant(value) if isinstance(value, str) else None
    except InstantError:
        return None


def _clocks_jump(found: Situation) -> Absence | None:
    """Return that its local time does not exist that day, and the effect of dst_gap."""
    spec = found.without_calendars
    choice = found.task.schedule.get("dst_gap")
    if spec is None or choice is None or found.at < EPOCH + _SECOND:
        return None
    second = (found.at - EPOCH) // _SECOND
    segment = spec.zone.segment_at(second)
    gap_of = f"the clocks jump over its local time that day, and dst_gap is {choice}"
    for other in GAP_CHOICES:
        altered = found.timetable.altered(dst_gap=other)
        instead = occurrence_at(altered, found.at)
        if instead is not None and DST_GAP in instead.notes:
            return gap_of, ""
    # The same reading of the clock as before the jump: an hour later than it would have been.
    in_shadow = 0 <= second - segment.start < segment.offset - segment.before
    after_jump = EPOCH + segment.start * _SECOND
    jumped = occurrence_at(found.timetable.altered(dst_gap="next_valid"), after_jump)
    if not in_shadow or jumped is None or DST_GAP not in jumped.notes:
        return None
    more = f"It is run at {told(after_jump)} instead." if choice == "next_valid" else ""
    return gap_of, more


def _clocks_repeat(found: Situation) -> Absence | None:
    choice = found.task.schedule.get("dst_overlap")
    twice = occurrence_at(found.timetable.altered(dst_overlap="both"), found.at)
    if choice is None or twice is None or DST_OVERLAP not in twice.notes:
        return None
    return f"its local time occurs twice that day, and dst_overlap is {choice}: the other one", ""


def _generic(found: Situation) -> Absence:
    text = found.spec.text if found.spec else ""
    return f"the schedule has no such instant: {text}", ""


_REASONS: tuple[Callable[[Situation], Absence | None], ...] = (
    _before_start,
    _after_end,
    _clocks_jump,
    _clocks_repeat,
    _edited_away,
)
