"""Bodies and answers of the calls about maintenance windows."""

from __future__ import annotations

from rest_framework import serializers

from api.alerts.serializers import ClockField
from api.protocol.serializers import (
    NameField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
)
from notifications.choices import WindowScope
from notifications.services.maintenance import NAME_LENGTH, VALUE_LENGTH

_VALUE = "`key:value` of a label, or the id of the task, workflow or alert rule; empty for `all`."
_WEEKDAYS = "Of a weekly window: the days on which it begins, 1 is Monday."


class NewWindow(StrictSerializer):
    """A new maintenance window: with `ends_at` once, with `weekdays` each week."""

    name = NameField(max_length=NAME_LENGTH)
    scope = StrictChoiceField(choices=WindowScope.values, default=WindowScope.ALL.value)
    value = StrictCharField(max_length=VALUE_LENGTH, default="", allow_blank=True, help_text=_VALUE)
    begins_at = StrictDateTimeField(required=False, allow_null=True, help_text="Now, unless given.")
    ends_at = StrictDateTimeField(required=False, allow_null=True)
    weekdays = StrictListField(
        child=StrictIntegerField(min_value=1, max_value=7),
        max_length=7,
        required=False,
        help_text=_WEEKDAYS,
    )
    from_time = ClockField(required=False, allow_null=True)
    to_time = ClockField(required=False, allow_null=True)
    timezone = StrictCharField(max_length=63, default="UTC")


class WindowSerializer(serializers.Serializer[object]):
    """A maintenance window."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    scope = serializers.ChoiceField(choices=WindowScope.values)
    value = serializers.CharField(allow_blank=True, help_text=_VALUE)
    begins_at = StrictDateTimeField(allow_null=True)
    ends_at = StrictDateTimeField(allow_null=True)
    weekdays = serializers.ListField(child=serializers.IntegerField(), help_text=_WEEKDAYS)
    from_time = serializers.CharField(allow_null=True)
    to_time = serializers.CharField(allow_null=True)
    timezone = serializers.CharField()
    active_until = StrictDateTimeField(
        allow_null=True, help_text="When it ends this time; null while it is not open."
    )
    created_by = serializers.CharField()
    created_at = StrictDateTimeField()
