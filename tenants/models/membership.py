"""The membership: which person may do what in which tenant."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.choices import Role


class Membership(models.Model):
    """A user's role in a tenant."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=8, choices=Role)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "memberships"
        constraints = [
            models.UniqueConstraint(
                fields=["user", "tenant"], name="one_membership_per_user_and_tenant"
            ),
            models.CheckConstraint(
                name="membership_role_is_known", condition=Q(role__in=Role.values)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role}"
