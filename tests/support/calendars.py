"""Calendars for tests, made through the product's own services."""

from __future__ import annotations

from typing import Any

from tasks import calendars
from tasks.calendar_content import read_content
from tasks.models import Calendar
from tenants.models import Tenant
from tests.factories import ACTOR, daily

#: Easter of 2027.
EASTER = ["2027-03-26", "2027-03-29"]
ICAL = (
    "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20271225\r\nDTEND;VALUE=DATE:20271227"
    "\r\nSUMMARY:Christmas\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nDTSTART:20271120T080000Z\r\n"
    "DURATION:PT2H\r\nSUMMARY:Patching\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\n"
    "DTSTART:20271120T080000Z\r\nSUMMARY:Nothing\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


def make_calendar(tenant: Tenant, name: str = "Holidays", **parts: Any) -> Calendar:
    """Create a calendar of the tenant; Easter unless told."""
    body = {"name": name, "dates": EASTER, **parts}
    return calendars.create_calendar(tenant.id, read_content(body), actor=ACTOR)


def under(*names: str, cron: str = "0 8 * * *", **schedule: Any) -> dict[str, Any]:
    """Return the body of a task that names these calendars."""
    when = {"cron_expression": cron, "calendars": list(names), **schedule}
    return daily(schedule=when)
