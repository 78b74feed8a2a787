"""From one local time of a day to its instant, by the rules of a schedule for changed clocks.

A run that is moved to another day keeps its local time, and follows the same rules for gaps and
overlaps there as the schedule's own instants.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.schedules.base import DST_GAP, DST_OVERLAP
from tasks.schedules.zones import LAST_SECOND, Segment, Zone

#: No local time is further from UTC, so the stretches that can hold it begin or end within this.
_FURTHEST = 16 * 3600


@dataclass(frozen=True, slots=True)
class LocalRules:
    """The rules for a local time that is missing or occurs twice; ``both`` takes the first.

    ``step`` is the finest unit of the schedule in seconds: `before` a gap is that long before it.
    """

    gap: str = "next_valid"
    overlap: str = "first"
    step: int = 60


def place(zone: Zone, wall: int, rules: LocalRules) -> tuple[int, tuple[str, ...]] | None:
    """Return the second (since 1970, UTC) of a wall-clock second, with notes.

    None where it is missing and the rules skip it, or where the calendar does not reach.
    """
    near = _segments(zone, wall)
    found = [
        wall - segment.offset
        for segment in near
        if segment.start <= wall - segment.offset < segment.end
    ]
    if len(found) == 1:
        return found[0], ()
    if found:
        return found[-1 if rules.overlap == "second" else 0], (DST_OVERLAP,)
    return _in_gap(near, wall, rules)


def _segments(zone: Zone, wall: int) -> list[Segment]:
    second, last = wall - _FURTHEST, wall + _FURTHEST
    if second < 0 or last > LAST_SECOND:
        return []
    found = [zone.segment_at(second)]
    while found[-1].end <= last:
        found.append(zone.segment_at(found[-1].end))
    return found


def _in_gap(
    near: list[Segment], wall: int, rules: LocalRules
) -> tuple[int, tuple[str, ...]] | None:
    if rules.gap == "skip":
        return None
    for segment in near:
        if segment.end + segment.offset <= wall < segment.end + segment.after:
            if rules.gap == "next_valid":
                return segment.end, (DST_GAP,)
            before = segment.end + segment.offset - 1
            return max(segment.start, before - before % rules.step - segment.offset), (DST_GAP,)
    return None
