"""The event: one row per move of an execution or task, written in the move's own transaction."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Event(models.Model):
    """A fact that other processes read by cursor; the outbox of the whole product.

    Plain ids and no foreign keys: an event outlives what it describes. The table is partitioned
    by day on ``id`` (version 7, made by the database); ``xid`` orders readers safely behind
    transactions that commit late.
    """

    id = models.UUIDField(primary_key=True)
    tenant_id = models.UUIDField()
    name = models.CharField(max_length=40)
    subject_id = models.UUIDField()
    task_id = models.UUIDField(null=True)
    data = models.JSONField(null=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "events"
        indexes = [models.Index(fields=["subject_id", "id"], name="events_of_subject_idx")]

    def __str__(self) -> str:
        return f"{self.name} {self.subject_id}"
