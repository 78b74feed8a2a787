"""Bodies and answers of the calls about a tenant's keys and secrets."""

from __future__ import annotations

from rest_framework import serializers

from api.protocol.serializers import (
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    StrictSerializer,
)
from tenants.choices import SCOPES
from tenants.models.tenant import (
    MAX_IDEMPOTENCY_SECONDS,
    MAX_JITTER_SECONDS,
    MIN_IDEMPOTENCY_SECONDS,
)


class NewApiKey(StrictSerializer):
    """A key to be made."""

    name = StrictCharField(max_length=200)
    scopes = StrictListField(child=StrictChoiceField(choices=SCOPES), min_length=1, max_length=20)
    owner = StrictBooleanField(default=False)
    expires_at = StrictDateTimeField(required=False, allow_null=True, default=None)


class ApiKeySerializer(serializers.Serializer[object]):
    """A key as it is listed; never its text."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES))
    owner = serializers.BooleanField()
    created_at = StrictDateTimeField()
    expires_at = StrictDateTimeField(allow_null=True)
    last_used_at = StrictDateTimeField(allow_null=True)
    revoked_at = StrictDateTimeField(allow_null=True)


class MadeApiKey(ApiKeySerializer):
    """A key just made, with its text; an idempotent replay leaves the text out."""

    key = serializers.CharField(required=False)


class Rotation(StrictSerializer):
    """How long the old secret keeps signing."""

    overlap_seconds = StrictIntegerField(min_value=0, max_value=7 * 24 * 3600, default=24 * 3600)


class SigningSecretSerializer(serializers.Serializer[object]):
    """A signing secret; its text only when it is made, and to owners on request.

    An idempotent replay of a rotation leaves the text out.
    """

    id = serializers.UUIDField()
    secret = serializers.CharField(required=False)
    created_at = StrictDateTimeField()
    expires_at = StrictDateTimeField(allow_null=True)


class TenantOfMe(serializers.Serializer[object]):
    """The tenant that a key works for."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    unlimited = serializers.BooleanField()
    idempotency_required = serializers.BooleanField()
    default_jitter_seconds = serializers.FloatField(
        help_text="The jitter of new recurring tasks that say none."
    )
    version = serializers.IntegerField(help_text="Of the settings; for If-Match.")


class TenantSettings(StrictSerializer):
    """Settings of a tenant to be changed."""

    default_jitter_seconds = StrictNumberField(
        required=False,
        min_value=0,
        max_value=MAX_JITTER_SECONDS,
        help_text="The jitter of recurring tasks made from now on that say none.",
    )
    idempotency_required = StrictBooleanField(
        required=False, help_text="Whether every change needs an Idempotency-Key."
    )
    idempotency_seconds = StrictIntegerField(
        required=False,
        min_value=MIN_IDEMPOTENCY_SECONDS,
        max_value=MAX_IDEMPOTENCY_SECONDS,
        help_text="How long answers to calls made from now on are kept for their repeats.",
    )


class KeyOfMe(serializers.Serializer[object]):
    """The key that asked."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    owner = serializers.BooleanField()


class LimitsOfMe(serializers.Serializer[object]):
    """The limits of one call, and how long its answer is kept."""

    payload_bytes = serializers.IntegerField()
    idempotency_seconds = serializers.IntegerField()
    calls_per_second = serializers.IntegerField(
        allow_null=True, help_text="Calls that this key may make; null: as many as it likes."
    )


class Me(serializers.Serializer[object]):
    """The calling key, its tenant and its rights."""

    tenant = TenantOfMe()
    api_key = KeyOfMe()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES))
    limits = LimitsOfMe()
