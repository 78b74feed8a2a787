"""The pool: a tenant's named group of workers that lease work over the API."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id


class Pool(models.Model):
    """Made by its first worker or by a person; a task may name only existing pools.

    While ``paused`` no work is leased from it. ``max_in_flight`` leases at a time over all its
    workers; null is no limit.
    """

    #: Whether the transaction at hand has made it by a lease; not stored.
    is_new = False

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=50)
    paused = models.BooleanField(default=False)
    max_in_flight = models.PositiveIntegerField(null=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "pools"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="pool_is_one_row"),
            models.CheckConstraint(
                name="pool_limit_is_positive",
                condition=Q(max_in_flight__isnull=True) | Q(max_in_flight__gte=1),
            ),
        ]

    def __str__(self) -> str:
        return self.name
