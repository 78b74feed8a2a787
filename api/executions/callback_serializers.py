"""Bodies and answers of the calls by which the holder of a token ends its job."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.executions.serializers import AnyJSONField
from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictNumberField,
    StrictSerializer,
)
from executions.choices import Status

Answer = serializers.Serializer[Any]

_DAY_SECONDS = 86_400


class HolderBody(StrictSerializer):
    """The field that every call of a holder may carry."""

    fencing_token = StrictIntegerField(
        required=False,
        min_value=0,
        help_text="Must be the token's own where it is given: 409 `stale_lease` otherwise.",
    )


class HeartbeatBody(HolderBody):
    """The job's progress, and how long to extend the lease."""

    progress = AnyJSONField(
        required=False,
        help_text="Up to 16 KiB; the next attempt gets it. Left out or null, the last one stays.",
    )
    extend_seconds = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=_DAY_SECONDS,
        help_text="From now; the heartbeat time-out of the target, or the lease's own length, "
        "where it is left out. A lease is never shortened by it.",
    )


class CompleteBody(HolderBody):
    """The result of the job."""

    result = AnyJSONField(required=False, help_text="Up to 64 KiB.")


class FailBody(HolderBody):
    """The error, and whether to try again."""

    error = StrictCharField(max_length=1000)
    retry = StrictBooleanField(default=True)
    retry_delay_seconds = StrictNumberField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=_DAY_SECONDS,
        help_text="In place of the retry policy's delay.",
    )


class HeartbeatAnswer(Answer):
    """Whether to stop, and until when the lease holds."""

    cancel_requested = serializers.BooleanField()
    lease_expires_at = StrictDateTimeField()


class EndingAnswer(Answer):
    """The execution's state after the call."""

    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=Status.choices)
    attempt = serializers.IntegerField()
