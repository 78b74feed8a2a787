"""Claims on deliveries: which sender may send one now, and its result.

A claim is taken by compare-and-set and expires, so a sender may die at any point. Before sending,
the message is only late. After sending, the repeat carries the same Message-ID.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from executions.ledger import totals
from executions.loop.clocks import database_now
from notifications.choices import UNFINISHED, DeliveryStatus
from notifications.models import AlertChannel, Delivery
from notifications.transports.errors import TransportError
from shared.conf import conf
from shared.ids import new_id

#: Longer than a transport may take: each of its steps ends after 10 s.
CLAIM_FOR = timedelta(seconds=120)
#: A message that could not be sent for this long ends as FAILED.
GIVE_UP_AFTER = timedelta(hours=24)
#: How long messages to a member may wait before the first try: gathered for a day, and then for the
#: end of quiet hours.
LONGEST_GATHERED = timedelta(hours=48)
_FIRST_RETRY_SECONDS = 5.0
_LONGEST_RETRY_SECONDS = 900.0
_LARGEST_BUNDLE = 500
#: A message that a channel did not take is tried behind the others that wait for the channel.
_BEHIND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Claim:
    """Deliveries to one receiver by one channel that this sender alone may send, as one message."""

    id: UUID
    deliveries: list[Delivery]
    message_id: str

    @property
    def first(self) -> Delivery:
        """Return the oldest of them, which names the message."""
        return self.deliveries[0]

    def only(self, deliveries: list[Delivery]) -> Claim:
        """Return the claim on fewer deliveries."""
        return replace(self, deliveries=deliveries)


def claimable(now: datetime) -> Q:
    """Return the condition of claimable deliveries: due, or with a claim that has expired."""
    due = Q(status=DeliveryStatus.PENDING, next_attempt_at__lte=now)
    expired = Q(status=DeliveryStatus.SENDING, claimed_until__lte=now)
    return (due | expired) & in_turn()


def in_turn() -> Q:
    """Return the condition of deliveries that wait for no other one.

    The notice of an alert's end waits for earlier ones to the same receiver.
    """
    earlier = Delivery.objects.filter(
        Q(membership=OuterRef("membership")) | Q(alert_channel=OuterRef("alert_channel")),
        alert=OuterRef("alert"),
        channel=OuterRef("channel"),
        closing=False,
        status__in=UNFINISHED,
    )
    return Q(closing=False) | Q(~Exists(earlier))


def counted_as(channel: str, status: str) -> str:
    """Return the series of metrics that counts a delivery that has ended so."""
    return f"deliveries/{channel}/{status.lower()}"


def claim_delivery(delivery_id: UUID) -> Claim | None:
    """Claim a delivery and the others of its bundle; None when it is not due or is claimed.

    Also None while another message to its shared channel is under way.
    """
    with transaction.atomic(durable=True):
        now = database_now()
        asked = Delivery.objects.filter(pk=delivery_id).first()
        if asked is None or _is_busy(asked.alert_channel_id, now):
            return None
        rows = list(_bundle_of(asked, now).order_by("id")[:_LARGEST_BUNDLE])
        if delivery_id not in {row.pk for row in rows}:
            return None
        known = [row.message_id for row in rows if row.message_id]
        message_id = known[0] if known else _message_id(rows[0].pk)
        claim_id = new_id()
        Delivery.objects.filter(pk__in=[row.pk for row in rows]).update(
            status=DeliveryStatus.SENDING,
            claim_id=claim_id,
            claimed_until=now + CLAIM_FOR,
            attempt_count=F("attempt_count") + 1,
            message_id=message_id,
        )
    # Read after the commit, with the counts of now.
    mine = Delivery.objects.filter(claim_id=claim_id).select_related(
        "alert__tenant", "alert_channel"
    )
    return Claim(claim_id, list(mine.order_by("id")), message_id)


def finish(
    claim: Claim, deliveries: Collection[Delivery], status: DeliveryStatus, **parts: Any
) -> None:
    """Record the end of deliveries that are still this sender's."""
    _finish(claim, [(delivery, parts) for delivery in deliveries], status)


def sent(claim: Claim, note: str) -> None:
    """Record that the message was sent, and the count that it showed of each alert."""
    parts = {"sent_at": database_now(), "error": note[:500]}
    told = [(one, {**parts, "count_shown": one.alert.count}) for one in claim.deliveries]
    _finish(claim, told, DeliveryStatus.SENT)


def failed(claim: Claim, error: TransportError) -> DeliveryStatus:
    """Record a failure: schedule a retry with growing waits, or give up for good."""
    now = database_now()
    first = claim.first
    gathered = first.bundled and first.membership_id is not None
    longest = GIVE_UP_AFTER + (LONGEST_GATHERED if gathered else timedelta())
    too_old = now - first.created_at >= longest
    if error.permanent or too_old:
        given_up = f"Given up after {longest // timedelta(hours=1)} hours."
        text = f"{given_up} {error.message}" if too_old else error.message
        finish(claim, claim.deliveries, DeliveryStatus.FAILED, error=text[:500])
        return DeliveryStatus.FAILED
    at = now + timedelta(seconds=_wait(_failures_of(first), error.retry_after))
    if first.alert_channel_id is not None:
        _put_off(first.alert_channel_id, at)
        at += _BEHIND
    finish(
        claim,
        claim.deliveries,
        DeliveryStatus.PENDING,
        next_attempt_at=at,
        woken_at=None,
        error=error.message[:500],
    )
    return DeliveryStatus.PENDING


def _finish(
    claim: Claim, ends: Sequence[tuple[Delivery, Mapping[str, Any]]], status: DeliveryStatus
) -> None:
    # Together: what a dying sender had not yet recorded of a bundle would be sent again.
    with transaction.atomic(durable=True):
        ended: Counter[str] = Counter()
        for delivery, parts in ends:
            moved = _mine(claim, delivery).update(status=status, claimed_until=None, **parts)
            ended[counted_as(delivery.channel, status)] += moved
        if status not in UNFINISHED:
            totals.add(ended)


def note_reached(claim: Claim, reached: list[UUID]) -> None:
    """Remember which browsers have the message, and keep the claim for the next one."""
    until = database_now() + CLAIM_FOR
    for delivery in claim.deliveries:
        _mine(claim, delivery).update(reached=reached, claimed_until=until)


def _is_busy(channel_id: UUID | None, now: datetime) -> bool:
    """Return whether a message to the shared channel is under way; lock the channel's row."""
    if channel_id is None:
        return False
    # The race: two senders that would each find none under way.
    list(AlertChannel.objects.select_for_update(no_key=True).filter(pk=channel_id).only("pk"))
    under_way = Delivery.objects.filter(alert_channel_id=channel_id, claimed_until__gt=now)
    return under_way.filter(status=DeliveryStatus.SENDING).exists()


def _failures_of(delivery: Delivery) -> int:
    """Return how often to double the wait: for a channel that fails, as all that is owed to it."""
    channel = delivery.alert_channel
    if channel is None or channel.failed_at is None:
        return delivery.attempt_count
    owed = Delivery.objects.filter(alert_channel=channel, status__in=UNFINISHED)
    most: int | None = owed.aggregate(most=Max("attempt_count"))["most"]
    return most or delivery.attempt_count


def _put_off(channel_id: UUID, at: datetime) -> None:
    """Let what is owed to a channel wait: each message would keep a sender until its time-out."""
    waiting = Delivery.objects.filter(
        alert_channel_id=channel_id, status=DeliveryStatus.PENDING, next_attempt_at__lt=at
    )
    with transaction.atomic(durable=True):
        # Rows that a recorder marks at this moment are left to it: waiting for them could deadlock.
        free = waiting.select_for_update(skip_locked=True, no_key=True)
        rows = list(free.values_list("pk", flat=True))
        Delivery.objects.filter(pk__in=rows).update(next_attempt_at=at, woken_at=None)


def _wait(attempt: int, retry_after: float | None) -> float:
    longest = min(_LONGEST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2.0 ** min(attempt - 1, 20))
    spread = longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, no secret
    return max(spread, min(retry_after or 0.0, _LONGEST_RETRY_SECONDS))


def _bundle_of(asked: Delivery, now: datetime) -> QuerySet[Delivery]:
    """Return the delivery, or all of its bundle, locked; other senders skip locked rows."""
    due = Delivery.objects.select_for_update(skip_locked=True, no_key=True).filter(claimable(now))
    if not asked.bundled:
        return due.filter(pk=asked.pk)
    same = ("membership_id", "alert_channel_id", "channel", "closing")
    return due.filter(bundled=True, **{name: getattr(asked, name) for name in same})


def _mine(claim: Claim, delivery: Delivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(pk=delivery.pk, claim_id=claim.id, status=DeliveryStatus.SENDING)


def _message_id(delivery_id: UUID) -> str:
    return f"<{delivery_id}@{urlsplit(conf().public_url).hostname or 'localhost'}>"
