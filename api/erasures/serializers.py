"""Bodies and answers of the calls about erasures."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import StrictCharField, StrictDateTimeField, StrictSerializer
from executions.erasure.requests import BY_HAND_OF_TENANTS, LONGEST_REASON

Answer = serializers.Serializer[Any]


class EraseBody(StrictSerializer):
    """Why a task is erased."""

    reason = StrictCharField(
        max_length=LONGEST_REASON,
        help_text="One line. It stays in the certificate and in the audit log: name no person.",
    )


class AuditEntriesSerializer(Answer):
    """The audit entries about the object, which stay: how many, and a SHA-256 over their hashes."""

    count = serializers.IntegerField()
    digest = serializers.CharField(allow_blank=True)


class ErasureSerializer(Answer):
    """The certificate of an erasure; it stays when the tenant is removed.

    `counts` has the rows by table whose content was erased, so far while it is `RUNNING`. `by_hand`
    names what no erasure reaches.
    """

    id = serializers.UUIDField()
    object_kind = serializers.ChoiceField(choices=["task", "tenant"])
    object_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["RUNNING", "COMPLETED"])
    reason = serializers.CharField()
    begun_by = serializers.CharField()
    begun_at = StrictDateTimeField()
    ended_at = StrictDateTimeField(allow_null=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    audit_entries = AuditEntriesSerializer()
    by_hand = serializers.ListField(child=serializers.ChoiceField(choices=list(BY_HAND_OF_TENANTS)))
