"""Bodies and answers of the calls about destinations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import (
    StrictBooleanField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictNumberField,
    StrictSerializer,
)
from executions.destinations.limits import MAX_IN_FLIGHT, MAX_RATE, MIN_RATE

Answer = serializers.Serializer[Any]

CIRCUITS = ("closed", "open", "half_open")


class DestinationBody(StrictSerializer):
    """A change of a destination's limits; fields left out stay."""

    max_in_flight = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_IN_FLIGHT,
        help_text="Requests at a time, over all workers; null is no limit.",
    )
    rate_per_second = StrictNumberField(
        required=False,
        allow_null=True,
        min_value=MIN_RATE,
        max_value=MAX_RATE,
        help_text="Starts a second, over all workers; null is no limit.",
    )
    breaker = StrictBooleanField(
        required=False, help_text="Whether its circuit opens when most calls fail."
    )


class DestinationSerializer(Answer):
    """A host that webhooks call, its limits, and its state."""

    host = serializers.CharField()
    circuit = serializers.ChoiceField(
        choices=CIRCUITS,
        allow_null=True,
        help_text="Null, as `calls` and `failures`, while Redis cannot be reached.",
    )
    open_until = StrictDateTimeField(allow_null=True)
    calls = serializers.IntegerField(allow_null=True, help_text="Of the last minute.")
    failures = serializers.IntegerField(
        allow_null=True,
        help_text="The `calls` that failed because of the host: no connection, time-outs, 5xx.",
    )
    in_flight = serializers.IntegerField()
    parked = serializers.IntegerField(
        help_text="Executions that wait until the host has room, counted up to 100,000."
    )
    tasks = serializers.IntegerField()
    max_in_flight = serializers.IntegerField(allow_null=True)
    rate_per_second = serializers.FloatField(allow_null=True)
    breaker = serializers.BooleanField()
    version = serializers.IntegerField(help_text="0 while nothing was ever set; for If-Match.")


class DestinationsAnswer(Answer):
    """Destinations by host."""

    destinations = DestinationSerializer(many=True)
    next_after = serializers.CharField(
        allow_null=True, help_text="To go on: `after` of the next call; null at the end."
    )
