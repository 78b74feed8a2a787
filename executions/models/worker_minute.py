"""The minute of a worker: its ended attempts, and its load by a heartbeat."""

from __future__ import annotations

from django.db import models


class WorkerMinute(models.Model):
    """One row per worker and past minute in which it was heard; the last heartbeat's load.

    ``ended_in_minute`` counts the attempts that ended within the minute, None where the worker did
    not report it; ``ended`` counts them since the worker's start. ``tenant_id`` is set for a pull
    worker: no other tenant sees it.
    """

    id = models.BigAutoField(primary_key=True)
    worker = models.CharField(max_length=120)
    minute = models.DateTimeField()
    tenant_id = models.UUIDField(null=True)
    pool = models.CharField(max_length=63)
    host = models.CharField(max_length=120, default="")
    version = models.CharField(max_length=40, default="")
    slots = models.IntegerField(default=0)
    running = models.IntegerField(default=0)
    held = models.IntegerField(default=0)
    cpu_percent = models.FloatField(default=0)
    memory_bytes = models.BigIntegerField(null=True)
    ended = models.BigIntegerField(default=0)
    ended_in_minute = models.IntegerField(null=True)

    class Meta:
        db_table = "worker_minutes"
        constraints = [
            models.UniqueConstraint(
                fields=["worker", "minute"], name="worker_has_one_row_a_minute"
            ),
        ]
        indexes = [models.Index(fields=["minute"], name="worker_minutes_idx")]

    def __str__(self) -> str:
        return f"{self.worker} {self.minute:%H:%M}"
