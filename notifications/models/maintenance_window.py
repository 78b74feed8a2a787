"""The maintenance window: a time in which alerts are kept and not told."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import WindowScope
from shared.ids import new_id

_ONCE = Q(begins_at__isnull=False, ends_at__isnull=False, weekdays=[])
_WEEKLY = Q(begins_at__isnull=True, ends_at__isnull=True) & ~Q(weekdays=[])
_CLOCKS = Q(from_time__isnull=False, to_time__isnull=False)


class MaintenanceWindow(models.Model):
    """Holds back the messages about the alerts that it covers; they go on counting.

    ``value`` is ``key:value`` of a label or the id of the task or rule; empty for the scope
    ``all``. It runs once, from ``begins_at`` to ``ends_at``, or each week: it begins on
    ``weekdays`` (ISO, 1 is Monday) at ``from_time`` and ends at the next ``to_time``, by the clock
    of ``timezone``.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    scope = models.CharField(max_length=5, choices=WindowScope.choices)
    value = models.CharField(max_length=520, default="")
    begins_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    weekdays = ArrayField(models.PositiveSmallIntegerField(), default=list)
    from_time = models.TimeField(null=True)
    to_time = models.TimeField(null=True)
    timezone = models.CharField(max_length=63, default="UTC")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "maintenance_windows"
        indexes = [models.Index(fields=["tenant", "id"], name="maintenance_of_tenant_idx")]
        constraints = [
            models.CheckConstraint(
                name="maintenance_scope_is_known", condition=Q(scope__in=WindowScope.values)
            ),
            models.CheckConstraint(
                name="maintenance_scope_has_its_value",
                condition=Q(scope=WindowScope.ALL, value="")
                | ~Q(scope=WindowScope.ALL) & ~Q(value=""),
            ),
            models.CheckConstraint(
                name="maintenance_runs_once_or_weekly",
                condition=_ONCE & ~_CLOCKS | _WEEKLY & _CLOCKS,
            ),
        ]

    def __str__(self) -> str:
        return self.name
