"""The partition lease: which scheduler owns a partition, and under which epoch."""

from __future__ import annotations

from django.db import models


class PartitionLease(models.Model):
    """One row per partition; the epoch rises with every change of owner and never falls.

    A write that names an owner and epoch that no longer stand here is refused (B3).
    """

    partition = models.SmallIntegerField(primary_key=True)
    owner = models.UUIDField(null=True)
    epoch = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "partition_leases"

    def __str__(self) -> str:
        return f"partition {self.partition} epoch {self.epoch}"
