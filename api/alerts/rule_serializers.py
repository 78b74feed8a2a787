"""Bodies and answers of the calls about alert rules."""

from __future__ import annotations

from rest_framework import serializers

from api.protocol.serializers import (
    NameField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictSerializer,
)
from notifications.choices import ALERT_KINDS, RuleScope
from notifications.services.rules import NAME_LENGTH, VALUE_LENGTH

#: What a column of the database holds; each kind has bounds of its own.
_MOST = 2**31 - 1
_VALUE = "`key:value` of a label, or the id of the task or workflow; empty for the scope `all`."
_THRESHOLD = "A number or percentage, by kind; null for kinds without one."
_WINDOW = "Seconds to look back over or to wait, by kind; null for kinds without them."
_URGENT = "Whether its alerts reach members in their quiet hours."


class _RuleParts(StrictSerializer):
    """The fields of a rule that a caller may give."""

    scope = StrictChoiceField(choices=RuleScope.values, required=False)
    value = StrictCharField(
        max_length=VALUE_LENGTH, required=False, allow_blank=True, help_text=_VALUE
    )
    threshold = StrictIntegerField(
        min_value=0, max_value=_MOST, required=False, help_text=_THRESHOLD
    )
    window_seconds = StrictIntegerField(
        min_value=0, max_value=_MOST, required=False, help_text=_WINDOW
    )
    urgent = StrictBooleanField(required=False, help_text=_URGENT)
    enabled = StrictBooleanField(required=False)


class NewRule(_RuleParts):
    """A new alert rule; fields left out have the defaults of the kind."""

    name = NameField(max_length=NAME_LENGTH)
    kind = StrictChoiceField(choices=ALERT_KINDS)


class RuleChange(_RuleParts):
    """A change of an alert rule; fields left out stay."""

    name = NameField(max_length=NAME_LENGTH, required=False)


class RuleSerializer(serializers.Serializer[object]):
    """An alert rule."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=ALERT_KINDS)
    scope = serializers.ChoiceField(choices=RuleScope.values)
    value = serializers.CharField(allow_blank=True, help_text=_VALUE)
    threshold = serializers.IntegerField(allow_null=True, help_text=_THRESHOLD)
    window_seconds = serializers.IntegerField(allow_null=True, help_text=_WINDOW)
    urgent = serializers.BooleanField(help_text=_URGENT)
    enabled = serializers.BooleanField()
    built_in = serializers.BooleanField(
        help_text="Whether each tenant has it without making it; it can be changed, not deleted."
    )
    version = serializers.IntegerField(help_text="For If-Match.")
    created_at = StrictDateTimeField(allow_null=True)
    updated_at = StrictDateTimeField(allow_null=True)
