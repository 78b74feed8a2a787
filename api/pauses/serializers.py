"""Bodies and answers of the calls about standing pauses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
)
from api.tasks.serializers import PauseBody
from tasks.choices import OnResume, PauseScope, TaskStatus

Answer = serializers.Serializer[Any]

_LONGEST_VALUE = 520


class PauseCreateBody(PauseBody):
    """What a standing pause covers, until when, why, and how its missed instants run."""

    scope = StrictChoiceField(choices=PauseScope.values)
    value = StrictCharField(
        default="",
        allow_blank=True,
        max_length=_LONGEST_VALUE,
        help_text="`key:value` or a key of a label; the pool; host or host:port; "
        "nothing for the tenant.",
    )
    dry_run = StrictBooleanField(
        default=False, help_text="Only count: 200 with what it would hold, and nothing changes."
    )


class PauseSerializer(Answer):
    """A standing pause; open while `ended_at` is null."""

    id = serializers.UUIDField()
    scope = serializers.ChoiceField(choices=PauseScope.values)
    value = serializers.CharField(allow_blank=True)
    note = serializers.CharField(allow_blank=True)
    on_resume = serializers.ChoiceField(choices=OnResume.values)
    until = StrictDateTimeField(allow_null=True)
    task_count = serializers.IntegerField(
        help_text="How many tasks it holds; on ending, how many it held."
    )
    created_by = serializers.CharField()
    created_at = StrictDateTimeField()
    ended_by = serializers.CharField(allow_null=True)
    ended_at = StrictDateTimeField(allow_null=True)


class HeldTask(Answer):
    """A task that a pause would hold."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=TaskStatus.values)


class PauseReach(Answer):
    """The tasks that a pause would hold now."""

    scope = serializers.ChoiceField(choices=PauseScope.values)
    value = serializers.CharField(allow_blank=True)
    task_count = serializers.IntegerField()
    sample = HeldTask(many=True)
