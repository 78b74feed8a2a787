"""Writes times for people: on the reader's clock, always with the name of its zone.

The reader's zone is Django's current one: the console and messages set it, the API and commands
use UTC. Where the task's clock shows another time, that time follows. Pages, pictures, explanations
and messages write times by this module alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import dateformat, timezone

_FORMS = {
    "seconds": "%Y-%m-%d %H:%M:%S",
    "minutes": "%Y-%m-%d %H:%M",
    "weekday": "%a %Y-%m-%d %H:%M:%S",
}
_beside: ContextVar[tzinfo | None] = ContextVar("zone_beside", default=None)


def zone_of(name: str | None) -> tzinfo:
    """Return a zone by its name, UTC where the zone database has none of that name."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


@contextmanager
def beside(zone: tzinfo) -> Iterator[None]:
    """Show every time within on this clock, too, where it shows another time."""
    token = _beside.set(zone)
    try:
        yield
    finally:
        _beside.reset(token)


def clock_text(moment: datetime, precision: str = "seconds") -> str:
    """Return ``2026-03-29 03:30:05 CEST``; with the time ``beside`` it, in parentheses."""
    there = beside_text(moment, _beside.get(), precision)
    here = f"{digits(moment, precision)} {zone_label(moment)}"
    return f"{here} ({there})" if there else here


def beside_text(moment: datetime, zone: tzinfo | None, precision: str = "seconds") -> str:
    """Return the time in another zone than the reader's, nothing where both clocks agree.

    The date is left out where it is the same.
    """
    if zone is None or local_time(moment, zone).utcoffset() == local_time(moment).utcoffset():
        return ""
    text = digits(moment, "seconds" if precision == "weekday" else precision, zone)
    if local_time(moment).date() == local_time(moment, zone).date():
        text = text.partition(" ")[2]
    return f"{text} {zone_label(moment, zone)}"


def digits(moment: datetime, precision: str = "seconds", zone: tzinfo | None = None) -> str:
    """Return date and time without a zone, for places that show the label elsewhere.

    Precision is ``ms``, ``seconds``, ``minutes``, ``weekday`` (seconds, behind the day's name), or
    ``auto``: milliseconds where there are any.
    """
    local = local_time(moment, zone)
    text = local.strftime(_FORMS.get(precision, _FORMS["seconds"]))
    milliseconds = local.microsecond // 1000
    if precision == "ms" or (precision == "auto" and milliseconds):
        text += f".{milliseconds:03d}"
    return text


def zone_label(moment: datetime, zone: tzinfo | None = None) -> str:
    """Return the name of the zone at that moment: ``CET``, ``UTC+03`` where it has none."""
    name = local_time(moment, zone).tzname() or "UTC"
    return f"UTC{name}" if name[0] in "+-" else name


def minute_text(moment: datetime, precision: str = "minutes") -> str:
    """Return ``08:05 CET``, for times of a day that is named elsewhere."""
    form = "%H:%M:%S" if precision == "seconds" else "%H:%M"
    return f"{local_time(moment).strftime(form)} {zone_label(moment)}"


def time_of_day(moment: datetime) -> str:
    """Return ``08:05`` without a zone, for the marks of an axis: its picture's words name it."""
    return local_time(moment).strftime("%H:%M")


def weekday_text(moment: datetime) -> str:
    """Return ``Sun 03-29`` on the reader's clock."""
    return local_time(moment).strftime("%a %m-%d")


def day_text(day: date, form: str = "Y-m-d") -> str:
    """Return a day, which is no moment and has no zone, in the form of Django's ``date``.

    Raise TypeError for a moment: its day depends on the reader's clock.
    """
    if isinstance(day, datetime):
        raise TypeError("A moment is no day.")
    return dateformat.format(day, form)


def field_text(moment: datetime, zone: tzinfo | None = None) -> str:
    """Return a moment as a form's field for date and time takes it."""
    return local_time(moment, zone).strftime("%Y-%m-%dT%H:%M:%S")


def local_time(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """Return a moment on the reader's clock or another one, for arithmetic, not for print.

    On the first and the last day of the calendar, where another clock may have no date, in UTC.
    """
    try:
        return timezone.localtime(moment, zone)
    except OverflowError:
        return moment.astimezone(UTC)
