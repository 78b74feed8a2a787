"""The internal housekeeping of django-celery-beat in the admin, without its unused parts.

No user's task ever goes through it. Clocked and solar schedules have no use for housekeeping,
and the page's own script would not run under the content security policy.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django_celery_beat.admin import (
    CrontabScheduleAdmin,
    IntervalScheduleAdmin,
    PeriodicTaskAdmin,
)
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from events import audit
from shared.admin import actor_of

for _registered in (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
):
    admin.site.unregister(_registered)

#: The fields whose changes the audit log keeps; arguments of a task may hold anything.
_FACTS = ("name", "task", "enabled", "one_off", "queue", "interval", "crontab", "expires")


@admin.register(PeriodicTask)
class HousekeepingAdmin(PeriodicTaskAdmin):
    """Django-celery-beat's own, on plain pages."""

    date_hierarchy = None
    change_form_template = None
    fieldsets = tuple(
        (
            title,
            {
                **options,
                "fields": tuple(
                    name for name in options["fields"] if name not in ("clocked", "solar")
                ),
            },
        )
        for title, options in PeriodicTaskAdmin.fieldsets
    )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and record the fields of the form that differ."""
        before = PeriodicTask.objects.filter(pk=obj.pk).values(*_FACTS).first() if change else None
        super().save_model(request, obj, form, change)
        after = PeriodicTask.objects.filter(pk=obj.pk).values(*_FACTS).first()
        verb = "changed" if change else "created"
        _record(request, verb, obj, before, after)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete, and record it."""
        _record(request, "deleted", obj, {"name": obj.name}, None)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete the chosen entries, and record each."""
        for entry in queryset:
            _record(request, "deleted", entry, {"name": entry.name}, None)
        super().delete_queryset(request, queryset)

    @admin.action(description="Enable selected tasks")
    def enable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Enable the chosen entries, and record each."""
        self._recorded(request, queryset, super().enable_tasks)

    @admin.action(description="Disable selected tasks")
    def disable_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Disable the chosen entries, and record each."""
        self._recorded(request, queryset, super().disable_tasks)

    @admin.action(description="Toggle activity of selected tasks")
    def toggle_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Enable the disabled ones of the chosen entries and disable the others; record each."""
        self._recorded(request, queryset, super().toggle_tasks)

    @admin.action(description="Run selected tasks")
    def run_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Run the chosen entries now, and record each."""
        for entry in queryset:
            _record(request, "run", entry, None, None)
        super().run_tasks(request, queryset)

    def _recorded(self, request: HttpRequest, queryset: QuerySet[Any], act: Any) -> None:
        before = {entry.pk: entry.enabled for entry in queryset}
        act(request, queryset)
        for entry in PeriodicTask.objects.filter(pk__in=before):
            was = {"enabled": before[entry.pk]}
            _record(request, "changed", entry, was, {"enabled": entry.enabled})


class _AuditedSchedule:
    """Records changes of a schedule: each moves all entries that name it."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save, and record the schedule before and after."""
        stored = type(obj).objects.filter(pk=obj.pk).first() if change else None
        before = {"schedule": str(stored)} if stored else None
        super().save_model(request, obj, form, change)  # type: ignore[misc]  # of the admin beside it
        verb = "changed" if change else "created"
        _record(request, f"schedule_{verb}", obj, before, {"schedule": str(obj)})

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete, and record it."""
        _record(request, "schedule_deleted", obj, {"schedule": str(obj)}, None)
        super().delete_model(request, obj)  # type: ignore[misc]  # of the admin beside it

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete the chosen schedules, and record each."""
        for schedule in queryset:
            _record(request, "schedule_deleted", schedule, {"schedule": str(schedule)}, None)
        super().delete_queryset(request, queryset)  # type: ignore[misc]  # of the admin beside it


@admin.register(CrontabSchedule)
class HousekeepingCrontabAdmin(_AuditedSchedule, CrontabScheduleAdmin):
    """Django-celery-beat's own, audited."""


@admin.register(IntervalSchedule)
class HousekeepingIntervalAdmin(_AuditedSchedule, IntervalScheduleAdmin):
    """Django-celery-beat's own, audited."""


def _record(request: HttpRequest, verb: str, entry: Any, before: Any, after: Any) -> None:
    actor, action = actor_of(request), f"periodic_entry.{verb}"
    audit.record(audit.INSTALLATION, actor, action, "periodic_entry", str(entry.pk), before, after)
