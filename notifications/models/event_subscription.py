"""The event subscription: where a tenant's events are sent, and how far."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import SubscriptionPause, SubscriptionStatus
from shared.fields import SealedField
from shared.ids import new_id


class EventSubscription(models.Model):
    """A receiver of events, in their order: the next one is sent after the one before was taken.

    ``sealed_url`` is sealed under the row's id, ``origin`` is its readable part. ``xid``,
    ``event_id``, ``taken`` and ``read_at`` are the place in the tenant's feed; it moves only by the
    sender that holds ``claim_id``, or by a person, who takes the claim away. ``failing_since`` is
    when the first try of the event that is due now failed.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    origin = models.CharField(max_length=300)
    sealed_url = SealedField()
    types = ArrayField(models.CharField(max_length=40))
    filter = models.JSONField(default=dict)
    status = models.CharField(
        max_length=6, choices=SubscriptionStatus.choices, default=SubscriptionStatus.ACTIVE
    )
    paused_reason = models.CharField(max_length=20, choices=SubscriptionPause.choices, default="")
    version = models.PositiveIntegerField(default=1)
    xid = models.PositiveBigIntegerField()
    event_id = models.UUIDField()
    taken = models.PositiveBigIntegerField(default=0)
    read_at = models.DateTimeField()
    claim_id = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    woken_at = models.DateTimeField(null=True)
    next_attempt_at = models.DateTimeField(db_default=Now())
    attempt_count = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    last_status = models.PositiveSmallIntegerField(null=True)
    last_error = models.CharField(max_length=300, default="")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "event_subscriptions"
        indexes = [
            models.Index(fields=["tenant", "-created_at"], name="event_subscriptions_listed_idx"),
            models.Index(
                fields=["next_attempt_at"],
                name="event_subscriptions_due_idx",
                condition=Q(status=SubscriptionStatus.ACTIVE),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="event_subscription_status_is_known",
                condition=Q(status__in=SubscriptionStatus.values),
            ),
            models.CheckConstraint(
                name="paused_event_subscription_says_why",
                condition=Q(status=SubscriptionStatus.ACTIVE, paused_reason="")
                | (Q(status=SubscriptionStatus.PAUSED) & ~Q(paused_reason="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.origin} {self.status}"
