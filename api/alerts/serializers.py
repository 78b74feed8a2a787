"""Bodies and answers of the calls about alerts and preferences."""

from __future__ import annotations

import re
from datetime import time
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
    StrictUUIDField,
)
from notifications.choices import (
    ALERT_KINDS,
    DELIVERED_BY,
    AlertKind,
    DeliveryStatus,
    Suppression,
)
from notifications.services.alerts import MOST_MINUTES
from notifications.services.preferences import MOST_DIGEST_MINUTES

_DIGEST = "E-mail about alerts that are not urgent is gathered for so long; 0 for at once."
_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")


@extend_schema_field({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"})
class ClockField(StrictCharField):
    """A time of day as ``HH:MM``."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the time of day."""
        found = _CLOCK.fullmatch(super().to_internal_value(data))
        if not found:
            raise ValidationError("Give a time of day, for instance 22:00.", code="invalid_time")
        return time(int(found[1]), int(found[2]))


def _events() -> StrictListField:
    child = StrictChoiceField(choices=AlertKind.values)
    return StrictListField(child=child, max_length=len(AlertKind), required=False)


class PreferenceChange(StrictSerializer):
    """A change of a member's preferences; fields left out stay."""

    member = StrictIntegerField(min_value=1)
    email_events = _events()
    push_events = _events()
    console_events = _events()
    email_address = StrictCharField(max_length=254, required=False, allow_null=True)
    timezone = StrictCharField(max_length=63, required=False)
    quiet_from = ClockField(required=False, allow_null=True)
    quiet_to = ClockField(required=False, allow_null=True)
    quiet_except_final = StrictBooleanField(required=False)
    digest_minutes = StrictIntegerField(
        min_value=0, max_value=MOST_DIGEST_MINUTES, required=False, help_text=_DIGEST
    )
    muted_until = StrictDateTimeField(required=False, allow_null=True)
    muted_task_ids = StrictListField(child=StrictUUIDField(), max_length=1000, required=False)


class PreferenceSerializer(serializers.Serializer[object]):
    """A member's notification preferences."""

    member = serializers.IntegerField()
    user = serializers.CharField()
    email_events = serializers.ListField(child=serializers.ChoiceField(choices=AlertKind.values))
    push_events = serializers.ListField(child=serializers.ChoiceField(choices=AlertKind.values))
    console_events = serializers.ListField(child=serializers.ChoiceField(choices=AlertKind.values))
    email_address = serializers.CharField(allow_null=True)
    email_address_confirmed = serializers.BooleanField(
        help_text="Whether `email_address` is used; until its owner confirms it, "
        "`effective_email_address` is."
    )
    effective_email_address = serializers.CharField(allow_null=True)
    timezone = serializers.CharField()
    quiet_from = serializers.CharField(allow_null=True)
    quiet_to = serializers.CharField(allow_null=True)
    quiet_except_final = serializers.BooleanField()
    digest_minutes = serializers.IntegerField(help_text=_DIGEST)
    muted_until = StrictDateTimeField(allow_null=True)
    muted_task_ids = serializers.ListField(child=serializers.UUIDField())


class SubscriptionKeys(StrictSerializer):
    """The browser's public key and secret."""

    p256dh = StrictCharField(max_length=100)
    auth = StrictCharField(max_length=30)


class NewPushSubscription(StrictSerializer):
    """A browser's subscription, with the member that it belongs to."""

    member = StrictIntegerField(min_value=1)
    endpoint = StrictCharField(max_length=2048)
    keys = SubscriptionKeys()
    user_agent = StrictCharField(max_length=300, required=False, default="", allow_blank=True)


class PushSubscriptionSerializer(serializers.Serializer[object]):
    """A browser that takes pushes."""

    id = serializers.UUIDField()
    member = serializers.IntegerField()
    push_service = serializers.CharField()
    user_agent = serializers.CharField(allow_blank=True)
    created_at = StrictDateTimeField()
    last_used_at = StrictDateTimeField(allow_null=True)
    failed_at = StrictDateTimeField(allow_null=True)
    error = serializers.CharField(allow_null=True)


class PushKey(serializers.Serializer[object]):
    """The key that browsers subscribe with; null where pushes are not set up."""

    public_key = serializers.CharField(allow_null=True)


class MuteBody(StrictSerializer):
    """How long to mute the alert."""

    minutes = StrictIntegerField(min_value=0, max_value=MOST_MINUTES, default=60)


class AcknowledgeBody(StrictSerializer):
    """Whether a person works on the alert; false takes it back."""

    acknowledged = StrictBooleanField(default=True)


class AssignBody(StrictSerializer):
    """The member who works on the alert; null for none."""

    member = StrictIntegerField(min_value=1, allow_null=True)


class AlertError(serializers.Serializer[object]):
    """The error of the first failure."""

    code = serializers.CharField()
    message = serializers.CharField(allow_blank=True)


class AlertSerializer(serializers.Serializer[object]):
    """One incident."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=ALERT_KINDS)
    rule_id = serializers.UUIDField(
        allow_null=True, help_text="The alert rule; null for a built-in one."
    )
    subject = serializers.CharField(
        allow_blank=True,
        help_text="What it is about where cause and destination do not say it: a task, a quota.",
    )
    urgent = serializers.BooleanField()
    title = serializers.CharField()
    cause = serializers.CharField()
    error_signature = serializers.CharField(allow_blank=True)
    destination = serializers.CharField(allow_blank=True)
    error = AlertError(allow_null=True)
    task_id = serializers.UUIDField(allow_null=True)
    task_name = serializers.CharField(allow_blank=True)
    execution_id = serializers.UUIDField(allow_null=True)
    count = serializers.IntegerField()
    task_count = serializers.IntegerField()
    first_at = StrictDateTimeField()
    last_at = StrictDateTimeField()
    last_notified_at = StrictDateTimeField(allow_null=True)
    muted_until = StrictDateTimeField(allow_null=True)
    held_until = StrictDateTimeField(
        allow_null=True, help_text="End of the maintenance window that held back its last notice."
    )
    recovered_at = StrictDateTimeField(
        allow_null=True, help_text="Since when its condition no longer holds."
    )
    acknowledged_at = StrictDateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_null=True)
    assignee = serializers.IntegerField(allow_null=True, help_text="The id of a member.")
    closed_at = StrictDateTimeField(allow_null=True)


class DeliveryChannel(serializers.Serializer[object]):
    """The shared channel that a message went to."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class DeliverySerializer(serializers.Serializer[object]):
    """One line of the delivery log."""

    id = serializers.UUIDField()
    member = serializers.IntegerField(allow_null=True)
    user = serializers.CharField(allow_null=True)
    alert_channel = DeliveryChannel(allow_null=True)
    channel = serializers.ChoiceField(choices=[value for value, _ in DELIVERED_BY])
    notice_number = serializers.IntegerField()
    closing = serializers.BooleanField(help_text="Whether it says that the alert is over.")
    status = serializers.ChoiceField(choices=DeliveryStatus.values)
    reason = serializers.ChoiceField(choices=Suppression.values, allow_null=True)
    attempt_count = serializers.IntegerField()
    next_attempt_at = StrictDateTimeField(allow_null=True)
    error = serializers.CharField(allow_null=True)
    message_id = serializers.CharField(allow_null=True)
    count_shown = serializers.IntegerField(allow_null=True)
    created_at = StrictDateTimeField()
    sent_at = StrictDateTimeField(allow_null=True)


class AlertDetail(AlertSerializer):
    """One incident with its delivery log."""

    deliveries = DeliverySerializer(many=True)
