"""The invitation: an offer of a role in a tenant to an e-mail address."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from shared.ids import new_id
from tenants.choices import ROLES_THAT_SEE, Role


class Invitation(models.Model):
    """An offer of a role to an address, by a link that works once.

    Only the hash of the link's token is stored. The inviter is a member, an API key or the
    operator; the acceptance asks again whether the inviter may still give the role.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(
        "tenants.Tenant", on_delete=models.CASCADE, related_name="invitations"
    )
    #: In lower case and ASCII.
    email = models.CharField(max_length=150)
    role = models.CharField(max_length=8, choices=Role)
    sees_payloads = models.BooleanField()
    token_hash = models.BinaryField(max_length=32, unique=True, null=True)
    invited_by = models.CharField(max_length=200)
    inviter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    inviting_key = models.ForeignKey(
        "tenants.ApiKey", on_delete=models.SET_NULL, null=True, related_name="+"
    )
    by_operator = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    mail_error = models.CharField(max_length=300, default="")
    accepted_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "invitations"
        indexes = [
            models.Index(fields=["tenant", "-created_at", "-id"], name="invitations_of_tenant_idx")
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "email"],
                condition=Q(accepted_at=None, withdrawn_at=None),
                name="one_open_invitation_of_an_address",
            ),
            models.CheckConstraint(
                name="invitation_role_is_known", condition=Q(role__in=Role.values)
            ),
            models.CheckConstraint(
                name="invited_admins_and_owners_see_payloads",
                condition=Q(sees_payloads=True) | ~Q(role__in=[*ROLES_THAT_SEE]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} {self.role}"

    def is_open_at(self, moment: datetime) -> bool:
        """Return whether the offer can be accepted: not accepted, withdrawn or expired."""
        ended = self.accepted_at is not None or self.withdrawn_at is not None
        return not ended and self.expires_at > moment
