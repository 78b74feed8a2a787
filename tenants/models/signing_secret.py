"""The signing secret, with which a tenant's receivers verify webhooks."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from shared.fields import SealedField
from shared.ids import new_id


class SigningSecret(models.Model):
    """A ``whsec_`` secret, sealed; after a rotation the old one signs too until it expires."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, related_name="signing_secrets"
    )
    sealed = SealedField()
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "signing_secrets"
        indexes = [
            models.Index(fields=["tenant", "-created_at", "-id"], name="signing_secrets_active_idx")
        ]

    def __str__(self) -> str:
        return str(self.id)
