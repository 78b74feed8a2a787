"""How a task meets the changes of its zone's clocks: the rule, and the next days that it concerns.

The page of the task shows it, and the answer of its calendar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from insight.explain.timetable import Timetable
from tasks.models import Task
from tasks.schedules.base import DST_GAP, DST_OVERLAP, MICROSECOND, Occurrence, Spec
from tasks.schedules.clock_changes import ClockChange, changes_between, rule_text
from tasks.schedules.cron_terms import CronProblem
from tasks.schedules.zones import Zone

#: How far ahead changes are looked for: in most zones two.
_AHEAD = timedelta(days=366)
_MOST_CHANGES = 2
#: Around a change: a local time that it concerns is at most this far away.
_AROUND = timedelta(hours=26)
#: Occurrences that are looked at around a change, and local times that are told.
_MOST_WALKED, _MOST_TIMES = 5_000, 5
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class ConcernedTime:
    """A local time of the schedule that a change skips or repeats.

    ``runs_at`` has the instants at which it runs: none if the rule leaves it out.
    """

    local_time: str
    skipped: bool
    runs_at: Sequence[datetime]


@dataclass(frozen=True, slots=True)
class ComingChange:
    """A change of the clocks, and the first of the local times that it concerns."""

    change: ClockChange
    times: Sequence[ConcernedTime]


@dataclass(frozen=True, slots=True)
class ClockRule:
    """The rule as a sentence, the zone, and the next changes; none in a zone without any."""

    zone: str
    text: str
    coming: Sequence[ComingChange]


def clock_rule_of(task: Task, now: datetime) -> ClockRule | None:
    """Return the rule of the task's schedule; None where the schedule cannot be read."""
    timetable = Timetable(task)
    spec = timetable.current
    if spec is None:
        return None
    try:
        text = rule_text(task.schedule, str(task.pk))
    except CronProblem:
        return None
    changes = changes_between(spec.zone, now, now + _AHEAD)[:_MOST_CHANGES]
    coming = [ComingChange(one, list(_times(timetable, spec, one))) for one in changes]
    return ClockRule(spec.zone.name, text, coming)


def _times(timetable: Timetable, spec: Spec, change: ClockChange) -> Iterator[ConcernedTime]:
    """Yield the local times that the change skips or repeats, and when they run."""
    note = DST_GAP if change.seconds > 0 else DST_OVERLAP
    # The rules under which each of these times runs at least once.
    widest = timetable.altered(dst_gap="next_valid", dst_overlap="both") or spec
    runs: dict[int, list[datetime]] = {}
    for one in _noted(widest, change, note):
        runs.setdefault(widest.wall_of(one), [])
    for one in _noted(spec, change, note):
        runs.setdefault(spec.wall_of(one), []).append(one.at)
    for wall in sorted(runs)[:_MOST_TIMES]:
        yield ConcernedTime(_time_of_day(wall), change.seconds > 0, runs[wall])


def _noted(spec: Spec, change: ClockChange, note: str) -> list[Occurrence]:
    low, high = change.at - _AROUND - MICROSECOND, change.at + _AROUND
    found = spec.between(low, high, _MOST_WALKED)
    return [one for one in found if note in one.notes and not one.excluded]


def _time_of_day(wall: int) -> str:
    hours, rest = divmod(wall % _DAY_SECONDS, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours:02d}:{minutes:02d}" + (f":{seconds:02d}" if seconds else "")


def changes_in(zone: Zone, low: datetime, high: datetime) -> dict[str, ClockChange]:
    """Return the changes of a stretch by their local day, ``2026-03-29``."""
    return {one.day.isoformat(): one for one in changes_between(zone, low, high)}
