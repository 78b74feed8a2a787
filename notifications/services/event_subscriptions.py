"""Services of event subscriptions: create, change, resume, redrive and remove them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from events import audit, feed
from events.feed_places import FeedPlace, place_at_the_end
from executions.loop.clocks import database_now
from notifications.choices import SubscriptionPause, SubscriptionStatus
from notifications.event_webhooks.claims import columns_of, place_of
from notifications.event_webhooks.urls import parse_receiver_url, sealed_url
from notifications.models import EventSubscription
from shared.actor import Actor
from shared.addresses import UrlError, written_origin
from shared.exceptions import Conflict, Expired, FieldError, InvalidInput, NotFound, VersionMismatch
from shared.ids import new_id
from shared.sql import rows
from tasks.models import Task
from tenants.models import Tenant

MOST_PER_TENANT = 20
#: Of a filter: tasks, labels, and characters of a label's value.
MOST_TASKS, MOST_LABELS, LABEL_LENGTH = 100, 10, 200
_SHOWN_IN_AUDIT = ("origin", "types", "filter", "status")


def list_subscriptions(tenant_id: UUID) -> QuerySet[EventSubscription]:
    """Return the tenant's subscriptions."""
    return EventSubscription.objects.filter(tenant_id=tenant_id)


def get_subscription(
    tenant_id: UUID, subscription_id: UUID, *, lock: bool = False
) -> EventSubscription:
    """Return a subscription of the tenant, locked for a change if asked; raise NotFound."""
    found = list_subscriptions(tenant_id).filter(pk=subscription_id)
    subscription = (found.select_for_update(no_key=True) if lock else found).first()
    if subscription is None:
        raise NotFound("There is no such event subscription.")
    return subscription


@transaction.atomic
def create_subscription(
    tenant_id: UUID,
    *,
    url: str,
    types: Sequence[str],
    filter: Mapping[str, Any] | None = None,
    actor: Actor,
) -> EventSubscription:
    """Add a subscription, which begins with events from now on.

    Raise InvalidInput, or Conflict ``too_many_subscriptions``.
    """
    _check_url(url)
    # The race: two first calls would both add the last one.
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
    if list_subscriptions(tenant_id).count() >= MOST_PER_TENANT:
        message = f"A tenant has at most {MOST_PER_TENANT} event subscriptions."
        raise Conflict(message, code="too_many_subscriptions")
    chosen = dict(filter or {})
    _check_tasks(tenant_id, chosen)
    made = EventSubscription(
        id=new_id(),
        tenant_id=tenant_id,
        origin=written_origin(url),
        types=list(dict.fromkeys(types)),
        filter=chosen,
        **_columns_of_now(),
    )
    made.sealed_url = sealed_url(made, url)
    made.save(force_insert=True)
    made.refresh_from_db()
    _record(made, actor, "created", after=_facts(made))
    return made


@transaction.atomic
def change_subscription(
    tenant_id: UUID,
    subscription_id: UUID,
    changes: Mapping[str, Any],
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> EventSubscription:
    """Change the URL, the types, the filter or the status; fields left out stay.

    Of what a sender is sending now, the receiver may get events again. Raise NotFound,
    VersionMismatch, InvalidInput.
    """
    subscription = get_subscription(tenant_id, subscription_id, lock=True)
    if expected_version not in (None, subscription.version):
        raise VersionMismatch
    before = _facts(subscription)
    if "url" in changes:
        _check_url(changes["url"])
        subscription.origin = written_origin(changes["url"])
        subscription.sealed_url = sealed_url(subscription, changes["url"])
    if "filter" in changes:
        _check_tasks(tenant_id, changes["filter"])
        subscription.filter = dict(changes["filter"])
    if "types" in changes:
        subscription.types = list(dict.fromkeys(changes["types"]))
    if changes.get("status", subscription.status) != subscription.status:
        _set_status(subscription, changes["status"])
    _save(subscription)
    after = {**_facts(subscription), **({"url_changed": True} if "url" in changes else {})}
    _record(subscription, actor, "updated", before=before, after=after)
    return subscription


@transaction.atomic
def redrive_subscription(
    tenant_id: UUID,
    subscription_id: UUID,
    *,
    after: str | None,
    since: datetime | None,
    actor: Actor,
) -> EventSubscription:
    """Send the events from a cursor or a time on, again where they were sent, and resume.

    Raise NotFound, InvalidInput without one of both and for a time to come, Expired for a cursor
    that is kept no longer.
    """
    if (after is None) == (since is None):
        message = "Give either after or since."
        raise InvalidInput([FieldError("#/after", "required", message)], message)
    if since is not None and since > database_now():
        message = "This time is yet to come, and the events before it would never be sent."
        raise InvalidInput([FieldError("#/since", "in_the_future", message)], message)
    try:
        place = feed.start(tenant_id, after=after, since=since)
    except InvalidInput as error:
        found = [FieldError("#/after", one.code, one.message) for one in error.errors]
        raise InvalidInput(found, error.message) from error
    feed.read_page(tenant_id, place, limit=1)
    subscription = get_subscription(tenant_id, subscription_id, lock=True)
    before = {"after": _cursor(subscription)}
    _move(subscription, place)
    _set_status(subscription, SubscriptionStatus.ACTIVE)
    _save(subscription)
    _record(subscription, actor, "redriven", before=before, after={"after": _cursor(subscription)})
    return subscription


@transaction.atomic
def remove_subscription(tenant_id: UUID, subscription_id: UUID, *, actor: Actor) -> None:
    """Remove a subscription: no event is sent that is not under way; raise NotFound."""
    subscription = get_subscription(tenant_id, subscription_id, lock=True)
    before = _facts(subscription)
    EventSubscription.objects.filter(pk=subscription.pk).delete()
    _record(subscription, actor, "removed", before=before)


def present_subscription(subscription: EventSubscription) -> dict[str, Any]:
    """Return the subscription as answers have it, with how far it lags."""
    expired, waits_since = False, None
    try:
        types = subscription.types
        page = feed.read_page(subscription.tenant_id, place_of(subscription), types=types, limit=1)
        waits_since = page.events[0][0].at if page.events else None
    except Expired:
        expired = True
    return {
        "id": subscription.id,
        "origin": subscription.origin,
        "types": subscription.types,
        "filter": subscription.filter,
        "status": subscription.status,
        "paused_reason": subscription.paused_reason or None,
        "after": None if expired else _cursor(subscription),
        "waiting_since": waits_since,
        "failing_since": subscription.failing_since,
        "attempt_count": subscription.attempt_count,
        "next_attempt_at": subscription.next_attempt_at if subscription.failing_since else None,
        "answered_at": subscription.answered_at,
        "last_status": subscription.last_status,
        "last_error": subscription.last_error or None,
        "version": subscription.version,
        "created_at": subscription.created_at,
        "updated_at": subscription.updated_at,
    }


def _columns_of_now() -> dict[str, Any]:
    [(now, horizon)] = rows("event_feed/end")
    return columns_of(place_at_the_end(horizon, now))


def _set_status(subscription: EventSubscription, status: str) -> None:
    subscription.status = status
    is_active = status == SubscriptionStatus.ACTIVE
    subscription.paused_reason = "" if is_active else SubscriptionPause.REQUESTED
    subscription.attempt_count, subscription.failing_since = 0, None
    subscription.woken_at = None
    subscription.next_attempt_at = database_now()


def _move(subscription: EventSubscription, place: FeedPlace) -> None:
    for name, value in columns_of(place).items():
        setattr(subscription, name, value)


def _save(subscription: EventSubscription) -> None:
    # Takes the claim of a sender away: what it records afterwards does not count.
    subscription.claim_id = subscription.claimed_until = None
    subscription.version += 1
    subscription.save()
    list_subscriptions(subscription.tenant_id).filter(pk=subscription.pk).update(updated_at=Now())
    subscription.refresh_from_db()


def _check_url(url: str) -> None:
    try:
        parse_receiver_url(url)
    except UrlError as error:
        found = FieldError("#/url", error.code, error.message)
        raise InvalidInput([found], error.message) from error


def _check_tasks(tenant_id: UUID, chosen: Mapping[str, Any]) -> None:
    asked = {UUID(one) for one in chosen.get("task_ids", ())}
    if not asked:
        return
    known = Task.objects.filter(tenant_id=tenant_id, pk__in=asked, deleted_at__isnull=True)
    if known.count() < len(asked):
        message = "At least one of these tasks does not exist."
        raise InvalidInput([FieldError("#/filter/task_ids", "unknown_task", message)], message)


def _cursor(subscription: EventSubscription) -> str:
    return feed.cursor(place_of(subscription), subscription.tenant_id)


def _facts(subscription: EventSubscription) -> dict[str, Any]:
    return {name: getattr(subscription, name) for name in _SHOWN_IN_AUDIT}


def _record(subscription: EventSubscription, actor: Actor, verb: str, **facts: Any) -> None:
    audit.record(
        subscription.tenant_id,
        actor,
        f"event_subscription.{verb}",
        "event_subscription",
        subscription.pk,
        **facts,
    )
