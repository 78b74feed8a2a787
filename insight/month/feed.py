"""The iCalendar text of a feed: the coming runs of a month ahead, by name and time only."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from insight.filter_language.fields import TASKS
from insight.filter_language.terms import parse
from insight.filter_language.tokens import FilterError
from insight.month.days import narrowing
from insight.month.local_days import days_from
from insight.month.runs import MOST_A_DAY, Run, Runs, runs_of_days
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput
from tasks.schedules.zones import UnknownZone, find_zone
from tenants.models import CalendarFeed
from tenants.services.calendar_feeds import create_feed

#: Days that a feed shows, today included, and entries of it.
DAYS, MOST_ENTRIES = 31, 1_000
#: How often programs are asked to read it again.
_REFRESH = "PT1H"


def make_feed(
    tenant_id: UUID, *, name: str, filter_text: str, timezone: str, member: int, actor: Actor
) -> tuple[CalendarFeed, str]:
    """Make a feed of a member and return it with its token; raise InvalidInput, QuotaExceeded."""
    errors: list[FieldError] = []
    try:
        filter_text = parse(filter_text, TASKS).text
    except FilterError as error:
        errors.append(FieldError("#/filter", "invalid", str(error)))
    try:
        find_zone(timezone)
    except UnknownZone as error:
        errors.append(FieldError("#/timezone", "timezone_unknown", str(error)))
    if errors:
        raise InvalidInput(errors)
    return create_feed(
        tenant_id,
        name=name,
        filter_text=filter_text,
        timezone=timezone,
        member=member,
        actor=actor,
    )


def feed_text(feed: CalendarFeed, now: datetime) -> bytes:
    """Return the feed as it is now; the same bytes while its runs are the same.

    Raise InvalidInput for a filter or a zone that this version no longer reads.
    """
    try:
        wanted, zone = parse(feed.filter, TASKS), find_zone(feed.timezone)
    except (FilterError, UnknownZone) as error:
        message = f"This feed cannot be read any more: {error} Make a new one."
        raise InvalidInput([FieldError("#/filter", "invalid", message)], message) from error
    days = days_from(now.astimezone(zone.info).date(), DAYS, zone)
    narrow = narrowing(feed.tenant_id, wanted, now)
    found = runs_of_days(feed.tenant_id, days, now, narrow, MOST_ENTRIES)
    return _written(feed, found)


def _written(feed: CalendarFeed, found: Runs) -> bytes:
    # Loaded by the processes that write a feed, when they do.
    from icalendar import Calendar, Event

    calendar = Calendar()
    calendar.add("prodid", "-//Punctual//Coming runs//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", feed.name)
    calendar.add("x-wr-timezone", feed.timezone)
    calendar.add("x-wr-caldesc", _described(found))
    calendar.add("x-published-ttl", _REFRESH)
    for run in found.runs:
        event = Event()
        for name, value in _properties(run).items():
            event.add(name, value)
        # A program takes the same stamp for the same entry.
        event.add("dtstamp", feed.created_at)
        calendar.add_component(event)
    written: bytes = calendar.to_ical()
    return written


def _properties(run: Run) -> dict[str, str | date | datetime]:
    """Return the properties of a run; one that has more of the day is an entry of the whole day."""
    if run.more:
        return {
            "uid": f"{run.task_id}-{run.day:%Y%m%d}@punctual",
            "summary": f"{run.task_name} (more than {MOST_A_DAY} runs)",
            "dtstart": run.day,
            "dtend": run.day + timedelta(days=1),
            "transp": "TRANSPARENT",
        }
    at = run.at.astimezone(UTC)
    return {
        "uid": f"{run.task_id}-{at:%Y%m%dT%H%M%SZ}@punctual",
        "summary": run.task_name,
        "dtstart": at,
        "transp": "TRANSPARENT",
    }


def _described(found: Runs) -> str:
    text = f"Runs of the next {DAYS} days. Paused tasks do not run."
    if not found.complete:
        text += " There are more runs than are shown: narrow the filter."
    return text
