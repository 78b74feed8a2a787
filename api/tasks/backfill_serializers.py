"""Body and answer of a backfill."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import (
    NameField,
    StrictBooleanField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictSerializer,
)
from executions.bulk.backfill import MAX_INSTANTS, MAX_PARALLEL, OVERLAP_POLICIES

Answer = serializers.Serializer[Any]


class BackfillBody(StrictSerializer):
    """Which instants to run again, and how many at a time."""

    start = StrictDateTimeField(help_text="The range's first moment, included.")
    end = StrictDateTimeField(help_text="The range's last moment, included; not in the future.")
    max_parallel = StrictIntegerField(
        required=False,
        min_value=1,
        max_value=MAX_PARALLEL,
        help_text="Run at most this many at a time. Unless given 10, or the task's "
        "`max_concurrent` if that is lower, or 1 where the task's own `overlap_policy` is not "
        "`allow`.",
    )
    overlap_policy = StrictChoiceField(
        required=False,
        choices=OVERLAP_POLICIES,
        help_text="`allow`: beside each other, up to `max_parallel`; `queue_all`: one after the "
        "other. Every instant runs.",
    )
    dry_run = StrictBooleanField(
        default=False, help_text="Only plan: 200 with the plan, and nothing changes."
    )
    name = NameField(default="", allow_blank=True, max_length=200)
    expected_count = StrictIntegerField(
        required=False,
        min_value=0,
        max_value=MAX_INSTANTS,
        help_text="Refuse (409 `scope_changed`) unless there is exactly this number of instants.",
    )


class BackfillInstant(Answer):
    """An instant of the plan."""

    utc = StrictDateTimeField()
    local = serializers.CharField(help_text="In the task's time zone, with its offset.")
    notes = serializers.ListField(child=serializers.CharField())


class BackfillPlan(Answer):
    """The plan of a backfill."""

    count = serializers.IntegerField(min_value=1)
    first = StrictDateTimeField()
    last = StrictDateTimeField()
    excluded = serializers.IntegerField(
        min_value=0, help_text="Instants within the range that calendars leave out."
    )
    max_parallel = serializers.IntegerField(min_value=1)
    overlap_policy = serializers.ChoiceField(choices=OVERLAP_POLICIES)
    estimated_seconds = serializers.FloatField(
        allow_null=True, help_text="If each takes as long as the latest runs; null without any."
    )
    sample = BackfillInstant(many=True, help_text="The first five.")
