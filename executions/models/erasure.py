"""The erasure: the certificate of what was erased, when, by whom and why."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from executions.querysets import ErasureQuerySet
from shared.ids import new_id


class Erasure(models.Model):
    """A request to erase the content of a task, its progress, and afterwards its certificate.

    It has plain ids and no foreign key, and is kept for ever: it outlives the tenant. ``phase`` and
    ``after_id`` are how far it has come; ``counts`` has the erased rows by table.
    ``audit_digest`` is a SHA-256 over the hashes of the ``audit_count`` audit entries about the
    object, which stay.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant_id = models.UUIDField()
    object_kind = models.CharField(max_length=10, default="task")
    object_id = models.UUIDField()
    reason = models.CharField(max_length=500)
    begun_by = models.CharField(max_length=200)
    address = models.CharField(max_length=64, default="")
    phase = models.SmallIntegerField(default=0)
    after_id = models.UUIDField(null=True)
    counts = models.JSONField(default=dict)
    audit_count = models.PositiveBigIntegerField(default=0)
    audit_digest = models.CharField(max_length=64, default="")
    woken_at = models.DateTimeField(db_default=Now())
    begun_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    objects = ErasureQuerySet.as_manager()

    class Meta:
        db_table = "erasures"
        indexes = [
            models.Index(fields=["tenant_id", "-begun_at", "-id"], name="erasures_of_tenant_idx"),
            models.Index(
                fields=["woken_at"], name="erasures_running_idx", condition=Q(ended_at__isnull=True)
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["object_id"],
                name="one_running_erasure_per_object",
                condition=Q(ended_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.object_kind} {self.object_id} {self.status}"

    @property
    def status(self) -> str:
        """COMPLETED once it has ended, RUNNING before."""
        return "RUNNING" if self.ended_at is None else "COMPLETED"
