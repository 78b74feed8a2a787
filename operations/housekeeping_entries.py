"""The periodic entries that keep an installation in order; bootstrap and the doctor make them.

Operators may change an entry's interval or switch it off in the admin; only missing entries are
made.
"""

from __future__ import annotations

from django_celery_beat.models import IntervalSchedule, PeriodicTask

from executions.broker import CHECK_ZONES, RECOUNT_QUOTAS, WRITE_HEADS

NAME = "Keep house"
ZONES = "Follow the zone database"
QUOTAS = "Count for quotas"
HEADS = "Keep the heads of the audit log"
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
    minutely, _ = IntervalSchedule.objects.get_or_create(every=1, period=IntervalSchedule.MINUTES)
    _, quotas_made = PeriodicTask.objects.get_or_create(
        name=QUOTAS, defaults={"task": RECOUNT_QUOTAS, "interval": minutely, "queue": "system"}
    )
    hourly, _ = IntervalSchedule.objects.get_or_create(every=1, period=IntervalSchedule.HOURS)
    _, heads_made = PeriodicTask.objects.get_or_create(
        name=HEADS, defaults={"task": WRITE_HEADS, "interval": hourly, "queue": "system"}
    )
    found = ((NAME, made), (ZONES, zones_made), (QUOTAS, quotas_made), (HEADS, heads_made))
    return [name for name, one in found if one]
