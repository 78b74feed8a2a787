"""Which tasks meet in a minute and can be spread, and how far without passing their next start.

``executions.bulk.spreading`` makes the bulk job that spreads them; nothing is changed here.
Tasks that have a jitter already stay as they are. So do tasks that start every minute or more
often, because no jitter takes them out of the minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from shared.exceptions import FieldError, InvalidInput, PunctualError
from tasks.forecast_groups import Group, Scope, ids_of, plain_tasks, read_groups
from tasks.schedules.base import MICROSECOND
from tasks.schedules.minutes import MINUTE

#: Maximum number of tasks that one job spreads.
MOST_TASKS = 10_000
#: The jitter that is proposed, unless half of the way to the next start is less.
USUAL_JITTER_SECONDS = 300
#: How far ahead a minute may be.
_AHEAD = timedelta(days=373)


@dataclass(frozen=True, slots=True)
class Meeting:
    """The tasks that would be spread, and how many are left out because they have a jitter already.

    ``limited``: there are more tasks than one job spreads. ``gap_seconds`` is the time to the
    next start of the densest schedule, None where no task starts again.
    """

    at: datetime
    task_ids: list[UUID]
    left_out: int
    limited: bool
    gap_seconds: float | None

    @property
    def jitter_seconds(self) -> int:
        """Return the jitter that is proposed: it passes no next start."""
        if self.gap_seconds is None:
            return USUAL_JITTER_SECONDS
        return max(1, min(int(self.gap_seconds / 2), USUAL_JITTER_SECONDS))


class _Found(NamedTuple):
    groups: list[Group]
    left_out: int
    gaps: list[float]


def find_meeting(tenant_id: UUID, at: datetime, *, now: datetime) -> Meeting:
    """Return the tasks that start in the minute of an instant and can be spread.

    Raise InvalidInput for a minute that has passed, or is too far ahead.
    """
    minute = at.replace(second=0, microsecond=0)
    if not now - MINUTE < minute <= now + _AHEAD:
        message = "Give a coming minute, at most a year ahead."
        raise InvalidInput([FieldError("#/at", "out_of_range", message)], message)
    scope = Scope(tenant_id, minute + MINUTE)
    found = _recurring(scope, minute)
    ids = ids_of(scope, found.groups, MOST_TASKS + 1) if found.groups else []
    once = plain_tasks(scope).filter(cursor__next_run_at__gte=minute)
    unspread = once.filter(schedule__jitter_seconds=0)
    left_out = found.left_out + once.count() - unspread.count()
    ids += unspread.order_by("id").values_list("id", flat=True)[: MOST_TASKS + 1 - len(ids)]
    gap = min(found.gaps, default=None)
    return Meeting(minute, ids[:MOST_TASKS], left_out, len(ids) > MOST_TASKS, gap)


def _recurring(scope: Scope, minute: datetime) -> _Found:
    groups: list[Group] = []
    gaps: list[float] = []
    left_out = 0
    for group in read_groups(scope)[0]:
        gap = _gap_after(group, minute)
        if gap is None or gap <= MINUTE.total_seconds():
            continue
        if group.jitter_seconds:
            left_out += group.tasks
            continue
        groups.append(group)
        gaps.append(gap)
    return _Found(groups, left_out, gaps)


def _gap_after(group: Group, minute: datetime) -> float | None:
    """Return the seconds from the group's start in the minute to its next; None without one."""
    try:
        spec = group.make(group.schedule)
        walk = spec.walk_open(minute - MICROSECOND)
        first = next(walk, None)
        if first is None or first.at >= minute + MINUTE:
            return None
        following = next(walk, None)
    except (PunctualError, ValueError, LookupError, TypeError, ArithmeticError):
        # An unreadable schedule starts nothing; the scheduler pauses its task.
        return None
    if following is None:
        return float(USUAL_JITTER_SECONDS * 2)
    return (following.at - first.at).total_seconds()
