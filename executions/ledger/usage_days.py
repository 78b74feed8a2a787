"""Add up the minute statistics: by day, which makes the usage that is charged back, and by hour.

Housekeeping calls it before it prunes minutes. A day is added up from its minutes, never counted
on, so a repeat changes nothing. An outcome that is recorded late belongs to the minute in which
its attempt ended: the last days are added up each time, and each day once more before its minutes
go. Only an outcome that is recorded after that is in no day. Hours, for the objectives, are added
up with their days.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from django.db.models import Max

from executions.ledger import objectives
from executions.models import UsageDay
from shared.conf import conf
from shared.sql import run

_DAY = timedelta(days=1)
#: Minutes of this many days are always kept: of today and yesterday, usage is read from minutes.
KEPT_DAYS = 3
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


def roll_up(now: datetime, oldest: datetime) -> datetime:
    """Store the days, and their hours, that may have changed; return the first minute to keep.

    ``oldest`` is the end of the retention. Minutes are kept by whole days, so that a day always
    has all of its minutes or none.
    """
    before = min(midnight(oldest), midnight(now) - KEPT_DAYS * _DAY)
    latest = UsageDay.objects.aggregate(latest=Max("day"))["latest"]
    since = _FIRST
    if latest is not None:
        since = datetime.combine(min(latest, now.date()), time(), UTC) - KEPT_DAYS * _DAY
    until = midnight(now) + 2 * _DAY
    for first, end in ((_FIRST, before), (max(since, before), until)):
        run("usage/roll_up_days", {"since": first, "until": end})
        objectives.roll_up(first, end)
    return before


def prune(now: datetime) -> int:
    """Delete the days past the retention of usage; return how many rows. Index usage_days_idx."""
    oldest = now.date() - timedelta(days=conf().usage_retention_days)
    return UsageDay.objects.filter(day__lt=oldest).delete()[0]


def midnight(moment: datetime) -> datetime:
    """Return the begin of the moment's day in UTC."""
    return datetime.combine(moment.astimezone(UTC).date(), time(), UTC)
