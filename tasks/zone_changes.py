"""The changes in a new release of the zone database, and the instants of a task that they move.

The rules of every zone are stored as they were last followed. :func:`look` compares them with
the installed ones; ``executions.changes.zone_recompute`` recomputes the tasks and then calls
:func:`follow`, zone by zone, so that the next check continues where a failed one stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from shared.instants import format_instant
from tasks.choices import TaskStatus, TaskType
from tasks.models import Task, ZoneMove, ZoneRules
from tasks.schedules.base import MICROSECOND, Spec
from tasks.schedules.zones import EPOCH, Zone, all_names, changes_of, release

_SECOND = timedelta(seconds=1)
#: How far the stored rules reach.
_BEFORE, _AHEAD = timedelta(days=366), timedelta(days=3653)
#: For how long a task's instants are compared.
YEAR = timedelta(days=365)
#: A change of the rules moves instants at most this far beside the stretch that it concerns.
_BESIDE = timedelta(days=2)
#: How many instants of a task are compared, under either rules.
_MOST = 50_000
LIVE = (TaskStatus.SCHEDULED, TaskStatus.RUNNING, TaskStatus.PAUSED)


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """A zone whose coming offsets differ from the offsets that its tasks were computed with."""

    name: str
    from_release: str
    to_release: str
    old: Zone
    new: Zone
    #: The stretches of the next year whose instants may differ.
    stretches: Sequence[tuple[datetime, datetime]]

    def ahead_at(self, moment: datetime) -> timedelta:
        """Return how far the new rules' local time is ahead of the old rules', or zero."""
        second = _second(moment)
        new, old = (zone.segment_at(second).offset for zone in (self.new, self.old))
        return max(0, new - old) * _SECOND


@dataclass(frozen=True, slots=True)
class Look:
    """The comparison of the installed rules with the recorded ones.

    ``recorded`` is the newest release that was followed, empty before the first check.
    ``behind``: this process runs on an older release and compares nothing.
    """

    installed: str
    recorded: str
    behind: bool = False
    changes: Sequence[ZoneChange] = ()
    #: Zones whose coming offsets have not changed, or that are checked for the first time.
    unchanged: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """The first instants that differ within the year, and how many do.

    ``complete`` is False when there were too many instants to compare them all.
    """

    before: datetime | None
    after: datetime | None
    count: int
    complete: bool


def recorded_release() -> str:
    """Return the newest release that any zone was followed to; '' before the first check."""
    return max(_recorded_releases(), key=_order, default="")


def look(now: datetime, *, asked: bool = False) -> Look:
    """Compare the installed rules of every zone with the recorded ones.

    When the installed release is the recorded one, read no rules. A process on an older release
    than the recorded one has not been upgraded yet; it compares nothing unless ``asked`` to.
    """
    installed, releases = release(), _recorded_releases()
    recorded = max(releases, key=_order, default="")
    if not asked:
        if _order(installed) < _order(recorded):
            return Look(installed, recorded, behind=True)
        if releases == {installed}:
            return Look(installed, recorded)
    stored = {rules.name: rules for rules in ZoneRules.objects.all()}
    changes, unchanged = [], []
    for name in all_names():
        change = _change(stored[name], now) if name in stored else None
        if change:
            changes.append(change)
        else:
            unchanged.append(name)
    return Look(installed, recorded, changes=tuple(changes), unchanged=tuple(unchanged))


@transaction.atomic
def follow(names: Iterable[str], now: datetime) -> None:
    """Record that the tasks of these zones are computed with the installed rules."""
    low, high = _second(now - _BEFORE), _second(now + _AHEAD)
    found = [
        ZoneRules(
            name=name,
            release=release(),
            transitions=changes_of(name, low, high),
            seen_at=now,
        )
        for name in names
    ]
    ZoneRules.objects.bulk_create(
        found,
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["release", "transitions", "seen_at"],
    )


def concerned(names: Iterable[str]) -> dict[str, list[UUID]]:
    """Return the tasks whose instants the zone decides, by zone, in the order of their ids.

    These are the recurring tasks that follow local time: by a cron expression, or by calendars.
    """
    recurring = Task.objects.filter(type=TaskType.RECURRING, status__in=LIVE, deleted_at=None)
    by_zone = recurring.filter(schedule__timezone__in=list(names))
    local = by_zone.filter(Q(schedule__every=None) | ~Q(schedule__calendars=[]))
    found: dict[str, list[UUID]] = {}
    for task_id, zone in local.order_by("id").values_list("id", "schedule__timezone"):
        found.setdefault(zone, []).append(task_id)
    return found


def zones_in_use() -> dict[str, int]:
    """Return how many live tasks of all tenants name each zone."""
    named = Task.objects.filter(status__in=LIVE, deleted_at=None)
    found: dict[str, int] = {}
    for zone in named.values_list("schedule__timezone", flat=True).iterator():
        found[zone or "UTC"] = found.get(zone or "UTC", 0) + 1
    return dict(sorted(found.items()))


def moves_of_tenant(tenant_id: UUID) -> QuerySet[ZoneMove]:
    """Return the tenant's report, for lists; with the tasks."""
    return ZoneMove.objects.filter(tenant_id=tenant_id).select_related("task")


def compare(spec: Spec, change: ZoneChange, now: datetime, remaining: int | None) -> Moved:
    """Compare a schedule's instants of the next year under the old rules and the new.

    ``remaining`` is how many occurrences the task has left. Excluded ones are not counted.
    """
    under = (spec.in_zone(change.old), spec.in_zone(change.new))
    ends = [_last(one, now, remaining) for one in under]
    gone: set[datetime] = set()
    come: set[datetime] = set()
    left, complete = _MOST, True
    for low, high in change.stretches:
        found = [one.between(low - MICROSECOND, high, left + 1) for one in under]
        if max(map(len, found)) > left:
            # Instants beyond the end of a list that was cut off are not compared.
            complete, high = False, min(part[-1].at for part in found if len(part) > left)
        old, new = (
            {one.at for one in part if not one.excluded and one.at <= min(high, end)}
            for part, end in zip(found, ends, strict=True)
        )
        gone |= old - new
        come |= new - old
        left -= max(map(len, found))
        if not complete or left <= 0:
            break
    first = (min(gone, default=None), min(come, default=None))
    return Moved(*first, max(len(gone), len(come)), complete)


def record_move(task: Task, change: ZoneChange, moved: Moved) -> bool:
    """Write a task's line of the report; return False when the line exists already."""
    _, made = ZoneMove.objects.get_or_create(
        task=task,
        zone=change.name,
        from_release=change.from_release,
        to_release=change.to_release,
        defaults={
            "tenant_id": task.tenant_id,
            "moved": {"before": _text(moved.before), "after": _text(moved.after)},
            "moved_count": moved.count,
        },
    )
    return made


def present_zone_move(move: ZoneMove) -> dict[str, Any]:
    """Return a move as the API shows it."""
    return {
        "id": str(move.id),
        "task_id": str(move.task_id),
        "task_name": move.task.name,
        "timezone": move.zone,
        "from_release": move.from_release,
        "to_release": move.to_release,
        "before": move.moved["before"],
        "after": move.moved["after"],
        "moved_count": move.moved_count,
        "noticed_at": format_instant(move.noticed_at),
    }


def _recorded_releases() -> set[str]:
    return set(ZoneRules.objects.values_list("release", flat=True).distinct())


def _change(rules: ZoneRules, now: datetime) -> ZoneChange | None:
    low, high = _second(now - _BEFORE), _second(now + _AHEAD)
    old = Zone.with_changes(rules.name, [(start, offset) for start, offset in rules.transitions])
    new = Zone.with_changes(rules.name, changes_of(rules.name, low, high))
    until = _second(min(rules.seen_at, now) + _AHEAD)
    differing = _differing(old, new, _second(now - _BESIDE), until)
    if not differing:
        return None
    stretches = list(_stretches(differing, now))
    return ZoneChange(rules.name, rules.release, release(), old, new, stretches)


def _differing(old: Zone, new: Zone, low: int, high: int) -> list[tuple[int, int]]:
    """Return the stretches of [low, high) whose offsets differ."""
    found: list[tuple[int, int]] = []
    second = low
    while second < high:
        one, other = old.segment_at(second), new.segment_at(second)
        end = min(one.end, other.end, high)
        if one.offset != other.offset:
            found.append((second, end))
        second = end
    return found


def _stretches(
    differing: Iterable[tuple[int, int]], now: datetime
) -> Iterable[tuple[datetime, datetime]]:
    """Widen the stretches, join those that meet, and cut them to the next year."""
    joined: list[tuple[datetime, datetime]] = []
    for start, end in differing:
        low = max(now, EPOCH + start * _SECOND - _BESIDE)
        high = min(now + YEAR, EPOCH + end * _SECOND + _BESIDE)
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        elif low < high:
            joined.append((low, high))
    return joined


def _last(spec: Spec, now: datetime, remaining: int | None) -> datetime:
    """Return the moment until which the task has occurrences left."""
    if remaining is None or remaining > _MOST:
        return now + YEAR
    left = spec.between(now - MICROSECOND, now + YEAR, remaining)
    return left[-1].at if left and len(left) == remaining else now + YEAR if remaining else now


def _order(name: str) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in name.split(".")]


def _second(moment: datetime) -> int:
    return (moment - EPOCH) // _SECOND


def _text(moment: datetime | None) -> str | None:
    return format_instant(moment) if moment else None
