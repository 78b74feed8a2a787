"""One row of a bulk job, and its outcome."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from executions.choices import ItemOutcome


class BulkJobItem(models.Model):
    """A row's place in its job; the outcome is written in the transaction of its effect.

    So an item is done exactly once, even if a process dies in between. No outcome: not reached yet.
    ``result_id`` is the execution that was made; ``at`` is the instant of a backfill. There is no
    foreign key in the database: a million checks at creation would only find rows that the same
    transaction has just written.
    """

    pk = models.CompositePrimaryKey("job_id", "position")
    job = models.ForeignKey(
        "executions.BulkJob",
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        related_name="items",
    )
    position = models.PositiveIntegerField()
    item_id = models.UUIDField()
    at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=7, choices=ItemOutcome.choices, null=True)
    code = models.CharField(max_length=40, default="")
    message = models.CharField(max_length=200, default="")
    result_id = models.UUIDField(null=True)

    class Meta:
        db_table = "bulk_job_items"
        indexes = [
            models.Index(
                fields=["job", "position"],
                name="bulk_job_items_not_done_idx",
                condition=Q(outcome__in=[ItemOutcome.SKIPPED, ItemOutcome.FAILED]),
            )
        ]

    def __str__(self) -> str:
        return f"{self.position} {self.item_id} {self.outcome}"
