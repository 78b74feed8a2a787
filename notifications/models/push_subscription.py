"""The push subscription: one browser of a member that takes notifications."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from shared.fields import SealedField
from shared.ids import new_id


class PushSubscription(models.Model):
    """A browser's subscription; its secret and its endpoint are sealed under the row's id.

    To know an endpoint is enough to address the browser. ``endpoint_digest`` finds it (SHA-256, as
    hexadecimal digits), and ``host`` is the push service. ``endpoint`` has one in the clear in rows
    of earlier versions, until it is sealed within the hour.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    membership = models.ForeignKey(
        "tenants.Membership", on_delete=models.CASCADE, related_name="push_subscriptions"
    )
    endpoint = models.CharField(max_length=2048, default="", db_default="")
    sealed_endpoint = SealedField(null=True)
    endpoint_digest = models.CharField(max_length=64, null=True)
    host = models.CharField(max_length=260, default="", db_default="")
    p256dh = models.CharField(max_length=100)
    sealed_auth = SealedField()
    user_agent = models.CharField(max_length=300, default="")
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=300, default="")

    class Meta:
        db_table = "push_subscriptions"
        constraints = [
            # Per member: naming an endpoint must not take the browser away from another member.
            models.UniqueConstraint(
                fields=["membership", "endpoint_digest"], name="one_push_subscription_per_endpoint"
            )
        ]

    def __str__(self) -> str:
        return f"{self.id} of member {self.membership_id}"
