"""The ledger floor: the oldest id that may still be unfinished."""

from __future__ import annotations

from django.db import models


class LedgerFloor(models.Model):
    """One row. No unfinished execution has an id below ``floor_id``.

    Hot statements bound their ids by it, so that they touch the few days that still have work
    and not the whole history. Until two hours after ``raised_at``, what ended within the last hour
    may lie below it, but not below ``earlier_floor_id``.
    """

    id = models.SmallIntegerField(primary_key=True)
    floor_id = models.UUIDField()
    earlier_floor_id = models.UUIDField(null=True)
    raised_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ledger_floor"

    def __str__(self) -> str:
        return str(self.floor_id)
