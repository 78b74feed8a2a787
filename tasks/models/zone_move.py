"""A task whose future moved because the database of zones changed."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from shared.ids import new_id


class ZoneMove(models.Model):
    """One task's line of the report on a new release of the zone database.

    ``moved`` holds the first instants that differ, as ``{"before": "…Z", "after": "…Z"}`` where
    either may be null; ``moved_count`` is how many of the next year's differ.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    task = models.ForeignKey("tasks.Task", on_delete=models.CASCADE, related_name="+")
    zone = models.CharField(max_length=255)
    from_release = models.CharField(max_length=40)
    to_release = models.CharField(max_length=40)
    moved = models.JSONField()
    moved_count = models.PositiveIntegerField()
    noticed_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "zone_moves"
        indexes = [
            models.Index(fields=["tenant", "-noticed_at", "-id"], name="zone_moves_of_tenant_idx")
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.zone}"
