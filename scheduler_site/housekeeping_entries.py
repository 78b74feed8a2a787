"""The periodic entries that keep an installation in order; bootstrap and the doctor make them.

Operators may change an entry's interval or switch it off in the admin; only one that is missing
is made.
"""

from __future__ import annotations

from django_celery_beat.models import IntervalSchedule, PeriodicTask

NAME = "Keep house"
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
    return [NAME] if made else []
