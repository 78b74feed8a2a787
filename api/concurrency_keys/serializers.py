"""Answers of the call about concurrency keys."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import StrictDateTimeField
from executions.choices import OPEN
from executions.gate.key_list import MOST_HOLDERS

Answer = serializers.Serializer[Any]


class KeyHolderSerializer(Answer):
    """An execution that has a place of a key."""

    execution_id = serializers.UUIDField()
    task_id = serializers.UUIDField()
    task_name = serializers.CharField(allow_null=True)
    status = serializers.ChoiceField(choices=sorted(OPEN))
    started_at = StrictDateTimeField(allow_null=True)
    due_at = StrictDateTimeField()


class ConcurrencyKeySerializer(Answer):
    """A key that tasks share, and its open work."""

    key = serializers.CharField()
    in_use = serializers.IntegerField(help_text="Executions that have a place of the key.")
    waiting = serializers.IntegerField(
        help_text="Due executions that wait for a place, counted up to 100,000."
    )
    waiting_since = StrictDateTimeField(
        allow_null=True, help_text="When the first of them was due."
    )
    holders = KeyHolderSerializer(
        many=True,
        help_text=f"The executions that have a place, the first due first, at most {MOST_HOLDERS}.",
    )


class ConcurrencyKeysAnswer(Answer):
    """Keys by name."""

    concurrency_keys = ConcurrencyKeySerializer(many=True)
    next_after = serializers.CharField(
        allow_null=True, help_text="To go on: `after` of the next call; null at the end."
    )
