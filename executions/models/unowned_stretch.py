"""The unowned stretch: when a partition had no scheduler."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class UnownedStretch(models.Model):
    """One outage of one partition, noted by the scheduler that took it over.

    ``lost_by`` and ``taken_by`` name the schedulers, name@host: its former owner, empty where that
    had released it, and its next one; both are empty in rows of older versions.
    ``judged``: the misfire policies have decided on prepared work that came due in it.
    Housekeeping drops the row with the ledger's days.
    """

    id = models.BigAutoField(primary_key=True)
    partition = models.SmallIntegerField()
    since = models.DateTimeField()
    until = models.DateTimeField()
    lost_by = models.CharField(max_length=120, default="", db_default="")
    taken_by = models.CharField(max_length=120, default="", db_default="")
    judged = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "unowned_stretches"
        verbose_name_plural = "unowned stretches"
        indexes = [
            models.Index(fields=["partition", "-until"], name="unowned_stretches_idx"),
            models.Index(
                fields=["partition"], name="unowned_unjudged_idx", condition=Q(judged=False)
            ),
        ]

    def __str__(self) -> str:
        return f"partition {self.partition} from {self.since} to {self.until}"
