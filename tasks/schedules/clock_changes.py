"""The changes of the clocks in a zone, and the rule by which a schedule meets them, in words.

Pure: knows no model and no clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from tasks.schedules.base import SECOND
from tasks.schedules.cron_parse import parse_cron
from tasks.schedules.zones import EPOCH, LAST_SECOND, Zone

_GAPS = {
    "next_valid": "A time that the clocks skip runs right after the gap",
    "skip": "A time that the clocks skip does not run that day",
    "before": "A time that the clocks skip runs right before the gap",
}
_OVERLAPS = {
    "first": "a time that occurs twice runs once, the first time",
    "second": "a time that occurs twice runs once, the second time",
    "both": "a time that occurs twice runs both times",
}


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of a zone's clocks at an instant, by ``seconds``: above 0 they go forward.

    ``day`` is the local day on which it happens.
    """

    at: datetime
    seconds: int
    day: date

    @property
    def words(self) -> str:
        """Return ``the clocks go forward 60 minutes``."""
        return f"the clocks go {'forward' if self.seconds > 0 else 'back'} {_length(self.seconds)}"


def changes_between(zone: Zone, low: datetime, high: datetime) -> list[ClockChange]:
    """Return the changes in (low, high], oldest first."""
    found = []
    second = max(0, (low - EPOCH) // SECOND)
    last = min(LAST_SECOND, (high - EPOCH) // SECOND)
    while (segment := zone.segment_at(second)).end <= last:
        at = EPOCH + segment.end * SECOND
        local = at + timedelta(seconds=segment.offset) - SECOND
        found.append(ClockChange(at, segment.after - segment.offset, local.date()))
        second = segment.end
    return found


def rule_text(schedule: Mapping[str, Any], seed: str = "") -> str:
    """Return how a schedule meets changes of the clocks, as a sentence without its zone.

    ``seed`` decides the ``H`` of a cron expression, as elsewhere. Raise CronProblem for an
    expression that cannot be read.
    """
    expression = schedule.get("cron_expression")
    if not expression:
        moved = "It has one fixed instant" if schedule.get("run_at") else "It runs at a fixed rate"
        return f"{moved}: changes of the clocks do not move it."
    if not parse_cron(expression, seed).fixed_time:
        return (
            "It runs at every real time that matches: through an hour that occurs twice, and not "
            "in an hour that the clocks skip."
        )
    gap = _GAPS.get(schedule.get("dst_gap") or "", _GAPS["next_valid"])
    overlap = _OVERLAPS.get(schedule.get("dst_overlap") or "", _OVERLAPS["first"])
    return f"{gap}; {overlap}."


def _length(seconds: int) -> str:
    minutes, rest = divmod(abs(seconds), 60)
    return f"{minutes} minutes" if not rest else f"{abs(seconds)} seconds"
