"""The periodic entries that keep an installation in order; bootstrap and the doctor make them.

Operators may change an entry's interval or switch it off in the admin; only missing entries are
made.
"""

from __future__ import annotations

from django_celery_beat.models import IntervalSchedule, PeriodicTask

from executions.broker import CHECK_ZONES

NAME = "Keep house"
ZONES = "Follow the zone database"
_MINUTES = 10


def ensure_entries() -> list[str]:
    """Make the entries that are missing; return their names."""
    every, _ = IntervalSchedule.objects.get_or_create(
        every=_MINUTES, period=IntervalSchedule.MINUTES
    )
    _, made = PeriodicTask.objects.get_or_create(
        name=NAME,
        defaults={"task": "executions.keep_house", "interval": every, "queue": "system"},
    )
    daily, _ = IntervalSchedule.objects.get_or_create(every=1, period=IntervalSchedule.DAYS)
    _, zones_made = PeriodicTask.objects.get_or_create(
        name=ZONES, defaults={"task": CHECK_ZONES, "interval": daily, "queue": "system"}
    )
    return [name for name, one in ((NAME, made), (ZONES, zones_made)) if one]
