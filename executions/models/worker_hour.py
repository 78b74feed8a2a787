"""The hour of a worker: its minutes added up, kept long after they are gone."""

from __future__ import annotations

from django.db import models


class WorkerHour(models.Model):
    """One row per worker and past hour in which it was heard, made of its ``minutes`` rows.

    ``running`` and ``held`` are means over these minutes, the columns ``most_…`` their maxima.
    ``ended`` is None where no minute has its count of ended attempts. ``tenant_id`` is set for a
    pull worker: no other tenant sees it.
    """

    id = models.BigAutoField(primary_key=True)
    worker = models.CharField(max_length=120)
    hour = models.DateTimeField()
    tenant_id = models.UUIDField(null=True)
    pool = models.CharField(max_length=63)
    host = models.CharField(max_length=120, default="")
    version = models.CharField(max_length=40, default="")
    minutes = models.SmallIntegerField()
    slots = models.IntegerField()
    running = models.FloatField()
    most_running = models.IntegerField()
    held = models.FloatField()
    most_held = models.IntegerField()
    cpu_percent = models.FloatField()
    most_cpu_percent = models.FloatField()
    most_memory_bytes = models.BigIntegerField(null=True)
    ended = models.BigIntegerField(null=True)

    class Meta:
        db_table = "worker_hours"
        constraints = [
            models.UniqueConstraint(fields=["worker", "hour"], name="worker_has_one_row_an_hour"),
        ]
        indexes = [models.Index(fields=["hour"], name="worker_hours_idx")]

    def __str__(self) -> str:
        return f"{self.worker} {self.hour:%Y-%m-%d %H:00}"
