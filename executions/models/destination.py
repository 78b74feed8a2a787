"""The destination: the limits of a tenant for one host of its webhooks."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id


class Destination(models.Model):
    """Limits of a host, with its port unless that is 80 or 443; hosts without limits have no row.

    ``max_in_flight`` requests at a time and ``rate_per_second`` starts a second, over all
    workers; null is no limit of its own. Without ``breaker`` its circuit never opens.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    host = models.CharField(max_length=260)
    max_in_flight = models.PositiveIntegerField(null=True)
    rate_per_second = models.FloatField(null=True)
    breaker = models.BooleanField(default=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "destinations"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "host"], name="destination_is_one_row"),
            models.CheckConstraint(
                name="destination_limits_are_positive",
                condition=(Q(max_in_flight__isnull=True) | Q(max_in_flight__gte=1))
                & (Q(rate_per_second__isnull=True) | Q(rate_per_second__gt=0)),
            ),
        ]

    def __str__(self) -> str:
        return self.host
