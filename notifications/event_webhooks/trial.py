"""Sends one test event to the receiver of a subscription, and returns the receiver's answer.

The test is no event of the feed: the place of the subscription, its failures and its state stay
as they are, so that a paused subscription can be tried before it is resumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from events import audit
from executions.loop.clocks import database_now
from notifications.event_webhooks.sending import signing_keys_of
from notifications.event_webhooks.urls import parse_receiver_url, url_of
from notifications.limits import count_event_test
from notifications.services.event_subscriptions import get_subscription
from notifications.transports.event_webhook import Parcel, send_parcels
from shared.actor import Actor
from shared.addresses import UrlError
from shared.encryption import DecryptionFailed
from shared.ids import new_id
from shared.instants import format_instant
from tenants.suspension import require_active

#: The type of a test event; no event of the feed has it.
TEST_TYPE = "test"


@dataclass(frozen=True, slots=True)
class EventTrial:
    """Whether the receiver took the test event; ``status`` is its answer's, None without one."""

    taken: bool
    status: int | None
    error: str


def send_test_event(
    tenant_id: UUID, subscription_id: UUID, *, actor: Actor, limited: bool = True
) -> EventTrial:
    """Send a test event now, outside of any transaction, and return the real result.

    Raise NotFound, TenantSuspended, and where members and programs ask (``limited``)
    TooManyMessages, Unavailable.
    """
    subscription = get_subscription(tenant_id, subscription_id)
    require_active(tenant_id)
    if limited:
        count_event_test(subscription_id)
    with transaction.atomic():
        facts = {"origin": subscription.origin}
        name = "event_subscription.tested"
        audit.record(tenant_id, actor, name, "event_subscription", subscription_id, facts)
    try:
        url = parse_receiver_url(url_of(subscription))
        keys = signing_keys_of(tenant_id)
    except UrlError as error:
        return EventTrial(False, None, error.message)
    except DecryptionFailed:
        return EventTrial(False, None, "The URL or a signing secret cannot be opened.")
    document = _document(subscription_id)
    [receipt] = send_parcels([Parcel(subscription_id, tenant_id, url, keys, [document])])
    return EventTrial(receipt.taken == 1, receipt.status, receipt.error)


def _document(subscription_id: UUID) -> dict[str, object]:
    return {
        "id": str(new_id()),
        "type": TEST_TYPE,
        "at": format_instant(database_now()),
        "subject_id": str(subscription_id),
        "task_id": None,
        "data": None,
    }
