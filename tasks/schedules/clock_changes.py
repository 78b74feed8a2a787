"""The next two changes of a zone's clocks, and their effect on one cron schedule, in words.

Previews, a task's page and commands show it, so that a choice of `dst_gap` or `dst_overlap` is seen
before the day comes. Pure; the effect is read from the schedule's own instants around the change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Literal

from shared.instants import format_instant
from tasks.schedules.base import DST_GAP, DST_OVERLAP, Occurrence, Spec
from tasks.schedules.calendars import CalendarDays
from tasks.schedules.cron_parse import parse_cron
from tasks.schedules.spec import parse
from tasks.schedules.zones import EPOCH, LAST_SECOND, Segment, Zone

Kind = Literal["skipped", "repeated"]
Effect = Literal["none", "left_out", "moved", "first", "second", "both", "elapsed"]

#: A zone without a change within two years has none that a person would plan for.
_AHEAD = timedelta(days=731)
_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of the clocks at an instant, with the local times that it skips or repeats."""

    at: datetime
    kind: Kind
    low: datetime
    high: datetime
    effect: Effect
    #: The starts that the change moves or repeats.
    runs: tuple[datetime, ...]
    zone: Zone

    @property
    def text(self) -> str:
        """Return the change and its effect as a sentence or two."""
        span = f"{self.low:%H:%M} to {self.high:%H:%M}"
        what = f"the clocks skip {span}" if self.kind == "skipped" else f"{span} occurs twice"
        return f"{self.low:%a %Y-%m-%d}: {what}. {self._effect_text()}"

    def _effect_text(self) -> str:
        shown = " and ".join(f"{at.astimezone(self.zone.info):%H:%M %Z}" for at in self.runs[:3])
        return {
            "none": "No run falls into that time.",
            "left_out": "The run of that time is left out.",
            "moved": f"The run of that time starts at {shown} instead.",
            "first": f"It runs the first time only, at {shown}.",
            "second": f"It runs the second time only, at {shown}.",
            "both": f"It runs both times, at {shown}.",
            "elapsed": "Runs keep their pace in elapsed time.",
        }[self.effect]


def clock_changes(
    schedule: Mapping[str, Any],
    *,
    now: datetime,
    seed: str = "",
    calendars: Sequence[CalendarDays] = (),
) -> list[ClockChange]:
    """Return the next skipped and the next repeated hour of a cron schedule, the earlier first.

    Empty for other schedules, and for zones whose clocks do not change within two years. Raise
    ScheduleError for a schedule that is not valid.
    """
    if not schedule.get("cron_expression"):
        return []
    whole = {**schedule, "start_at": None, "end_at": None}
    spec = parse("RECURRING", whole, seed=seed, calendars=calendars)
    shifted = {**whole, "dst_gap": "next_valid"}
    moved = parse("RECURRING", shifted, seed=seed, calendars=calendars)
    fixed = parse_cron(schedule["cron_expression"], seed).fixed_time
    found: dict[Kind, ClockChange] = {}
    for segment in _changes(spec.zone, now):
        kind: Kind = "skipped" if segment.after > segment.offset else "repeated"
        if kind not in found:
            found[kind] = _judged(segment, kind, spec, moved, fixed, schedule)
        if len(found) == 2:
            break
    return list(found.values())


def present_clock_changes(changes: Sequence[ClockChange]) -> list[dict[str, Any]]:
    """Return the changes as the API answers them."""
    return [
        {
            "at": format_instant(one.at),
            "kind": one.kind,
            "effect": one.effect,
            "runs": [format_instant(at) for at in one.runs],
            "text": one.text,
        }
        for one in changes
    ]


def _changes(zone: Zone, now: datetime) -> list[Segment]:
    """Return the stretches of constant offset that end in a change within the next two years."""
    second, last = (now - EPOCH) // _SECOND, (now + _AHEAD - EPOCH) // _SECOND
    found = []
    while 0 <= second <= min(last, LAST_SECOND):
        segment = zone.segment_at(second)
        if segment.end > min(last, LAST_SECOND):
            break
        found.append(segment)
        second = segment.end
    return found


def _judged(
    segment: Segment,
    kind: Kind,
    spec: Spec,
    moved: Spec,
    fixed: bool,
    schedule: Mapping[str, Any],
) -> ClockChange:
    at = EPOCH + segment.end * _SECOND
    note = DST_GAP if kind == "skipped" else DST_OVERLAP
    reach = abs(segment.after - segment.offset) * _SECOND + _MINUTE

    def noted(one: Spec) -> tuple[datetime, ...]:
        near = _until(one, at - reach, at + reach)
        return tuple(run.at for run in near if note in run.notes and not run.excluded)

    runs = noted(spec) if fixed else ()
    effect: Effect
    if not fixed:
        effect = "elapsed"
    elif kind == "repeated":
        choice: Effect = schedule.get("dst_overlap") or "first"
        effect = choice if runs else "none"
    elif runs:
        effect = "moved"
    else:
        effect = "left_out" if noted(moved) else "none"
    low, high = sorted((segment.end + segment.offset, segment.end + segment.after))
    return ClockChange(
        at=at,
        kind=kind,
        low=_wall(low),
        high=_wall(high),
        effect=effect,
        runs=runs,
        zone=spec.zone,
    )


def _until(spec: Spec, after: datetime, until: datetime) -> Iterator[Occurrence]:
    return takewhile(lambda one: one.at <= until, spec.walk(after))


def _wall(second: int) -> datetime:
    """Return a wall-clock second as a time for print; its zone means nothing."""
    return EPOCH + second * _SECOND
