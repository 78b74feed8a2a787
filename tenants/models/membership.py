"""The membership: which person may do what in which tenant."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tenants.choices import ROLES_THAT_SEE, Role


class Membership(models.Model):
    """A user's role in a tenant.

    A member without ``sees_payloads`` sees what ran and when, and nothing that was sent, answered
    or printed. Admins and owners always have the right.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=8, choices=Role)
    sees_payloads = models.BooleanField(db_default=True, default=True)
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
            models.CheckConstraint(
                name="admins_and_owners_see_payloads",
                condition=Q(sees_payloads=True) | ~Q(role__in=[*ROLES_THAT_SEE]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role}"
