"""The data key of a tenant, wrapped by the master key."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id


class DataKey(models.Model):
    """A key that seals the values of one tenant; the newest does, older ones open.

    ``replaced_at`` is empty of the one that seals. ``seals_targets`` tells whether URLs and
    arguments of targets are sealed, too: older versions could not read them. A removed row is a
    destroyed key: what it has sealed never opens again.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="data_keys")
    generation = models.PositiveIntegerField()
    wrapped = models.BinaryField()
    seals_targets = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(db_default=Now())
    replaced_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "data_keys"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "generation"], name="one_data_key_of_each_generation"
            ),
            models.UniqueConstraint(
                fields=["tenant"],
                name="one_data_key_of_each_tenant_seals",
                condition=Q(replaced_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} generation {self.generation}"
