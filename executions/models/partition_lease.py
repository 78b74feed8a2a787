"""The partition lease: which scheduler owns a partition, and under which epoch."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Least, Now
from django.db.models.lookups import GreaterThan

from executions.models.scheduler_node import SchedulerNode


class PartitionLeaseQuerySet(models.QuerySet["PartitionLease"]):
    """Partition leases, with the leases of their owners."""

    def with_ends(self) -> PartitionLeaseQuerySet:
        """Add ``ends_at``: when the lease or that of its owner ends; None where neither began."""
        return self.annotate(ends_at=_ends())  # type: ignore[no-redef]  # declared for readers

    def standing(self) -> PartitionLeaseQuerySet:
        """Return the leases whose owner owns the partition now."""
        return self.filter(GreaterThan(_ends(), Now()), owner__isnull=False)


class PartitionLease(models.Model):
    """One row per partition; the epoch rises with every change of owner and never falls.

    A write with an owner and epoch that the row no longer has is refused. An owner has its
    partition as long as the lease of its node lasts. ``expires_at`` ends that earlier; without an
    owner it is when the partition lost its last one.
    """

    partition = models.SmallIntegerField(primary_key=True)
    owner = models.UUIDField(null=True)
    epoch = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    #: Added by with_ends.
    ends_at: datetime | None

    objects = PartitionLeaseQuerySet.as_manager()

    class Meta:
        db_table = "partition_leases"

    def __str__(self) -> str:
        return f"partition {self.partition} epoch {self.epoch}"


def _ends() -> Least:
    owner = SchedulerNode.objects.filter(id=OuterRef("owner"))
    return Least("expires_at", Subquery(owner.values("lease_expires_at")))
