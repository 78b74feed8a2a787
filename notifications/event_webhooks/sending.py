"""Sends the events of due subscriptions: claim, read, send, record; run by the system worker.

Each event is sent at least once. A sender that dies between an answer and its record lets another
send the same events again, with the same ids. An event is sent only after the receiver took the one
before; a failed one is tried again until the receiver takes it, or is given up and the subscription
paused. Nothing is skipped.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from uuid import UUID

from delivery.signing import parse_secret
from events.feed import FeedPage, read_page
from events.feed_places import FeedPlace
from notifications.broker import wake_event_sender
from notifications.choices import SubscriptionPause
from notifications.event_webhooks.claims import (
    claim_due,
    columns_of,
    note_failed,
    note_taken,
    pause_by_itself,
    place_of,
)
from notifications.event_webhooks.filters import wanted
from notifications.event_webhooks.urls import parse_receiver_url, url_of
from notifications.models import EventSubscription
from notifications.transports.event_webhook import Parcel, Receipt, send_parcels
from shared.addresses import UrlError
from shared.encryption import DecryptionFailed
from shared.exceptions import Expired
from tenants.services import active_signing_secrets
from tenants.signing import open_signing_secret

log = logging.getLogger(__name__)

#: Events of one subscription in one pass.
_PAGE = 100
_LONGEST_SECONDS = 20.0
_GONE = 410


class _Lane:
    """Lets one thread of this process send; ``asked`` tells it of jobs that came meanwhile."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = threading.Event()


#: By whether receivers have failed. Slow ones must not take every thread of the system worker.
_LANES = {failing: _Lane() for failing in (False, True)}


@dataclass(frozen=True, slots=True)
class _Work:
    """A claimed subscription with the page that follows its place, and what of it is sent."""

    subscription: EventSubscription
    page: FeedPage
    parcel: Parcel
    #: The place after each event that is sent.
    places: list[FeedPlace]


def send_due_events(*, failing: bool) -> int:
    """Send the events of subscriptions that were woken; return how many were taken.

    Takes the subscriptions whose receivers have failed before, or the others: one that does not
    answer keeps only others like it waiting. Where a thread of this process sends the same kind,
    return at once: that one takes what was woken meanwhile.
    """
    lane, begun, count = _LANES[failing], time.monotonic(), 0
    lane.asked.set()
    while lane.asked.is_set() and lane.lock.acquire(blocking=False):
        try:
            lane.asked.clear()
            while not _is_over(begun) and (claimed := claim_due(failing=failing)):
                count += _send(claimed)
        finally:
            lane.lock.release()
        if _is_over(begun):
            # Another job continues, so that a system worker that is to end need not wait.
            wake_event_sender(failing=failing)
            break
    return count


def _is_over(begun: float) -> bool:
    return time.monotonic() - begun > _LONGEST_SECONDS


def _send(claimed: list[EventSubscription]) -> int:
    works = [work for one in claimed if (work := _prepared(one)) is not None]
    receipts = send_parcels([work.parcel for work in works])
    for work, receipt in zip(works, receipts, strict=True):
        _record(work, receipt)
    return sum(receipt.taken for receipt in receipts)


def _prepared(subscription: EventSubscription) -> _Work | None:
    """Return what to send next; None where the subscription had to be paused."""
    try:
        url = parse_receiver_url(url_of(subscription))
        page = read_page(
            subscription.tenant_id,
            place_of(subscription),
            types=subscription.types,
            limit=_PAGE,
        )
        secrets = signing_keys_of(subscription.tenant_id)
    except UrlError as error:
        _pause(subscription, SubscriptionPause.URL_FORBIDDEN, error.message)
    except DecryptionFailed:
        _pause(subscription, SubscriptionPause.UNREADABLE, "The URL or a secret cannot be opened.")
    except Expired as error:
        _pause(subscription, SubscriptionPause.CURSOR_EXPIRED, error.message)
    else:
        passing = wanted(
            subscription.tenant_id, subscription.filter, [event for event, _ in page.events]
        )
        chosen = [pair for pair, passes in zip(page.events, passing, strict=True) if passes]
        parcel = Parcel(
            subscription.pk,
            subscription.tenant_id,
            url,
            secrets,
            [event.document() for event, _ in chosen],
        )
        return _Work(subscription, page, parcel, [place for _, place in chosen])
    return None


def _record(work: _Work, receipt: Receipt) -> None:
    subscription, taken = work.subscription, receipt.taken
    place = work.places[taken - 1] if taken else place_of(subscription)
    if receipt.status == _GONE:
        _pause(subscription, SubscriptionPause.GONE, receipt.error, place=place, status=_GONE)
    elif receipt.error:
        note_failed(
            subscription,
            place,
            receipt.error,
            status=receipt.status,
            retry_after=receipt.retry_after,
            taken_before=taken > 0,
        )
        log.warning(
            "event_webhook.failed",
            extra={"subscription_id": str(subscription.pk), "reason": receipt.error},
        )
    else:
        cut = taken < len(work.places)
        note_taken(
            subscription,
            place if cut else work.page.next,
            receipt.status,
            more=cut or work.page.has_more,
        )


def _pause(
    subscription: EventSubscription,
    reason: SubscriptionPause,
    error: str,
    *,
    place: FeedPlace | None = None,
    status: int | None = None,
) -> None:
    moved = columns_of(place) if place is not None else {}
    pause_by_itself(subscription, reason, last_error=error[:300], last_status=status, **moved)
    log.warning(
        "event_webhook.paused",
        extra={"subscription_id": str(subscription.pk), "reason": str(reason)},
    )


def signing_keys_of(tenant_id: UUID) -> list[bytes]:
    """Return the keys that sign a tenant's webhooks; raise DecryptionFailed."""
    sealed = active_signing_secrets([tenant_id]).get(tenant_id, [])
    return [parse_secret(open_signing_secret(one, tenant_id)) for one in sealed]
