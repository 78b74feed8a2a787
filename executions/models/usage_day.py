"""The usage of a tenant on one day in UTC: its minutes added up, kept long after they are gone."""

from __future__ import annotations

from django.db import models


class UsageDay(models.Model):
    """One row per tenant and day on which an attempt, an execution or a run ended.

    Housekeeping makes it of :class:`MinuteStat`, whose columns have the same names and meanings;
    figures only grow. :mod:`insight.statistics.usage` reads it.
    """

    pk = models.CompositePrimaryKey("tenant_id", "day")
    tenant_id = models.UUIDField()
    day = models.DateField()
    started = models.BigIntegerField()
    succeeded = models.BigIntegerField()
    failed = models.BigIntegerField()
    cancelled = models.BigIntegerField()
    attempts = models.BigIntegerField()
    execution_ms = models.BigIntegerField()
    recorded_bytes = models.BigIntegerField()
    runs_succeeded = models.BigIntegerField()
    runs_failed = models.BigIntegerField()

    class Meta:
        db_table = "usage_days"
        indexes = [models.Index(fields=["day"], name="usage_days_idx")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.day:%Y-%m-%d}"
