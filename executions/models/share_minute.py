"""What a tenant received of a scarce pool within one minute, and what its weight made due."""

from __future__ import annotations

from django.db import models


class ShareMinute(models.Model):
    """One row per minute, pool and tenant with due work while the pool was dispatched by shares.

    ``received`` are the executions that went to workers; ``due`` is the part of all of them that
    the tenant's weight would give it, of which it gets no more than it has. ``oldest_wait`` is how
    many seconds its oldest due work had waited, at most. Dispatch adds to it once a minute,
    :mod:`insight.statistics.shares` reads it, housekeeping removes it after some days.
    """

    id = models.BigAutoField(primary_key=True)
    minute = models.DateTimeField()
    pool = models.CharField(max_length=63)
    tenant_id = models.UUIDField()
    due = models.FloatField()
    received = models.BigIntegerField()
    oldest_wait = models.FloatField()

    class Meta:
        db_table = "share_minutes"
        constraints = [
            models.UniqueConstraint(
                fields=["minute", "pool", "tenant_id"], name="share_minute_is_one_row"
            )
        ]
        indexes = [models.Index(fields=["tenant_id", "-minute"], name="share_minutes_idx")]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.pool} {self.minute:%Y-%m-%d %H:%M}"
