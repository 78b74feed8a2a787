"""The event: what happened to one subject or a batch, written in the transaction of the change."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

#: Events of executions that are written as batches, one row per statement, name and tenant.
BATCHED = frozenset(
    {"execution.materialized", "execution.queued", "execution.started", "execution.succeeded"}
)


class Event(models.Model):
    """A fact that other processes read by cursor; the outbox of the whole product.

    A row names one subject, or a batch: every execution of one tenant that one statement moved,
    in ``subjects``, each with its task at the same place of ``tasks``. Common moves of executions
    (:data:`BATCHED`) are batches, all other rows are single.

    Plain ids, no foreign keys: an event outlives the object that it describes. The table is
    partitioned by day on ``id`` (version 7, made by the database). By ``xid`` readers stay behind
    transactions that commit late.
    """

    id = models.UUIDField(primary_key=True)
    tenant_id = models.UUIDField()
    name = models.CharField(max_length=40)
    subject_id = models.UUIDField(null=True)
    task_id = models.UUIDField(null=True)
    subjects = ArrayField(models.UUIDField(), null=True)
    tasks = ArrayField(models.UUIDField(), null=True)
    data = models.JSONField(null=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "events"
        indexes = [models.Index(fields=["subject_id", "id"], name="events_of_subject_idx")]

    def __str__(self) -> str:
        return f"{self.name} {self.described}"

    @property
    def described(self) -> str:
        """Return the subject, or how many executions a batch has."""
        if self.subjects is None:
            return str(self.subject_id)
        return f"{len(self.subjects)} execution{'' if len(self.subjects) == 1 else 's'}"
