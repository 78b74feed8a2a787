"""Answers of the calls about encryption keys."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import StrictDateTimeField

Answer = serializers.Serializer[Any]


class EncryptionKeySerializer(Answer):
    """A data key of the tenant: one `SEALS`, and former ones open what they have sealed."""

    id = serializers.UUIDField()
    generation = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["SEALS", "OPENS"])
    created_at = StrictDateTimeField()
    replaced_at = StrictDateTimeField(allow_null=True)


class ResealingSerializer(Answer):
    """How far the values of the tenant are sealed anew under the key of a generation.

    `left` is counted at the end: values that still have an older key. `unreadable` ones opened with
    no key.
    """

    id = serializers.UUIDField()
    generation = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["RUNNING", "COMPLETED"])
    columns_done = serializers.IntegerField()
    columns = serializers.IntegerField()
    sealed = serializers.IntegerField()
    unreadable = serializers.IntegerField()
    left = serializers.IntegerField(allow_null=True)
    begun_by = serializers.CharField()
    begun_at = StrictDateTimeField()
    ended_at = StrictDateTimeField(allow_null=True)


class EncryptionKeysSerializer(Answer):
    """The data keys of the tenant, newest first, and its last resealing."""

    encryption_keys = EncryptionKeySerializer(many=True)
    resealing = ResealingSerializer(allow_null=True)
