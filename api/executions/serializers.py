"""Bodies and answers of the calls about executions and dead letters.

Serializers named ``…Body`` validate bodies. The others only describe answers, which
``insight.presentation.execution`` and its siblings make.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.protocol.schema import Pagination
from api.protocol.serializers import (
    StrictCharField,
    StrictDateTimeField,
    StrictJSONField,
    StrictSerializer,
)
from executions.choices import AttemptOutcome, Status, Trigger
from insight.explain.waiting import WAITS_FOR

Answer = serializers.Serializer[Any]


@extend_schema_field({"description": "Any JSON value."})
class AnyJSONField(StrictJSONField):
    """Any JSON value, null among them."""

    def __init__(self, **options: Any) -> None:
        # Null is a value like any other here; the document cannot say it of a schema without type.
        options.pop("allow_null", None)
        super().__init__(**options)

    def validate_empty_values(self, data: Any) -> tuple[bool, Any]:
        """Take null for the value that it is; only a missing one is judged."""
        return (True, None) if data is None else super().validate_empty_values(data)


class EmptyBody(StrictSerializer):
    """No body, or an empty object."""


class RetryBody(StrictSerializer):
    """The payload of a retry; left out, it sends the same again. Null is a payload."""

    payload = AnyJSONField(required=False)


class ResolveBody(StrictSerializer):
    """How a person closed a dead letter."""

    resolution = StrictCharField(
        max_length=40,
        default="fixed",
        help_text="A word of your own; `retried` and `archived` are reserved.",
    )
    note = StrictCharField(max_length=1000, allow_blank=True, default="")


class ArchiveBody(StrictSerializer):
    """Why a dead letter is put aside."""

    note = StrictCharField(max_length=1000, allow_blank=True, default="")


class ExecutionError(Answer):
    """An error, by a stable code."""

    code = serializers.CharField()
    message = serializers.CharField(allow_blank=True)


class Timings(Answer):
    """Milliseconds by phase; null for a phase that was not needed or not reached."""

    dns_ms = serializers.FloatField(allow_null=True)
    connect_ms = serializers.FloatField(allow_null=True)
    tls_ms = serializers.FloatField(allow_null=True)
    first_byte_ms = serializers.FloatField(allow_null=True)
    total_ms = serializers.FloatField(allow_null=True)


class SentRequest(Answer):
    """A request as sent; values of secret headers are masked."""

    method = serializers.CharField()
    url = serializers.CharField()
    headers = serializers.DictField(child=serializers.CharField(allow_blank=True))


class SentRequestWithBody(SentRequest):
    """A request as sent, with its body."""

    body = AnyJSONField()


class CapturedResponse(Answer):
    """A receiver's answer as captured; values of secret headers are masked."""

    status = serializers.IntegerField()
    headers = serializers.DictField(child=serializers.CharField(allow_blank=True))
    body = serializers.CharField(allow_blank=True)
    truncated = serializers.BooleanField()


class AttemptOfLetter(Answer):
    """One attempt in brief."""

    number = serializers.IntegerField()
    outcome = serializers.ChoiceField(choices=AttemptOutcome.choices)
    error = ExecutionError(allow_null=True)
    response_status = serializers.IntegerField(allow_null=True)
    worker = serializers.CharField(allow_null=True)
    due_at = StrictDateTimeField(allow_null=True)
    started_at = StrictDateTimeField(allow_null=True)
    finished_at = StrictDateTimeField()
    duration_ms = serializers.FloatField(allow_null=True)
    timings = Timings()
    cost = serializers.DictField(
        child=serializers.FloatField(),
        allow_null=True,
        help_text="What its receiver has reported that it cost, by unit.",
    )
    cost_ignored = serializers.CharField(
        allow_null=True, help_text="Why a reported cost was ignored."
    )


class AttemptSerializer(AttemptOfLetter):
    """One attempt."""

    request = SentRequest(allow_null=True, help_text="Null where the target is no webhook.")
    response = CapturedResponse(allow_null=True)


def _missing() -> serializers.CharField:
    return serializers.CharField(
        required=False, help_text="Only where something sealed cannot be opened: why."
    )


class WaitingFor(Answer):
    """Why an execution waits, until when if that is known, and a sentence about it."""

    what = serializers.ChoiceField(choices=WAITS_FOR)
    until = StrictDateTimeField(allow_null=True)
    detail = serializers.CharField()


class ExecutionSerializer(Answer):
    """An execution as lists show it."""

    id = serializers.UUIDField()
    task_id = serializers.UUIDField()
    task_name = serializers.CharField()
    status = serializers.ChoiceField(choices=Status.choices)
    reason = serializers.CharField(allow_null=True)
    trigger = serializers.ChoiceField(choices=Trigger.choices)
    scheduled_for = StrictDateTimeField()
    due_at = StrictDateTimeField()
    queued_at = StrictDateTimeField(allow_null=True)
    started_at = StrictDateTimeField(allow_null=True)
    finished_at = StrictDateTimeField(allow_null=True)
    start_delay_ms = serializers.FloatField(allow_null=True)
    duration_ms = serializers.FloatField(allow_null=True)
    attempt = serializers.IntegerField()
    max_attempts = serializers.IntegerField()
    next_attempt_at = StrictDateTimeField(allow_null=True)
    worker = serializers.CharField(allow_null=True)
    pool = serializers.CharField()
    log_url = serializers.CharField(allow_null=True)
    response_status = serializers.IntegerField(allow_null=True)
    error = ExecutionError(allow_null=True)
    progress = AnyJSONField()
    result = AnyJSONField()
    trace_id = serializers.CharField()
    parent_id = serializers.UUIDField(allow_null=True)


class PlaceOfReplay(Answer):
    """The URL or pool that a replay sent it to: one of the two."""

    url = serializers.CharField(required=False)
    pool = serializers.CharField(required=False)


class ExecutionDetail(ExecutionSerializer):
    """An execution with its attempts, its request and the captured answer."""

    attempts = AttemptSerializer(many=True)
    request = SentRequestWithBody(allow_null=True)
    response = CapturedResponse(allow_null=True)
    timings = Timings()
    into = PlaceOfReplay(
        allow_null=True,
        help_text="Of a replay into another place, and its retries: where they go; else null.",
    )
    concurrency_key = serializers.CharField(
        allow_null=True, help_text="The key that its task shares with others; null without one."
    )
    waiting_for = WaitingFor(allow_null=True)
    lease_expires_at = StrictDateTimeField(
        allow_null=True, help_text="When its holder's lease ends; null without a holder."
    )
    missing = _missing()


class DeadLetterSerializer(Answer):
    """A dead letter as lists show it."""

    id = serializers.UUIDField()
    execution_id = serializers.UUIDField()
    task_id = serializers.UUIDField()
    error = ExecutionError(allow_null=True)
    error_signature = serializers.CharField()
    payload = AnyJSONField()
    attempts = AttemptOfLetter(many=True)
    last_response = CapturedResponse(allow_null=True)
    resolved = serializers.BooleanField()
    resolution = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    resolved_by = serializers.CharField(allow_null=True)
    resolved_at = StrictDateTimeField(allow_null=True)
    retry_execution_id = serializers.UUIDField(allow_null=True)
    created_at = StrictDateTimeField()
    missing = _missing()


class PayloadEdit(Answer):
    """The payload that a retry sent instead of the letter's."""

    payload = AnyJSONField()


class DeadLetterDetail(DeadLetterSerializer):
    """A dead letter with the request and the answer of each attempt."""

    attempts = AttemptSerializer(many=True)
    edit = PayloadEdit(allow_null=True)


class DeadLetterGroup(Answer):
    """Dead letters of one cause: how many, of how many tasks, first and last."""

    error_signature = serializers.CharField()
    count = serializers.IntegerField()
    tasks = serializers.IntegerField()
    first_seen = StrictDateTimeField()
    last_seen = StrictDateTimeField()


class DeadLetterGroups(Answer):
    """Dead letters counted by cause, most first."""

    groups = DeadLetterGroup(many=True)
    pagination = Pagination()


class DeadLetterPage(Answer):
    """Dead letters, newest first."""

    dead_letters = DeadLetterSerializer(many=True)
    pagination = Pagination()
