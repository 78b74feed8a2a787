"""Answers of the calls about the built-in test receiver; they only describe."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.protocol.serializers import StrictDateTimeField

Answer = serializers.Serializer[Any]


class ReceiverSerializer(Answer):
    """The tenant's own address at the built-in test receiver."""

    url = serializers.CharField(
        help_text="Webhooks below it are answered as the rest of the path says, and kept for you."
    )


class ReceivedRequest(Answer):
    """A request that arrived below the tenant's address; credentials in it are hidden."""

    method = serializers.CharField()
    path = serializers.CharField(help_text="Below your address.")
    query = serializers.DictField(child=serializers.CharField())
    headers = serializers.DictField(child=serializers.CharField())
    body = serializers.CharField(help_text="The first 64 KiB.")
    body_encoding = serializers.ChoiceField(["text", "base64"])
    received_at = StrictDateTimeField()
    status = serializers.IntegerField(
        allow_null=True, help_text="What was answered; null for a request that gets no answer."
    )


class ReceivedRequests(Answer):
    """The requests that the receiver keeps for the tenant, newest first: at most 1,000 or 1 MiB."""

    requests = ReceivedRequest(many=True)
    kept = serializers.IntegerField(help_text="How many are kept; ignores the filter.")
    total = serializers.IntegerField(help_text="How many arrived since the receiver has kept some.")
