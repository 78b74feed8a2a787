"""What spends the error budgets of objectives, and the answers of the API, as they are counted."""

from __future__ import annotations

from django.db import models


class ObjectiveCount(models.Model):
    """What one transaction adds to the counts of a tenant within one minute.

    Rows are made and deleted, never changed, so that no session waits for another one's counts.
    :mod:`executions.ledger.objectives` writes them; housekeeping adds up those of an hour to one
    row each. ``bad`` is what missed the objective because of ``cause``, below zero where
    decisions about instants that had counted are made once more. ``counted`` is what the row
    adds to the total: starts and attempts are counted in :class:`MinuteStat`, so that their rows
    have 0. ``execution_id`` is one of the executions, as an example.
    """

    tenant_id = models.UUIDField()
    at = models.DateTimeField()
    objective = models.TextField()
    #: A place in ``BAND_NAMES``; NULL where no priority is known.
    band = models.SmallIntegerField(null=True)
    #: Empty for what only counts.
    cause = models.TextField()
    counted = models.BigIntegerField()
    bad = models.BigIntegerField()
    execution_id = models.UUIDField(null=True)
    #: Whether the row has the sums of an hour.
    hourly = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "objective_counts"
        indexes = [
            models.Index(fields=["tenant_id", "at"], name="objective_counts_idx"),
            models.Index(fields=["hourly", "at"], name="objective_counts_age_idx"),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.at:%Y-%m-%d %H:%M} {self.objective}"
