"""The API key: how a program proves which tenant it works for."""

from __future__ import annotations

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id
from tenants.choices import SCOPES, SCOPES_THAT_SEE


def everywhere() -> list[str]:
    """Return the address list of a key that every address may use."""
    return []


def is_valid(revoked_at: datetime | None, expires_at: datetime | None, moment: datetime) -> bool:
    """Return whether a key with these columns is neither revoked nor expired."""
    return revoked_at is None and (expires_at is None or expires_at > moment)


class ApiKey(models.Model):
    """An API key. Only its hash is stored; people recognise it by ``prefix``.

    ``owner`` keys may see signing secrets again. A key without ``sees_payloads`` reads what ran and
    when, and nothing that was sent, answered or printed. ``addresses`` are the networks that may
    use the key, none for every address. ``replaced_by`` is the id of the key that a rotation has
    made; from then on ``expires_at`` is the end of the overlap.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=12)
    key_hash = models.BinaryField(max_length=32, unique=True)
    scopes = ArrayField(models.CharField(max_length=10))
    owner = models.BooleanField(default=False)
    sees_payloads = models.BooleanField(db_default=True, default=True)
    addresses = ArrayField(
        models.CharField(max_length=49), default=everywhere, db_default=[], blank=True
    )
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    last_used_address = models.CharField(max_length=45, default="", db_default="", blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    replaced_by = models.UUIDField(null=True, blank=True, editable=False)

    class Meta:
        db_table = "api_keys"
        indexes = [
            models.Index(fields=["prefix"], name="api_keys_by_prefix_idx"),
            models.Index(fields=["tenant", "-created_at", "-id"], name="api_keys_of_tenant_idx"),
            models.Index(
                fields=["expires_at"],
                name="api_keys_ending_idx",
                condition=Q(
                    expires_at__isnull=False, revoked_at__isnull=True, replaced_by__isnull=True
                ),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="api_key_scopes_are_known",
                condition=Q(scopes__contained_by=list(SCOPES), scopes__len__gte=1),
            ),
            models.CheckConstraint(
                name="keys_that_send_or_lease_see_payloads",
                condition=Q(sees_payloads=True)
                | ~Q(scopes__overlap=list(SCOPES_THAT_SEE)) & Q(owner=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"

    def is_valid_at(self, moment: datetime) -> bool:
        """Return whether the key is neither revoked nor expired."""
        return is_valid(self.revoked_at, self.expires_at, moment)
