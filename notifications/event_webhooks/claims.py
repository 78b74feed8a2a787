"""Claims of event subscriptions: the states between "due" and "sent", each by compare-and-set.

A claim of 60 s covers the sending of some events, which happens outside of any transaction. What a
sender records counts only as long as it still holds its claim: a person who changes or redrives a
subscription takes it away.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from events import audit
from events.feed_places import FeedPlace
from executions.loop.clocks import database_now
from notifications.choices import SubscriptionPause, SubscriptionStatus
from notifications.models import EventSubscription
from shared.actor import SYSTEM
from shared.ids import new_id
from tenants.models import Tenant

CLAIM_FOR = timedelta(seconds=60)
#: A receiver that took nothing for this long is sent nothing until a person resumes it.
GIVE_UP_AFTER = timedelta(days=3)
#: Subscriptions that share one pass of a sender.
_AT_ONCE = 20
_FIRST_RETRY_SECONDS = 5.0
_LONGEST_RETRY_SECONDS = 900.0


def claim_due(*, failing: bool) -> list[EventSubscription]:
    """Claim subscriptions that were woken, those whose receiver has failed or the others.

    The one that was served longest ago comes first. Nothing is sent for a suspended tenant.
    """
    with transaction.atomic(durable=True):
        now = database_now()
        free = Q(claimed_until__isnull=True) | Q(claimed_until__lte=now)
        suspended = Tenant.objects.filter(suspended_at__isnull=False)
        locked = EventSubscription.objects.select_for_update(skip_locked=True, no_key=True)
        due = locked.exclude(tenant_id__in=suspended.values("pk")).filter(
            free,
            status=SubscriptionStatus.ACTIVE,
            woken_at__isnull=False,
            next_attempt_at__lte=now,
            failing_since__isnull=not failing,
        )
        keys = list(due.order_by("next_attempt_at", "id").values_list("pk", flat=True)[:_AT_ONCE])
        claim_id = new_id()
        EventSubscription.objects.filter(pk__in=keys).update(
            claim_id=claim_id, claimed_until=now + CLAIM_FOR, woken_at=None
        )
    mine = EventSubscription.objects.filter(claim_id=claim_id, pk__in=keys)
    return list(mine.order_by("next_attempt_at", "id"))


def place_of(subscription: EventSubscription) -> FeedPlace:
    """Return the subscription's place in the feed of its tenant."""
    return FeedPlace(
        subscription.xid, subscription.event_id, subscription.taken, subscription.read_at
    )


def columns_of(place: FeedPlace) -> dict[str, int | UUID | datetime]:
    """Return the columns that hold a place."""
    return {
        "xid": place.xid,
        "event_id": place.event_id,
        "taken": place.taken,
        "read_at": place.at,
    }


def note_taken(
    subscription: EventSubscription, place: FeedPlace, status: int | None, *, more: bool
) -> bool:
    """Record that everything up to a place was taken, with the last answer, if any.

    With ``more`` the next claim may take it at once. Return whether the claim still held.
    """
    parts: dict[str, object] = {"woken_at": Now()} if more else {}
    if status is not None:
        parts |= {"answered_at": Now(), "last_status": status, "last_error": ""}
    # Behind those that wait: receivers that always have more would keep them waiting for ever.
    parts |= {"failing_since": None, "attempt_count": 0, "next_attempt_at": Now()}
    return _end_claim(subscription, **columns_of(place), **parts)


def note_failed(
    subscription: EventSubscription,
    place: FeedPlace,
    error: str,
    *,
    status: int | None = None,
    retry_after: float | None = None,
    taken_before: bool = False,
) -> bool:
    """Record a failure at the event after a place: a later try, or a pause after three days.

    ``taken_before`` says that the receiver took an event in this pass, so that its failures begin
    anew. Return whether the claim still held.
    """
    now = database_now()
    since = now if taken_before else subscription.failing_since or now
    count = 1 if taken_before else subscription.attempt_count + 1
    parts: dict[str, object] = {
        **columns_of(place),
        "failing_since": since,
        "attempt_count": count,
        "last_error": error[:300],
        "last_status": status,
        "next_attempt_at": now + timedelta(seconds=_wait(count, retry_after)),
    }
    if status is not None:
        parts["answered_at"] = Now()
    if now - since >= GIVE_UP_AFTER:
        return pause_by_itself(subscription, SubscriptionPause.UNDELIVERABLE, **parts)
    return _end_claim(subscription, **parts)


def pause_by_itself(
    subscription: EventSubscription, reason: SubscriptionPause, **parts: object
) -> bool:
    """Pause a claimed subscription with its audit entry; return whether the claim still held."""
    with transaction.atomic(durable=True):
        moved = _end_claim(
            subscription,
            status=SubscriptionStatus.PAUSED,
            paused_reason=reason,
            version=F("version") + 1,
            updated_at=Now(),
            **parts,
        )
        if moved:
            audit.record(
                subscription.tenant_id,
                SYSTEM,
                "event_subscription.paused",
                "event_subscription",
                subscription.pk,
                after={"reason": str(reason), "origin": subscription.origin},
            )
    return moved


def _end_claim(subscription: EventSubscription, **parts: object) -> bool:
    ended = {"claim_id": None, "claimed_until": None, **parts}
    return bool(_mine(subscription).update(**ended))


def _mine(subscription: EventSubscription) -> QuerySet[EventSubscription]:
    return EventSubscription.objects.filter(
        pk=subscription.pk, claim_id=subscription.claim_id, status=SubscriptionStatus.ACTIVE
    )


def _wait(attempt: int, retry_after: float | None) -> float:
    longest = min(_LONGEST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2.0 ** min(attempt - 1, 20))
    spread = longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads retries, no secret
    return max(spread, min(retry_after or 0.0, _LONGEST_RETRY_SECONDS))
