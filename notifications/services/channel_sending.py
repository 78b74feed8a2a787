"""Sends what is owed to shared channels, and test messages that show the real answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from delivery.signing import parse_secret
from events import audit
from executions.loop.clocks import database_now
from notifications.channel_messages import document_of, text_of
from notifications.channel_notices import hears
from notifications.choices import ChannelKind, DeliveryStatus, Suppression
from notifications.claims import Claim
from notifications.limits import count_channel_test
from notifications.links import page
from notifications.models import AlertChannel, Delivery
from notifications.services.channels import get_channel, open_url
from notifications.transports.answers import Answer
from notifications.transports.chat import ChatMessage, send_chat
from notifications.transports.errors import TransportError
from notifications.transports.webhook import send_webhook
from shared.actor import Actor
from shared.encryption import DecryptionFailed
from shared.ids import new_id
from shared.instants import format_instant
from tenants.services.signing_secrets import active_signing_secrets
from tenants.signing import open_signing_secret
from tenants.suspension import is_suspended, require_active


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a test message: what the other side answered, or why there is no answer."""

    sent: bool
    status: int | None
    answer: str
    error: str


def kept_back(delivery: Delivery) -> str:
    """Return why a message to a channel is not sent now, or ""."""
    alert, channel = delivery.alert, delivery.alert_channel
    if is_suspended(alert.tenant_id):
        return Suppression.TENANT_SUSPENDED
    if alert.muted_until is not None and alert.muted_until > database_now():
        return Suppression.MUTED
    if channel is None or not (delivery.closing or hears(channel, alert)):
        return Suppression.UNSUBSCRIBED
    if channel.after_seconds and alert.acknowledged_at is not None and not delivery.closing:
        return Suppression.ACKNOWLEDGED
    if delivery.closing and delivery.notice_number > 1 and not _was_told(delivery):
        return Suppression.NOT_TOLD
    return ""


def _was_told(delivery: Delivery) -> bool:
    """Return whether an earlier notice of the alert has reached the channel."""
    earlier = Delivery.objects.filter(
        alert_id=delivery.alert_id, alert_channel_id=delivery.alert_channel_id, closing=False
    )
    return earlier.filter(status=DeliveryStatus.SENT).exists()


def send_to_channel(claim: Claim) -> str:
    """Send the message of a claim and note the result at the channel; raise TransportError."""
    delivery = claim.first
    channel = delivery.alert_channel
    assert channel is not None  # noqa: S101 - a constraint of the table
    if channel.kind == ChannelKind.CHAT:
        message: ChatMessage | dict[str, Any] = text_of(claim.deliveries)
    else:
        message = document_of(delivery)
    _hand_over(channel, message, str(delivery.pk))
    return ""


def send_channel_trial(
    tenant_id: UUID, channel_id: UUID, *, actor: Actor, limited: bool = True
) -> Trial:
    """Send a test message at once, outside of the delivery log, and return the real result.

    Raise NotFound, TenantSuspended, and where members and programs ask (``limited``)
    TooManyMessages, Unavailable.
    """
    channel = get_channel(tenant_id, channel_id)
    require_active(tenant_id)
    if limited:
        count_channel_test(channel_id)
    with transaction.atomic():
        facts = {"name": channel.name}
        audit.record(tenant_id, actor, "alert_channel.tested", "alert_channel", channel_id, facts)
    try:
        answer = _hand_over(channel, _test_message(channel), str(new_id()))
    except TransportError as error:
        found = error.answer
        status, text = (found.status, found.text) if found else (None, "")
        return Trial(False, status, text, error.message)
    return Trial(True, answer.status, answer.text, "")


def _hand_over(
    channel: AlertChannel, message: ChatMessage | dict[str, Any], message_id: str
) -> Answer:
    row = AlertChannel.objects.filter(pk=channel.pk)
    try:
        answer = _sent(channel, message, message_id)
    except TransportError as error:
        row.update(failed_at=database_now(), error=error.message[:500])
        raise
    row.update(last_sent_at=database_now(), failed_at=None, error="")
    return answer


def _sent(channel: AlertChannel, message: ChatMessage | dict[str, Any], message_id: str) -> Answer:
    try:
        url = open_url(channel)
        if isinstance(message, ChatMessage):
            return send_chat(url, message)
        secrets = _signing_secrets(channel.tenant_id)
    except DecryptionFailed as error:
        raise TransportError(error.message, permanent=True) from error
    timestamp = int(database_now().timestamp())
    return send_webhook(url, message, message_id=message_id, timestamp=timestamp, secrets=secrets)


def _signing_secrets(tenant_id: UUID) -> list[bytes]:
    sealed = active_signing_secrets([tenant_id]).get(tenant_id, [])
    return [parse_secret(open_signing_secret(one, tenant_id)) for one in sealed]


def _test_message(channel: AlertChannel) -> ChatMessage | dict[str, Any]:
    text = "This is a test message; no task has failed."
    if channel.kind == ChannelKind.CHAT:
        return ChatMessage("Punctual can reach this channel", f"{text}\n{page('/alerts')}", "test")
    return {
        "event": "test",
        "alert_id": None,
        "at": format_instant(database_now()),
        "tenant": {"id": str(channel.tenant_id), "name": channel.tenant.name},
        "url": page("/alerts"),
        "message": text,
    }
