"""The internal housekeeping of django-celery-beat in the admin, without its unused parts.

No user's task ever goes through it. Clocked and solar schedules have no use for housekeeping,
and the page's own script would not run under the content security policy.
"""

from __future__ import annotations

from django.contrib import admin
from django_celery_beat.admin import PeriodicTaskAdmin
from django_celery_beat.models import ClockedSchedule, PeriodicTask, SolarSchedule

for _noise in (ClockedSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(_noise)


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
