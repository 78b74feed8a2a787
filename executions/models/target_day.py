"""How the executions of a task kept its targets within one day."""

from __future__ import annotations

from django.db import models


class TargetDay(models.Model):
    """One row per task and day in which an execution ended while the task had a target.

    ``starts`` are instants of its schedule, of which ``late`` began later than
    ``start_within_seconds``; ``runs`` are executions that had begun, of which ``long`` took longer
    than ``max_duration_seconds`` from the first start to the end.
    :mod:`executions.ledger.task_targets` writes it.
    """

    pk = models.CompositePrimaryKey("task_id", "day")
    task_id = models.UUIDField()
    tenant_id = models.UUIDField()
    day = models.DateField()
    starts = models.BigIntegerField()
    late = models.BigIntegerField()
    runs = models.BigIntegerField()
    long = models.BigIntegerField()

    class Meta:
        db_table = "target_days"
        indexes = [models.Index(fields=["tenant_id", "day"], name="target_days_of_tenant_idx")]

    def __str__(self) -> str:
        return f"{self.task_id} {self.day:%Y-%m-%d}"
