"""The idempotency record: the answer that a repeated call gets again."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from shared.fields import SealedField


class IdempotencyRecord(models.Model):
    """One finished call by its Idempotency-Key, written in the transaction of its change.

    Calls under way have no rows: they hold an advisory lock, which ends with their transaction.
    """

    # The index of the constraint begins with the tenant.
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField()
    sealed_body = SealedField()
    headers = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "idempotency_records"
        indexes = [models.Index(fields=["expires_at"], name="idempotency_expired_idx")]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "key"], name="one_answer_per_tenant_and_idempotency_key"
            )
        ]

    def __str__(self) -> str:
        return self.key
