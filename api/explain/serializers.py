"""Answers of Explain; ``insight.explain.answer`` makes them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import StrictDateTimeField
from insight.explain.answer import CHECKS, STATES

Answer = serializers.Serializer[Any]


class CheckSerializer(Answer):
    """One check: true passed, false stopped it, null was not reached, does not apply or waits."""

    check = serializers.ChoiceField(choices=CHECKS)
    ok = serializers.BooleanField(allow_null=True)
    not_yet = serializers.BooleanField(
        help_text="Whether it only waits for a time that will come; `ok` is then null."
    )
    evidence = serializers.CharField()
    fix = serializers.CharField(allow_null=True, help_text="What can be done.")
    call = serializers.CharField(allow_null=True, help_text="The API call that does it.")


class EstimateErrorSerializer(Answer):
    """Milliseconds from the due time to the start, of the task's latest `count` starts."""

    p50 = serializers.FloatField()
    p90 = serializers.FloatField()
    count = serializers.IntegerField()


class ExplanationSerializer(Answer):
    """Why one instant ran, did not run or waits."""

    task_id = serializers.UUIDField()
    task_name = serializers.CharField()
    execution_id = serializers.UUIDField(allow_null=True)
    asked_at = StrictDateTimeField()
    scheduled_for = StrictDateTimeField(help_text="The instant that is explained.")
    state = serializers.ChoiceField(choices=STATES)
    verdict = serializers.CharField()
    checks = CheckSerializer(many=True)
    first_blocker = serializers.ChoiceField(choices=CHECKS, allow_null=True)
    estimated_start = StrictDateTimeField(allow_null=True)
    no_estimate = serializers.CharField(
        allow_null=True, help_text="Why the start that it waits for cannot be estimated."
    )
    estimate_error_ms = EstimateErrorSerializer(
        allow_null=True,
        help_text="How far former starts were from such an estimate: of a due time only.",
    )
