"""Answers of the audit log."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import StrictDateTimeField


class AuditChange(serializers.Serializer[Any]):
    """A field that differs, with its values; null where it was or is not there."""

    field = serializers.CharField(help_text="Its path, such as `schedule.every`.")
    before = serializers.JSONField()
    after = serializers.JSONField()


class AuditEntrySerializer(serializers.Serializer[Any]):
    """An entry; secrets are masked, or a keyed fingerprint stands in their place."""

    id = serializers.UUIDField()
    sequence = serializers.IntegerField(help_text="Its number in the tenant's chain, from 1.")
    at = StrictDateTimeField()
    actor = serializers.CharField(
        help_text="`user:<id>`, the prefix of a key, `command:<account>`, `system`."
    )
    address = serializers.CharField(allow_blank=True)
    trace_id = serializers.CharField(allow_blank=True)
    action = serializers.CharField()
    object_kind = serializers.CharField()
    object_id = serializers.CharField()
    changes = AuditChange(many=True)
