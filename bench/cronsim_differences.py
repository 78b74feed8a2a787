"""What cronsim says around a change of the clocks, and why it differs where it does.

Each class is explained in docs/reference/schedules.md. A disagreement is explained only when the
reading that its class tells of predicts cronsim's answer, or when cronsim hops over an odd
change in steps of whole hours, or never answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

SECONDS_FIELD = "a seconds field means elapsed time to cronsim"
STEP_INSIDE = "a step without a leading star means a fixed time to cronsim"
LOST_TRACK = "cronsim hops in whole hours over a change that is not one"
NO_MIDNIGHT = "cronsim answers with a midnight that does not exist"
NO_ANSWER = "cronsim goes round for ever"
UNEXPLAINED = "unexplained"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Steps for one answer; a year of hours is the most that any expression of the corpus needs.
_MOST_STEPS = 50_000


class NoAnswer(Exception):
    """Cronsim would go round for ever."""


def instants(expression: str, zone: str, low: int, high: int) -> list[int] | None:
    """Return cronsim's instants in (low, high], in seconds since 1970; None where it has no words.

    Raise NoAnswer when it does not come back.
    """
    after = _EPOCH + timedelta(seconds=low)
    try:
        simulated = CronSim(expression, after.astimezone(ZoneInfo(zone)))
    except CronSimError:
        return None
    _bound(simulated)
    found = ((moment.astimezone(UTC) - _EPOCH) // timedelta(seconds=1) for moment in simulated)
    return list(takewhile(lambda second: second <= high, found))


def _bound(simulated: Any) -> None:
    """Let cronsim take at most ``_MOST_STEPS`` steps."""
    left = _MOST_STEPS

    def counted(step: Any) -> Any:
        def take(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise NoAnswer
            return step(*arguments, **named)

        return take

    simulated.tick = counted(simulated.tick)
    simulated.advance_month = counted(simulated.advance_month)


@dataclass(frozen=True, slots=True)
class Readings:
    """What is right for either kind of time, and how odd the change is.

    ``fixed`` is meant once a day, ``elapsed`` follows elapsed time. ``whole_hours`` says that the
    clocks jump by whole hours, at a whole hour. ``no_midnight`` is the moment of the change where
    it leaves out a midnight.
    """

    fixed: list[int]
    elapsed: list[int]
    whole_hours: bool
    no_midnight: int | None


def explain(expression: str, theirs: list[int], readings: Readings) -> str:
    """Return the class of a disagreement."""
    parts = expression.split()
    starred = any(part.startswith("*") for part in parts[-5:-3])
    if len(parts) == 6 and theirs == readings.elapsed:
        return SECONDS_FIELD
    if len(parts) == 5 and not starred and theirs == readings.fixed:
        return STEP_INSIDE
    if starred or len(parts) == 6:
        if set(theirs) == {*readings.elapsed, readings.no_midnight}:
            return NO_MIDNIGHT
        if not readings.whole_hours:
            return LOST_TRACK
    return UNEXPLAINED
