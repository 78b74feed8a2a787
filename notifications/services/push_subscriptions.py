"""Browsers that members let take pushes: subscribe, unsubscribe."""

from __future__ import annotations

import base64
import binascii
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import ec
from django.db import transaction

from events import audit
from notifications.models import PushSubscription
from notifications.services.preferences import get_membership
from notifications.transports.push import check_endpoint
from notifications.transports.vapid import public_key
from shared.actor import Actor
from shared.addresses import UrlError, host_of
from shared.encryption import seal
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from shared.ids import new_id

_MOST_PER_MEMBER = 20
_POINT_BYTES, _AUTH_BYTES = 65, 16


@transaction.atomic
def subscribe(
    tenant_id: UUID,
    member_id: int,
    *,
    endpoint: str,
    p256dh: str,
    auth: str,
    user_agent: str = "",
    actor: Actor,
) -> PushSubscription:
    """Add a browser, or renew the keys of one that is known.

    An endpoint belongs to one browser: when another member subscribes with it, it is theirs.
    Raise InvalidInput, NotFound, or Conflict ``push_not_configured``, ``too_many_subscriptions``.
    """
    membership = get_membership(tenant_id, member_id)
    if not public_key():
        raise Conflict("This installation has no push key.", code="push_not_configured")
    _check(endpoint, p256dh, auth)
    known = PushSubscription.objects.select_for_update().filter(endpoint=endpoint).first()
    others = PushSubscription.objects.filter(membership=membership)
    if known is None and others.count() >= _MOST_PER_MEMBER:
        message = f"A member has at most {_MOST_PER_MEMBER} browsers."
        raise Conflict(message, code="too_many_subscriptions")
    subscription = known or PushSubscription(id=new_id(), endpoint=endpoint)
    subscription.membership = membership
    subscription.p256dh = p256dh
    subscription.sealed_auth = seal(auth.encode(), f"push:{subscription.id}".encode())
    subscription.user_agent = user_agent[:300]
    subscription.failed_at, subscription.error = None, ""
    subscription.save()
    subscription.refresh_from_db()
    facts = {"member": member_id, "host": host_of(endpoint)}
    audit.record(
        tenant_id,
        actor,
        "push_subscription.created",
        "push_subscription",
        subscription.id,
        after=facts,
    )
    return subscription


@transaction.atomic
def unsubscribe(tenant_id: UUID, subscription_id: UUID, *, actor: Actor) -> None:
    """Remove a browser; raise NotFound for another tenant's."""
    found = PushSubscription.objects.filter(
        pk=subscription_id, membership__tenant_id=tenant_id
    ).first()
    if found is None:
        raise NotFound("There is no such push subscription.")
    facts = {"member": found.membership_id, "host": host_of(found.endpoint)}
    found.delete()
    audit.record(
        tenant_id,
        actor,
        "push_subscription.removed",
        "push_subscription",
        subscription_id,
        before=facts,
    )


def _check(endpoint: str, p256dh: str, auth: str) -> None:
    errors = []
    try:
        check_endpoint(endpoint)
    except UrlError as error:
        errors.append(FieldError("#/endpoint", error.code, error.message))
    if not _is_point(p256dh):
        errors.append(FieldError("#/keys/p256dh", "invalid", "Give a P-256 point, base64url."))
    if len(_decoded(auth)) != _AUTH_BYTES:
        errors.append(FieldError("#/keys/auth", "invalid", "Give 16 bytes, base64url."))
    if errors:
        raise InvalidInput(errors, errors[0].message)


def _is_point(text: str) -> bool:
    raw = _decoded(text)
    if len(raw) != _POINT_BYTES:
        return False
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
    except ValueError:
        return False
    return True


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
