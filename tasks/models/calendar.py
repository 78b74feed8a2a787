"""The calendar: a named set of days and windows at which tasks do not run."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id
from tasks.querysets import CalendarQuerySet


def saturday_and_sunday() -> list[int]:
    """Return the usual days of rest, as ISO weekdays."""
    return [6, 7]


class Calendar(models.Model):
    """Days and windows that many tasks share: holidays, maintenance.

    ``weekend`` are ISO weekdays (1 is Monday) that are no working days: they count for rolling
    and for the n-th working day, and exclude no instant by themselves. ``dates`` are local days, of
    the task's zone, as ``{"date": "2027-01-01", "name": ""}``; ``windows`` are stretches of time
    as ``{"start": "…Z", "end": "…Z", "name": ""}``, the end not included. ``version`` rises with
    every change. ``last_import`` is the import report of the last iCalendar file.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    description = models.CharField(max_length=1000, default="")
    weekend: Any = models.JSONField(default=saturday_and_sunday)
    dates: Any = models.JSONField(default=list)
    windows: Any = models.JSONField(default=list)
    last_import: Any = models.JSONField(null=True, default=None)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    objects = CalendarQuerySet.as_manager()

    class Meta:
        db_table = "calendars"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="calendar_name_is_unique"),
            models.CheckConstraint(name="calendar_name_is_not_empty", condition=~Q(name="")),
        ]

    def __str__(self) -> str:
        return self.name
