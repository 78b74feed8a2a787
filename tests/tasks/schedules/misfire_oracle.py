"""What becomes of every missed instant, decided one by one: slow, and plain to read.

`plan` must say the same whatever it counts, spans and divides into calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from tasks.schedules.base import Occurrence, Spec
from tasks.schedules.misfire import Plan, plan

Entry = tuple[datetime, bool, str]

_JUST_BEFORE = timedelta(microseconds=1)
_MANY = 10**7


class ExcludingSpec(Spec):
    """A schedule of which some instants are excluded."""

    may_exclude = True

    def __init__(self, inner: Spec, excludes: Callable[[datetime], bool]) -> None:
        self.kind = inner.kind
        self.zone = inner.zone
        self._inner = inner
        self._excludes = excludes

    @property
    def text(self) -> str:
        return self._inner.text

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        for found in self._inner.walk(after):
            excluded = "Holidays" if self._excludes(found.at) else ""
            yield Occurrence(found.at, found.notes, excluded)

    def count_between(self, after: datetime, until: datetime, limit: int) -> Any:
        raise AssertionError("counting does not tell what is excluded")


def decide(spec: Spec, **asked: Any) -> list[Entry]:
    """Return every instant from the cursor to the horizon, whether it runs, and why (not)."""
    remaining = asked.get("remaining")
    most = _MANY if remaining is None else remaining
    instants = spec.between(asked["cursor"] - _JUST_BEFORE, asked["horizon"], most)
    chosen = _chosen([o.at for o in instants if _is_missed(spec, o, asked)], asked)
    return [_decide(spec, occurrence, chosen, asked) for occurrence in instants]


def accounted(spec: Spec, made: Plan) -> list[Entry]:
    """Return every instant that a plan accounts for, its spans one by one, in order."""
    found = [(row.at, row.run, row.reason) for row in made.rows]
    for span in made.spans:
        inside = spec.between(span.first - _JUST_BEFORE, span.last, _MANY)
        assert (inside[0].at, inside[-1].at, len(inside)) == (span.first, span.last, span.count)
        found += [(occurrence.at, False, span.reason) for occurrence in inside]
    assert len(found) == made.occurrences
    return sorted(found)


def plan_all(spec: Spec, **asked: Any) -> tuple[list[Entry], list[Plan]]:
    """Ask for plans until the horizon is reached; return their entries and the plans."""
    entries: list[Entry] = []
    plans: list[Plan] = []
    cursor: datetime | None = asked.pop("cursor")
    left = asked.pop("remaining", None)
    while cursor is not None and cursor <= asked["horizon"]:
        caught_up = bool(plans and plans[-1].caught_up)
        made = plan(spec, cursor=cursor, remaining=left, caught_up=caught_up, **asked)
        found = accounted(spec, made)
        assert not entries or not found or entries[-1][0] < found[0][0]
        entries += found
        plans.append(made)
        left = None if left is None else left - made.occurrences
        assert made.next_run_at is None or made.next_run_at > cursor or not found
        assert found or made.next_run_at != cursor or cursor > asked["horizon"], "no progress"
        cursor = made.next_run_at
    return entries, plans


def _is_old(at: datetime, seconds: float, asked: dict[str, Any]) -> bool:
    return bool(at < asked["now"] - timedelta(seconds=seconds))


def _is_dropped(at: datetime, asked: dict[str, Any]) -> bool:
    grace = asked["grace_seconds"]
    return grace is not None and _is_old(at, max(grace, _missed_after(asked)), asked)


def _missed_after(asked: dict[str, Any]) -> float:
    return float(asked.get("missed_after_seconds", 15.0))


def _is_missed(spec: Spec, occurrence: Occurrence, asked: dict[str, Any]) -> bool:
    at = occurrence.at
    if spec.kind == "once" or occurrence.excluded or _is_dropped(at, asked):
        return False
    return _is_old(at, _missed_after(asked), asked)


def _chosen(missed: list[datetime], asked: dict[str, Any]) -> dict[datetime, tuple[bool, str]]:
    limit, chosen = asked.get("replay_limit"), dict[datetime, tuple[bool, str]]()
    for place, at in enumerate(missed):
        last = place == len(missed) - 1
        if asked["policy"] == "skip":
            chosen[at] = (False, "misfire_skipped")
        elif asked["policy"] == "replay":
            runs = limit is None or len(missed) - place <= limit
            chosen[at] = (runs, "misfire_replayed" if runs else "misfire_skipped")
        else:
            stands = place == 0 if asked.get("coalesce") == "earliest" else last
            chosen[at] = (stands, "misfire_coalesced")
    return chosen


def _decide(
    spec: Spec,
    occurrence: Occurrence,
    chosen: dict[datetime, tuple[bool, str]],
    asked: dict[str, Any],
) -> Entry:
    at = occurrence.at
    if occurrence.excluded:
        return (at, False, "calendar_excluded")
    if _is_dropped(at, asked):
        return (at, False, "misfire_grace_exceeded")
    return (at, *chosen.get(at, (True, "")))
