"""Checks of the instant itself: whether it is in the schedule, is excluded, and is due."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

from executions.choices import Trigger
from insight.explain.absence import why_absent
from insight.explain.answer import Check, Fix, capitalised, spell, told
from insight.explain.evidence import Situation
from insight.explain.timetable import last_before, next_after, occurrence_at
from shared.payload_sight import hide_url
from tasks.schedules.base import CALENDAR_EXCLUDED, CALENDAR_ROLLED, DST_GAP, DST_OVERLAP
from tasks.schedules.jitter import jitter_of

_BY_HAND = {
    Trigger.MANUAL: "it was started by hand, beside the schedule",
    Trigger.BACKFILL: "a backfill made it, beside the schedule",
    Trigger.RETRY: "it repeats a finished execution, beside the schedule",
    Trigger.WORKFLOW: "a workflow made it, beside the schedule",
}
#: A start less than this after its time counts as on time.
ON_TIME = timedelta(seconds=1)
#: How many instants a search for a moved one reads.
_LOOKED_AT = 400


def in_schedule(found: Situation) -> Check:
    """Judge whether the schedule expects the instant at all."""
    row = found.row
    if row is not None and not found.scheduled:
        says = _BY_HAND.get(Trigger(row.trigger), "it was made beside the schedule")
        return Check("in_schedule", None, says, _elsewhere(found))
    if row is not None:
        text = f": {found.spec.text}" if found.spec else ""
        says = f"version {row.revision} of the schedule expects it{text}"
        return Check("in_schedule", True, says, _notes(found))
    absent = why_absent(found)
    if absent is not None:
        says, more = absent
        fix = Fix("Edit the schedule.", f"PATCH /v1/tasks/{found.task.pk}", "task", found.task.pk)
        near = _nearest(found) if found.occurrence is None else ""
        return Check("in_schedule", False, says, f"{more} {near}".strip(), fix)
    text = found.spec.text if found.spec else ""
    return Check("in_schedule", True, f"the schedule expects it: {text}", _notes(found))


def _elsewhere(found: Situation) -> str:
    """Return the URL or pool that a replay sent it to, as a sentence; '' for any other run."""
    if found.into is None:
        return ""
    [(key, place)] = found.into.items()
    where = f"the pool {place}" if key == "pool" else hide_url(place)
    return f"It was replayed into {where}, and goes there even if the task's target has changed."


def calendar(found: Situation) -> Check:
    """Judge whether a calendar of the task excludes the instant, or has moved it."""
    names = [str(name) for name in found.task.schedule.get("calendars") or []]
    if not found.scheduled:
        return Check("calendar", None, "calendars apply only to instants of the schedule")
    occurrence = found.occurrence
    excluder = occurrence.excluded if occurrence is not None else ""
    if found.reason == CALENDAR_EXCLUDED or (excluder and found.row is None):
        return _excluded(found, excluder or ", ".join(names))
    if found.row is None and occurrence is None:
        return _moved_away(found, names)
    if occurrence is not None and CALENDAR_ROLLED in occurrence.notes:
        return Check("calendar", True, "a calendar excludes its own day and moved it here")
    if not names:
        return Check("calendar", None, "the task has no calendar")
    return Check("calendar", True, f"no calendar ({', '.join(names)}) excludes it")


def due(found: Situation) -> Check:
    """Judge whether its time has come, jitter included."""
    if found.final and not found.started:
        return Check("due", None, "it ended without a start")
    if found.started:
        return Check("due", True, _started_when(found))
    if found.row is None and found.occurrence is None:
        return Check("due", None, "an instant outside the schedule is never due")
    spread = _spread(found)
    if found.due:
        late = found.now - found.due_at
        return Check(
            "due", True, f"it is due since {told(found.due_at)}, for {spell(late)}", spread
        )
    wait = spell(found.due_at - found.now)
    says = f"it is due at {told(found.due_at)}, in {wait}"
    return Check("due", None, says, spread, until=found.due_at, not_yet=True)


def _spread(found: Situation) -> str:
    """Return why it is due later than its time: by jitter, or because it waited for its turn."""
    later, most = found.due_at - found.at, jitter_of(found.task.schedule)
    if later <= timedelta() or not found.scheduled:
        return ""
    if later.total_seconds() < most:
        return (
            f"Its jitter of up to {most:g} s puts it {spell(later)} after its time, "
            f"{told(found.at)}."
        )
    return f"Its own time was {told(found.at)}."


def _started_when(found: Situation) -> str:
    row = found.row
    if row is None or row.started_at is None:
        return "its time had come"
    first = found.attempts[0].due_at if found.attempts else row.due_at
    due_at = found.first_due_at if found.outage else first or row.due_at
    delay = row.started_at - due_at
    how = "on time" if delay < ON_TIME else f"{spell(delay)} late"
    return f"it started at {told(row.started_at)}, {how}"


def _notes(found: Situation) -> str:
    occurrence, schedule = found.occurrence, found.task.schedule
    if occurrence is None:
        return ""
    words = []
    if DST_GAP in occurrence.notes:
        gap = schedule.get("dst_gap")
        words.append(f"It replaces a local time that the clocks jump over (dst_gap {gap}).")
    if DST_OVERLAP in occurrence.notes:
        overlap = schedule.get("dst_overlap")
        words.append(f"Its local time occurs twice that day (dst_overlap {overlap}).")
    return " ".join(words)


def _nearest(found: Situation) -> str:
    before, after = last_before(found.spec, found.at), next_after(found.spec, found.at)
    words = []
    if before is not None:
        words.append(f"the one before is {told(before)}")
    if after is not None:
        words.append(f"the one after is {told(after)}")
    return f"{capitalised(', '.join(words))}." if words else ""


def _excluded(found: Situation, name: str) -> Check:
    local = found.at.astimezone(found.spec.zone.info) if found.spec else found.at
    says = f"a calendar, {name or 'of the task'}, excludes {local:%Y-%m-%d}"
    fix = Fix(
        "Change the calendar, or take it from the schedule.",
        f"PATCH /v1/tasks/{found.task.pk}",
        "task",
        found.task.pk,
    )
    return Check("calendar", False, says, fix=fix)


def _moved_away(found: Situation, names: list[str]) -> Check:
    """Judge an instant that only the schedule without its calendars contains."""
    bare = occurrence_at(found.without_calendars, found.at) if names else None
    if bare is None or found.spec is None:
        return Check("calendar", None, "no calendar applies to an instant outside the schedule")
    policy = found.task.schedule.get("calendar_policy")
    says = f"a calendar ({', '.join(names)}) excludes it, and calendar_policy is {policy}"
    moved = _moved_to(found, forward=policy == "next_business_day")
    more = f"It was moved to {moved}." if moved else ""
    fix = Fix("Change the calendar, or the policy.", f"PATCH /v1/tasks/{found.task.pk}")
    return Check("calendar", False, says, more, fix)


def _moved_to(found: Situation, *, forward: bool) -> str:
    """Return its new time: the nearest moved instant in the direction of the policy."""
    spec, at = found.spec, found.at
    if spec is None:
        return ""
    if forward:
        ahead = islice(spec.walk(at), _LOOKED_AT)
        return next((told(one.at) for one in ahead if CALENDAR_ROLLED in one.notes), "")
    for _ in range(_LOOKED_AT):
        before = last_before(spec, at)
        occurrence = None if before is None else occurrence_at(spec, before)
        if occurrence is None:
            return ""
        if CALENDAR_ROLLED in occurrence.notes:
            return told(occurrence.at)
        at = occurrence.at
    return ""
