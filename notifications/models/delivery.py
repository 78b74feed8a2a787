"""The delivery: one message to one member or one shared channel; the delivery log."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import DELIVERED_BY, UNFINISHED, DeliveryStatus, Suppression
from shared.ids import new_id


class Delivery(models.Model):
    """A message that is owed or was sent, or the reason why it was not.

    It goes to a member, by the way that ``channel`` names, or to a shared channel. The unique
    constraints make a notice exactly one message per member and way, and per channel. A claim
    expires, so the death of a sender only delays the message. ``bundled`` deliveries of a burst
    share one message. ``reached`` are the browsers that have it already. ``closing``: the notice
    says that the alert is over.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    alert = models.ForeignKey(
        "notifications.Alert", on_delete=models.CASCADE, related_name="deliveries"
    )
    membership = models.ForeignKey(
        "tenants.Membership", on_delete=models.CASCADE, null=True, related_name="+"
    )
    alert_channel = models.ForeignKey(
        "notifications.AlertChannel", on_delete=models.CASCADE, null=True, related_name="+"
    )
    channel = models.CharField(max_length=7, choices=DELIVERED_BY)
    notice_number = models.PositiveIntegerField()
    status = models.CharField(
        max_length=10, choices=DeliveryStatus.choices, default=DeliveryStatus.PENDING
    )
    reason = models.CharField(max_length=20, choices=Suppression.choices, default="")
    bundled = models.BooleanField(default=False)
    closing = models.BooleanField(default=False, db_default=False)
    attempt_count = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True)
    woken_at = models.DateTimeField(null=True)
    claim_id = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    reached = ArrayField(models.UUIDField(), default=list)
    error = models.CharField(max_length=500, default="")
    message_id = models.CharField(max_length=300, default="")
    count_shown = models.PositiveBigIntegerField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "alert_deliveries"
        indexes = [
            models.Index(
                fields=["next_attempt_at"],
                name="alert_deliveries_due_idx",
                condition=Q(status__in=UNFINISHED),
            ),
            models.Index(
                fields=["membership", "channel", "-created_at"],
                name="alert_deliveries_of_member_idx",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["alert", "membership", "channel", "notice_number"],
                name="one_delivery_per_notice_member_and_channel",
            ),
            models.UniqueConstraint(
                fields=["alert", "alert_channel", "notice_number"],
                name="one_delivery_per_notice_and_channel",
                condition=Q(alert_channel__isnull=False),
            ),
            models.CheckConstraint(
                name="delivery_has_one_receiver",
                condition=Q(membership__isnull=False, alert_channel__isnull=True)
                | Q(membership__isnull=True, alert_channel__isnull=False),
            ),
            models.CheckConstraint(
                name="alert_delivery_status_is_known",
                condition=Q(status__in=DeliveryStatus.values),
            ),
            models.CheckConstraint(
                name="unfinished_delivery_says_when",
                condition=~Q(status__in=UNFINISHED) | Q(next_attempt_at__isnull=False),
            ),
            models.CheckConstraint(
                name="suppressed_delivery_says_why",
                condition=~Q(status=DeliveryStatus.SUPPRESSED) | ~Q(reason=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.status}"
