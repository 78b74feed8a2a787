"""Bodies and answers of the calls about pools that workers lease from."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.executions.serializers import AnyJSONField, ExecutionSerializer
from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictDateTimeField,
    StrictDictField,
    StrictIntegerField,
    StrictNumberField,
    StrictSerializer,
)
from tasks.limits import LABEL_KEY_LENGTH, LABEL_VALUE_LENGTH, LABELS

Answer = serializers.Serializer[Any]

MOST_LEASES = 100
_LONGEST_NAME = 80
_LONGEST_VERSION = 40
_MOST_CPU_PERCENT = 100_000
_MOST_BYTES = 2**53
_MOST_IN_FLIGHT = 1_000_000


class LabelsField(StrictDictField):
    """What a worker offers: names and values as in the labels of a task."""

    def __init__(self, **options: Any) -> None:
        child = StrictCharField(max_length=LABEL_VALUE_LENGTH, allow_blank=True)
        super().__init__(child=child, **options)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the labels; refuse too many, or a name that is too long."""
        labels = super().to_internal_value(data)
        if len(labels) > LABELS:
            raise serializers.ValidationError(f"At most {LABELS} labels.", "too_many")
        if any(len(name) > LABEL_KEY_LENGTH for name in labels):
            message = f"A label's name has at most {LABEL_KEY_LENGTH} characters."
            raise serializers.ValidationError(message, "too_long")
        return labels


class LeaseBody(StrictSerializer):
    """What a worker wants."""

    worker = StrictCharField(
        max_length=_LONGEST_NAME, help_text="A name of its own; shown with its executions."
    )
    max = StrictIntegerField(default=10, min_value=1, max_value=MOST_LEASES)
    lease_seconds = StrictNumberField(
        default=60,
        min_value=5,
        max_value=3600,
        help_text="Send a heartbeat before they are over, or lose the work.",
    )
    wait_seconds = StrictNumberField(
        default=0,
        min_value=0,
        max_value=20,
        help_text="How long to wait for work; the answer comes as soon as there is some.",
    )
    labels = LabelsField(
        default=dict, help_text="Only work whose target's `requires` are among these is leased."
    )
    version = StrictCharField(
        max_length=_LONGEST_VERSION,
        allow_blank=True,
        default="",
        help_text="The version of the worker's program; shown with the worker.",
    )
    capacity = StrictIntegerField(
        allow_null=True,
        default=None,
        min_value=1,
        max_value=_MOST_IN_FLIGHT,
        help_text="How many executions the worker can have at a time; shown. `max` unless given.",
    )
    cpu_percent = StrictNumberField(
        allow_null=True,
        default=None,
        min_value=0,
        max_value=_MOST_CPU_PERCENT,
        help_text="The worker's processor use, 100 is one core; shown.",
    )
    memory_bytes = StrictIntegerField(
        allow_null=True,
        default=None,
        min_value=0,
        max_value=_MOST_BYTES,
        help_text="The worker's memory; shown.",
    )


class LeaseSerializer(Answer):
    """An execution that the worker has leased, and the token that ends it."""

    execution = ExecutionSerializer()
    handler = serializers.CharField(allow_blank=True)
    payload = AnyJSONField()
    attempt = serializers.IntegerField(help_text="The number of this try, from 1.")
    scheduled_for = StrictDateTimeField()
    lease_expires_at = StrictDateTimeField()
    fencing_token = serializers.IntegerField()
    token = serializers.CharField(help_text="To be sent as `X-Execution-Token`.")
    progress = AnyJSONField(help_text="The last progress of an earlier attempt, or null.")
    traceparent = serializers.CharField(
        help_text="W3C trace context of the attempt: the parent of the worker's own spans."
    )
    tracestate = serializers.CharField(
        allow_blank=True, help_text="The state of the trace that it continues; empty without one."
    )


class LeasesAnswer(Answer):
    """The leases; an empty list is no error."""

    leases = LeaseSerializer(many=True)


class PoolBody(StrictSerializer):
    """A change of a pool."""

    paused = StrictBooleanField(required=False)
    max_in_flight = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=_MOST_IN_FLIGHT,
        help_text="Leases at a time over all its workers; null is no limit.",
    )


class PoolSerializer(Answer):
    """A pool: its settings, its due and waiting work, and its workers."""

    name = serializers.CharField()
    paused = serializers.BooleanField()
    max_in_flight = serializers.IntegerField(allow_null=True)
    depth = serializers.IntegerField()
    oldest_due_at = StrictDateTimeField(allow_null=True)
    in_flight = serializers.IntegerField()
    live_workers = serializers.IntegerField(
        allow_null=True, help_text="Null while Redis, which knows them, cannot be reached."
    )
    version = serializers.IntegerField()
    created_at = StrictDateTimeField()
    updated_at = StrictDateTimeField()


class PoolsAnswer(Answer):
    """The tenant's pools by name."""

    pools = PoolSerializer(many=True)
