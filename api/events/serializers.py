"""Answers of the event feed."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import StrictDateTimeField
from events.feed_types import TYPES


class EventSerializer(serializers.Serializer[Any]):
    """Something that happened to one subject; the subject itself has the current state."""

    id = serializers.UUIDField(help_text="Unique, and the same in each answer and webhook.")
    type = serializers.ChoiceField(choices=TYPES)
    at = StrictDateTimeField()
    subject_id = serializers.UUIDField(
        help_text="The execution, task, run, pause, dead letter, bulk job or tenant."
    )
    task_id = serializers.UUIDField(allow_null=True, help_text="Its task, where it has one.")
    data = serializers.DictField(  # type: ignore[assignment]  # the metaclass takes fields out
        allow_null=True, help_text="What the type tells besides; never a payload or an answer."
    )


class EventsPage(serializers.Serializer[Any]):
    """Events in their order, and where to continue."""

    events = EventSerializer(many=True)
    next_after = serializers.CharField(help_text="Give it as `after` in the next call.")
    has_more = serializers.BooleanField(
        help_text="Whether to call again at once: a page may be empty, and more events follow."
    )
