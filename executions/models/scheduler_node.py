"""The scheduler node: a live scheduler process, by its heartbeat."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class SchedulerNode(models.Model):
    """Schedulers share the partitions between the nodes whose heartbeat is fresh.

    A node that does not reach Redis can send nothing: it gets no partitions while another node
    reaches Redis. It owns its partitions until ``lease_expires_at``.
    """

    id = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=120)
    pid = models.IntegerField()
    started_at = models.DateTimeField(db_default=Now())
    heartbeat_at = models.DateTimeField(db_default=Now())
    reaches_redis = models.BooleanField(default=True, db_default=True)
    lease_expires_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "scheduler_nodes"

    def __str__(self) -> str:
        return self.name
