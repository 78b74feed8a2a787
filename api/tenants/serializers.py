"""Bodies and answers of the calls about a tenant's keys and secrets."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import (
    NameField,
    StrictBooleanField,
    StrictCharField,
    StrictChoiceField,
    StrictDateTimeField,
    StrictIntegerField,
    StrictListField,
    StrictNumberField,
    StrictSerializer,
)
from shared.networks import MOST_NETWORKS
from tenants.choices import SCOPES
from tenants.models.tenant import (
    MAX_IDEMPOTENCY_SECONDS,
    MAX_JITTER_SECONDS,
    MIN_IDEMPOTENCY_SECONDS,
)
from tenants.quotas.limits import BOUNDS
from tenants.services.api_keys import DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS

_ADDRESSES = "The addresses and networks (CIDR) that may use the key; none: every address."


class NetworkField(StrictCharField):
    """An address or a network; the service reads it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=50, **options)


class NewApiKey(StrictSerializer):
    """A key to be made."""

    name = NameField(max_length=200)
    scopes = StrictListField(child=StrictChoiceField(choices=SCOPES), min_length=1, max_length=20)
    owner = StrictBooleanField(default=False)
    sees_payloads = StrictBooleanField(
        default=True,
        help_text="Whether the key sees payloads, answers, results and logs. Keys with the scopes "
        "write, worker or admin always do.",
    )
    addresses = StrictListField(
        child=NetworkField(), default=list, max_length=MOST_NETWORKS, help_text=_ADDRESSES
    )
    expires_at = StrictDateTimeField(required=False, allow_null=True, default=None)


class ApiKeyChanges(StrictSerializer):
    """Fields of a key to be changed; others stay."""

    name = NameField(required=False, max_length=200)
    scopes = StrictListField(
        required=False, child=StrictChoiceField(choices=SCOPES), min_length=1, max_length=20
    )
    addresses = StrictListField(
        required=False, child=NetworkField(), max_length=MOST_NETWORKS, help_text=_ADDRESSES
    )
    expires_at = StrictDateTimeField(
        required=False, allow_null=True, help_text="null: the key does not expire."
    )


class ApiKeyRotation(StrictSerializer):
    """How long the old key stays valid, and when the new one ends."""

    overlap_seconds = StrictIntegerField(
        min_value=0, max_value=MAX_OVERLAP_SECONDS, default=DEFAULT_OVERLAP_SECONDS
    )
    expires_at = StrictDateTimeField(
        required=False, help_text="If left out, the end that the old key had."
    )


class ApiKeySerializer(serializers.Serializer[object]):
    """A key as it is listed; never its text."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES))
    owner = serializers.BooleanField()
    sees_payloads = serializers.BooleanField()
    addresses = serializers.ListField(child=serializers.CharField(), help_text=_ADDRESSES)
    created_at = StrictDateTimeField()
    expires_at = StrictDateTimeField(allow_null=True)
    last_used_at = StrictDateTimeField(allow_null=True)
    last_used_address = serializers.CharField(
        help_text="Where the last use came from; empty for a key that was not used."
    )
    revoked_at = StrictDateTimeField(allow_null=True)
    replaced_by = serializers.UUIDField(
        allow_null=True, help_text="The key that a rotation has made in place of this one."
    )


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
    second_factor_required = serializers.BooleanField(
        help_text="Whether members need a second factor."
    )
    provider_required = serializers.BooleanField(
        help_text="Whether members sign in by an OpenID provider only."
    )
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
    second_factor_required = StrictBooleanField(
        required=False,
        help_text="Whether members need a second factor to sign in; for keys of owners only.",
    )
    provider_required = StrictBooleanField(
        required=False,
        help_text="Whether members sign in by an OpenID provider only; for keys of owners only.",
    )


class KeyOfMe(serializers.Serializer[object]):
    """The key that asked."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    owner = serializers.BooleanField()
    sees_payloads = serializers.BooleanField(
        help_text="Whether it sees payloads, answers and logs."
    )


class TokenOfMe(serializers.Serializer[object]):
    """The token that asked."""

    issuer = serializers.CharField()
    subject = serializers.CharField()
    expires_at = StrictDateTimeField()


class LimitsOfMe(serializers.Serializer[object]):
    """The limits of one call, and how long its answer is kept."""

    payload_bytes = serializers.IntegerField()
    idempotency_seconds = serializers.IntegerField()
    calls_per_second = serializers.IntegerField(
        allow_null=True, help_text="Calls that this key may make; null: as many as it likes."
    )
    tier = serializers.CharField(help_text="The named set of quotas that the tenant has.")
    quotas = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        help_text="The limit of each quota in force; null: no limit.",
    )


class QuotaSerializer(serializers.Serializer[object]):
    """A quota of the tenant, with its use as it was counted last."""

    name = serializers.ChoiceField(choices=list(BOUNDS))
    limit = serializers.IntegerField(allow_null=True, help_text="Null: no limit.")
    used = serializers.IntegerField(
        allow_null=True,
        help_text="Of a rate: what the calls of the last seconds have used. Null: not known now; "
        "calls a second are counted for each key, and starts a second are not counted here.",
    )
    share = serializers.FloatField(
        allow_null=True, help_text="Of the limit; of a rate, of what may come at once."
    )
    near = serializers.BooleanField(help_text="Whether 80 % or more are used.")
    free_in_seconds = serializers.IntegerField(
        allow_null=True,
        help_text="Until nothing of a rate is used; null for what is stored, which stays until "
        "tasks are deleted.",
    )


class Quotas(serializers.Serializer[object]):
    """The quotas of the tenant."""

    tier = serializers.CharField()
    unlimited = serializers.BooleanField()
    quotas = QuotaSerializer(many=True)


class Me(serializers.Serializer[object]):
    """The calling key, its tenant and its rights."""

    tenant = TenantOfMe()
    api_key = KeyOfMe(allow_null=True, help_text="null for a caller with a token.")
    token = TokenOfMe(allow_null=True, help_text="null for a caller with an API key.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES))
    limits = LimitsOfMe()
