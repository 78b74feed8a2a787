"""The work that follows a new data key: its tenant's values are sealed anew under it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id


class Resealing(models.Model):
    """How far the values of a tenant are sealed anew; an interrupted one continues from there.

    ``place`` names the column that is under way, its stretch, and the keys of the last row that was
    done. ``left`` is counted at the end: values that still have an older key.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, related_name="resealings"
    )
    generation = models.PositiveIntegerField()
    place = models.JSONField(default=dict)
    columns_done = models.PositiveSmallIntegerField(default=0)
    sealed = models.PositiveBigIntegerField(default=0)
    unreadable = models.PositiveBigIntegerField(default=0)
    left = models.PositiveBigIntegerField(null=True)
    begun_by = models.CharField(max_length=200)
    woken_at = models.DateTimeField(db_default=Now())
    begun_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "resealings"
        indexes = [
            models.Index(fields=["tenant", "-begun_at"], name="resealings_of_tenant_idx"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant"],
                name="one_running_resealing_per_tenant",
                condition=Q(ended_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"generation {self.generation}: {self.sealed} sealed"

    @property
    def status(self) -> str:
        """COMPLETED once it has ended, RUNNING before."""
        return "RUNNING" if self.ended_at is None else "COMPLETED"
