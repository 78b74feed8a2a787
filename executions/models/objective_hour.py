"""The starts and attempts of a tenant within one hour: its minutes added up, for the objectives."""

from __future__ import annotations

from django.db import models


class ObjectiveHour(models.Model):
    """One row per tenant, hour and band with a start or an attempt.

    Housekeeping makes it of :class:`MinuteStat`, so that an error budget of 30 days reads few rows,
    and outlives minutes that are kept for less.
    """

    pk = models.CompositePrimaryKey("tenant_id", "hour", "band")
    tenant_id = models.UUIDField()
    hour = models.DateTimeField()
    #: A place in ``BAND_NAMES``.
    band = models.SmallIntegerField()
    starts = models.BigIntegerField()
    attempts = models.BigIntegerField()

    class Meta:
        db_table = "objective_hours"
        indexes = [models.Index(fields=["hour"], name="objective_hours_idx")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.hour:%Y-%m-%d %H}"
