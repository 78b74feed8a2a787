"""Bodies and answers of the calls about event subscriptions."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from api.protocol.serializers import (
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictDictField,
    StrictListField,
    StrictSerializer,
    StrictUUIDField,
)
from events.feed_types import TYPES
from notifications.choices import SubscriptionPause, SubscriptionStatus
from tasks.limits import URL_LENGTH

_MOST_TASKS, _MOST_LABELS, _LABEL_LENGTH = 100, 10, 200


class EventFilter(StrictSerializer):
    """Which tasks' events are sent; both hold together, and neither lets every event pass."""

    task_ids = StrictListField(child=StrictUUIDField(), max_length=_MOST_TASKS, required=False)
    labels = StrictDictField(
        child=StrictCharField(max_length=_LABEL_LENGTH, allow_blank=True), required=False
    )

    def to_internal_value(self, data: Any) -> Any:
        """Return the filter as it is stored."""
        found = super().to_internal_value(data)
        if len(found.get("labels", ())) > _MOST_LABELS:
            message = f"Give at most {_MOST_LABELS} labels."
            raise ValidationError({"labels": [message]}, code="too_many")
        if "task_ids" in found:
            found["task_ids"] = sorted({str(one) for one in found["task_ids"]})
        return dict(found)


def _types(**options: Any) -> StrictListField:
    child = StrictChoiceField(choices=TYPES)
    return StrictListField(child=child, min_length=1, max_length=len(TYPES), **options)


class SubscriptionCreateBody(StrictSerializer):
    """A new subscription: the URL of the receiver, the types, and which tasks."""

    url = StrictCharField(
        max_length=URL_LENGTH, help_text="Sealed, and not shown again: `origin` is."
    )
    types = _types()
    filter = EventFilter(required=False)


class SubscriptionChangeBody(StrictSerializer):
    """A change of a subscription; fields left out stay."""

    url = StrictCharField(max_length=URL_LENGTH, required=False)
    types = _types(required=False)
    filter = EventFilter(required=False)
    status = StrictChoiceField(choices=SubscriptionStatus.values, required=False)


class RedriveBody(StrictSerializer):
    """From where on events are sent: a cursor of the feed, or a time."""

    after = StrictCharField(max_length=200, required=False)
    since = StrictDateTimeField(required=False)


class EventFilterSerializer(serializers.Serializer[Any]):
    """Which tasks' events are sent."""

    task_ids = serializers.ListField(child=serializers.UUIDField(), required=False)
    labels = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)


class EventSubscriptionSerializer(serializers.Serializer[Any]):
    """A subscription, how far it is, and what its receiver answered last."""

    id = serializers.UUIDField()
    origin = serializers.CharField(help_text="Scheme, host and port of the URL.")
    types = serializers.ListField(child=serializers.ChoiceField(choices=TYPES))
    filter = EventFilterSerializer()
    status = serializers.ChoiceField(choices=SubscriptionStatus.values)
    paused_reason = serializers.ChoiceField(choices=SubscriptionPause.values, allow_null=True)
    after = serializers.CharField(
        allow_null=True, help_text="Everything before it was taken; null when it is kept no longer."
    )
    waiting_since = StrictDateTimeField(
        allow_null=True, help_text="When the oldest event of its types that waits happened."
    )
    failing_since = StrictDateTimeField(allow_null=True)
    attempt_count = serializers.IntegerField(help_text="Failed tries in a row.")
    next_attempt_at = StrictDateTimeField(allow_null=True)
    answered_at = StrictDateTimeField(allow_null=True)
    last_status = serializers.IntegerField(allow_null=True)
    last_error = serializers.CharField(allow_null=True)
    version = serializers.IntegerField()
    created_at = StrictDateTimeField()
    updated_at = StrictDateTimeField()


class EventTestSerializer(serializers.Serializer[Any]):
    """What the receiver answered to a test event."""

    taken = serializers.BooleanField(help_text="Whether the receiver answered 2xx.")
    status = serializers.IntegerField(allow_null=True, help_text="Null without an answer.")
    error = serializers.CharField(allow_null=True)
