"""The alert channel: a place outside that a tenant's alerts are sent to, and the rules it hears."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from notifications.choices import ALERT_KINDS, AlertKind, ChannelKind
from shared.fields import SealedField
from shared.ids import new_id


def heard_by_default() -> list[str]:
    """Return the default of a new channel: every kind but first failures."""
    return [kind for kind in ALERT_KINDS if kind != AlertKind.FIRST_FAILURE]


class AlertChannel(models.Model):
    """A webhook or a chat or paging service that a tenant shares.

    ``sealed_url`` is a right by itself, sealed under the row's id; ``service`` and ``host`` are
    what may be shown of it. Alerts of ``kinds`` go there, of built-in and own rules, and those of
    the rules in :class:`AlertRuleChannel`. With ``after_seconds`` the channel is for escalation: it
    gets an alert that was not acknowledged for that time. ``error`` is that of the last message,
    and empty after a success.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=7, choices=ChannelKind.choices)
    service = models.CharField(max_length=20)
    host = models.CharField(max_length=255, default="")
    sealed_url = SealedField()
    kinds = ArrayField(models.CharField(max_length=24), default=heard_by_default, blank=True)
    after_seconds = models.PositiveIntegerField(default=0)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    last_sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=500, default="")

    class Meta:
        db_table = "alert_channels"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="alert_channel_name_is_unique"),
            models.CheckConstraint(name="alert_channel_has_a_name", condition=~Q(name="")),
            models.CheckConstraint(
                name="alert_channel_kind_is_known", condition=Q(kind__in=ChannelKind.values)
            ),
            models.CheckConstraint(
                name="alert_channel_kinds_are_known", condition=Q(kinds__contained_by=ALERT_KINDS)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AlertRuleChannel(models.Model):
    """A rule's alerts go to a channel."""

    # Without an index of its own: the constraint's begins with it.
    channel = models.ForeignKey(
        AlertChannel, on_delete=models.CASCADE, db_index=False, related_name="rules"
    )
    rule = models.ForeignKey(
        "notifications.AlertRule", on_delete=models.CASCADE, related_name="channels"
    )

    class Meta:
        db_table = "alert_rule_channels"
        constraints = [
            models.UniqueConstraint(fields=["channel", "rule"], name="one_row_per_channel_and_rule")
        ]

    def __str__(self) -> str:
        return f"{self.channel_id} {self.rule_id}"
