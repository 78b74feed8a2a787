"""The audit log: one chained row per change, and the end of each tenant's chain."""

from __future__ import annotations

from django.db import models

from shared.ids import new_id


class AuditEntry(models.Model):
    """Who changed what, when and from where; rows are never changed or deleted (triggers).

    ``hash`` is the code that authenticates the row and the one before it, under the key
    ``key_id``; entries of older versions have no key, and a plain hash.

    ``before`` and ``after`` are canonical JSON as text, because the hash covers their exact
    bytes and jsonb would rewrite numbers. Plain ids, no foreign keys: an entry outlives the
    object that it describes.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant_id = models.UUIDField()
    sequence = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    address = models.CharField(max_length=64, default="")
    trace_id = models.CharField(max_length=32, default="")
    action = models.CharField(max_length=60)
    object_kind = models.CharField(max_length=40)
    object_id = models.CharField(max_length=100)
    before = models.TextField(null=True)
    after = models.TextField(null=True)
    hash = models.BinaryField(max_length=32)
    key_id = models.CharField(max_length=16, default="", db_default="")

    class Meta:
        db_table = "audit_entries"
        indexes = [
            models.Index(fields=["tenant_id", "at"], name="audit_entries_at_idx"),
            models.Index(
                fields=["tenant_id", "actor", "sequence"], name="audit_entries_of_actor_idx"
            ),
            models.Index(
                fields=["tenant_id", "action", "sequence"], name="audit_entries_action_idx"
            ),
            models.Index(
                fields=["tenant_id", "object_kind", "object_id", "sequence"],
                name="audit_entries_of_object_idx",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant_id", "sequence"], name="audit_sequence_is_unique_in_a_tenant"
            )
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.action}"


class AuditChain(models.Model):
    """Begin and end of a tenant's chain; the end, its highest ``sequence``, shows a cut-off tail.

    A new row replaces the last end.
    """

    id = models.BigAutoField(primary_key=True)
    tenant_id = models.UUIDField()
    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.BinaryField(max_length=32)

    class Meta:
        db_table = "audit_chains"
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "sequence"], name="audit_end_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.sequence}"
