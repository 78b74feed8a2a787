"""Sends owed deliveries: claim one, send it outside of any transaction, record the result.

The Celery task of the system worker calls it, and the recorder ``wake_due_deliveries``. Every
retry is a row, so neither a lost Celery message nor an unreachable mail server loses one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from uuid import UUID

import redis
from django.db import transaction
from django.db.models import Q

from events import audit
from executions.loop.clocks import database_now
from notifications.broker import wake_sender
from notifications.choices import Channel, DeliveryStatus, Suppression
from notifications.claims import (
    Claim,
    claim_delivery,
    claimable,
    failed,
    finish,
    in_turn,
    note_reached,
    sent,
)
from notifications.layout import mail_of, push_of
from notifications.message_content import Content, compose, compose_bundle
from notifications.models import Alert, Delivery, PushSubscription
from notifications.recipients import Recipient, kept_back, recipient_of
from notifications.sender_turns import one_of_each_channel, turn_of, wake_next
from notifications.services import channel_sending
from notifications.services.channel_sending import send_to_channel
from notifications.services.push_subscriptions import open_auth, open_endpoint, seal_endpoints
from notifications.transports.email import send_email
from notifications.transports.errors import TransportError
from notifications.transports.push import PushMessage, SubscriptionGone, send_push
from shared.actor import SYSTEM
from shared.conf import conf
from shared.encryption import DecryptionFailed

log = logging.getLogger(__name__)

#: A wake-up that was published is not repeated for this long; its message may be queued.
_WOKEN_FOR = timedelta(seconds=30)
_WAKE_AT_ONCE = 200
_SHORTEST_SLEEP_SECONDS = 0.2
_LONGEST_SLEEP_SECONDS = 5.0
_PRUNED_AT_ONCE = 500
_PRUNE_EVERY_SECONDS = 3600.0
_next_prune = 0.0


def send_delivery(delivery_id: UUID) -> str | None:
    """Send a delivery that is due; return its new status, or None without a claim on it."""
    with turn_of(delivery_id) as turn:
        status = _send(delivery_id) if turn.granted else None
    if status is not None and turn.channel_id is not None:
        wake_next(turn.channel_id)
    return status


def _send(delivery_id: UUID) -> str | None:
    claim = claim_delivery(delivery_id)
    if claim is None:
        return None
    member = claim.first.membership_id
    recipient = None if member is None else recipient_of(member)
    wanted = _still_wanted(claim, recipient)
    if not wanted:
        return DeliveryStatus.SUPPRESSED
    claim = claim.only(wanted)
    try:
        note = send_to_channel(claim) if recipient is None else _send_to_member(claim, recipient)
    except TransportError as error:
        status = failed(claim, error)
        log.warning(
            "delivery.failed",
            extra={"delivery_id": str(delivery_id), "status": status, "reason": error.message},
        )
        return status
    sent(claim, note)
    return DeliveryStatus.SENT


def wake_due_deliveries() -> float:
    """Wake the senders for due deliveries; return the seconds until the next pass.

    While the broker cannot be reached, the rows stay due and are only late.
    """
    _prune_now_and_then()
    now = database_now()
    due = Delivery.objects.filter(claimable(now)).filter(
        Q(woken_at__isnull=True) | Q(woken_at__lte=now - _WOKEN_FOR)
    )
    found = due.order_by("next_attempt_at", "id").values_list("id", "alert_channel_id")
    rows = list(found[:_WAKE_AT_ONCE])
    ids = [delivery_id for delivery_id, _ in rows]
    try:
        for delivery_id in one_of_each_channel(rows):
            wake_sender(delivery_id)
    except redis.ConnectionError as error:
        log.warning("deliveries.held_back", extra={"reason": str(error), "count": len(ids)})
        return _LONGEST_SLEEP_SECONDS
    Delivery.objects.filter(pk__in=ids).update(woken_at=now)
    return _SHORTEST_SLEEP_SECONDS if len(ids) == _WAKE_AT_ONCE else _seconds_until_due()


def prune_alerts() -> int:
    """Delete some alerts that closed before the retention, with their log; return how many."""
    oldest = database_now() - timedelta(days=conf().retention_days)
    old = Alert.objects.filter(closed_at__lt=oldest).order_by("closed_at")
    ids = list(old.values_list("id", flat=True)[:_PRUNED_AT_ONCE])
    Alert.objects.filter(pk__in=ids).delete()
    return len(ids)


def push_to_browser(subscription: PushSubscription, message: PushMessage) -> None:
    """Send one push and note the result; delete the subscription of a browser that ended it.

    Raise TransportError.
    """
    now = database_now()
    row = PushSubscription.objects.filter(pk=subscription.pk)
    try:
        auth = open_auth(subscription)
        send_push(open_endpoint(subscription), subscription.p256dh, auth, message)
    except DecryptionFailed as error:
        raise TransportError(error.message, permanent=True) from error
    except SubscriptionGone:
        _forget(subscription)
        raise
    except TransportError as error:
        row.update(failed_at=now, error=error.message[:300])
        raise
    row.update(last_used_at=now, failed_at=None, error="")


def _still_wanted(claim: Claim, recipient: Recipient | None) -> list[Delivery]:
    """Return the deliveries that are still wanted; record the others as suppressed."""
    now = database_now()
    wanted = []
    for delivery in claim.deliveries:
        if recipient is not None:
            reason = kept_back(recipient, delivery.channel, delivery.alert, now)
        elif delivery.alert_channel_id is not None:
            reason = channel_sending.kept_back(delivery)
        else:
            reason = Suppression.UNSUBSCRIBED
        if reason:
            finish(claim, [delivery], DeliveryStatus.SUPPRESSED, reason=reason)
        else:
            wanted.append(delivery)
    return wanted


def _send_to_member(claim: Claim, recipient: Recipient) -> str:
    send = _SENDERS[Channel(claim.first.channel)]
    return send(claim, recipient, _content(claim, recipient))


def _content(claim: Claim, recipient: Recipient) -> Content:
    alerts = [delivery.alert for delivery in claim.deliveries]
    tenant = alerts[0].tenant.name
    if len(alerts) == 1:
        return compose(alerts[0], recipient, tenant)
    return compose_bundle(alerts, recipient, tenant)


def _send_email(claim: Claim, recipient: Recipient, content: Content) -> str:
    thread = claim.first.alert_id
    send_email(mail_of(content, recipient.address, claim.message_id, thread))
    return ""


def _send_push(claim: Claim, recipient: Recipient, content: Content) -> str:
    """Send to every browser that does not have it yet; a retry covers only the missing ones."""
    message = push_of(content, claim.first.alert)
    reached = list(claim.first.reached)
    temporary: TransportError | None = None
    refused: TransportError | None = None
    subscriptions = PushSubscription.objects.filter(membership=recipient.membership)
    for subscription in subscriptions.exclude(pk__in=reached).order_by("id"):
        note_reached(claim, reached)
        try:
            push_to_browser(subscription, message)
        except TransportError as error:
            if error.permanent:
                refused = error
            else:
                temporary = error
            continue
        reached.append(subscription.pk)
    note_reached(claim, reached)
    if temporary is not None:
        raise temporary
    if not reached:
        raise refused or TransportError("No browser is still subscribed.", permanent=True)
    return refused.message if refused else ""


_SENDERS: Mapping[Channel, Callable[[Claim, Recipient, Content], str]] = {
    Channel.EMAIL: _send_email,
    Channel.PUSH: _send_push,
}


def _forget(subscription: PushSubscription) -> None:
    with transaction.atomic():
        tenant_id = subscription.membership.tenant_id
        PushSubscription.objects.filter(pk=subscription.pk).delete()
        audit.record(
            tenant_id,
            SYSTEM,
            "push_subscription.removed",
            "push_subscription",
            subscription.pk,
            before={"reason": "the browser has unsubscribed"},
        )


def _prune_now_and_then() -> None:
    global _next_prune
    if time.monotonic() < _next_prune:
        return
    sealed = seal_endpoints()
    # While there is more of either, the next call does it.
    if prune_alerts() < _PRUNED_AT_ONCE and not sealed:
        _next_prune = time.monotonic() + _PRUNE_EVERY_SECONDS


def _seconds_until_due() -> float:
    waiting = Delivery.objects.filter(
        in_turn(), status=DeliveryStatus.PENDING, woken_at__isnull=True
    )
    at = waiting.order_by("next_attempt_at").values_list("next_attempt_at", flat=True).first()
    if at is None:
        return _LONGEST_SLEEP_SECONDS
    wait = (at - database_now()).total_seconds()
    return min(_LONGEST_SLEEP_SECONDS, max(_SHORTEST_SLEEP_SECONDS, wait))
