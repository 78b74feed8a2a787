"""The push subscription: one browser of a member that takes notifications."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from shared.fields import SealedField
from shared.ids import new_id


class PushSubscription(models.Model):
    """A browser's subscription; ``sealed_auth`` is its secret, sealed under the row's id."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    membership = models.ForeignKey(
        "tenants.Membership", on_delete=models.CASCADE, related_name="push_subscriptions"
    )
    endpoint = models.CharField(max_length=2048)
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
                fields=["membership", "endpoint"], name="one_push_subscription_per_browser"
            )
        ]

    def __str__(self) -> str:
        return f"{self.id} of member {self.membership_id}"
