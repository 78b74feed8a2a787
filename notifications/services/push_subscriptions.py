"""Services of push subscriptions: subscribe a member's browser, unsubscribe it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import ec
from django.db import transaction
from django.db.models import Q

from events import audit
from notifications.models import PushSubscription
from notifications.services.preferences import lock_membership
from notifications.transports.push import check_endpoint
from notifications.transports.vapid import public_key
from shared.actor import Actor
from shared.addresses import UrlError, host_of
from shared.encryption import DecryptionFailed, open_sealed, seal
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from shared.ids import new_id
from shared.sealing_contexts import push_endpoint_context, push_subscription_context
from tenants.models import Membership

log = logging.getLogger(__name__)

_MOST_PER_MEMBER = 20
_SEALED_AT_ONCE = 500
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
    """Add a browser of the member, or renew the keys of one that is known.

    Other members keep theirs under the same endpoint: to know an endpoint does not prove that the
    browser is one's own. A member who proves it by the browser's keys takes the browser over from
    colleagues of the tenant, as people at one machine do.

    Raise InvalidInput, NotFound, or Conflict ``push_not_configured``, ``too_many_subscriptions``.
    """
    membership = lock_membership(tenant_id, member_id)
    if not public_key():
        raise Conflict("This installation has no push key.", code="push_not_configured")
    _check(endpoint, p256dh, auth)
    subscription = _known_or_new(membership, endpoint)
    subscription.p256dh = p256dh
    _seal_endpoint(subscription, tenant_id, endpoint)
    subscription.sealed_auth = seal(
        auth.encode(), push_subscription_context(tenant_id, subscription.pk)
    )
    subscription.user_agent = user_agent[:300]
    subscription.failed_at, subscription.error = None, ""
    subscription.save()
    subscription.refresh_from_db()
    _take_over(subscription, tenant_id, endpoint, auth, actor)
    facts = {"member": member_id, "host": subscription.host}
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
    _remove(found, tenant_id, actor)


def open_auth(subscription: PushSubscription) -> str:
    """Return the browser's shared secret; raise DecryptionFailed where no key opens it."""
    tenant_id = subscription.membership.tenant_id
    context = push_subscription_context(tenant_id, subscription.pk)
    return open_sealed(subscription.sealed_auth, context).decode()


def open_endpoint(subscription: PushSubscription) -> str:
    """Return where to push to; raise DecryptionFailed where no key opens it."""
    if subscription.sealed_endpoint is None:
        return subscription.endpoint
    tenant_id = subscription.membership.tenant_id
    context = push_endpoint_context(tenant_id, subscription.pk)
    return open_sealed(subscription.sealed_endpoint, context).decode()


def push_service_of(subscription: PushSubscription) -> str:
    """Return the host of the push service, which may be shown."""
    return subscription.host or host_of(subscription.endpoint)


@transaction.atomic
def seal_endpoints() -> int:
    """Seal some endpoints that earlier versions have stored in the clear; return how many.

    Those of a tenant whose key is not here stay as they are.
    """
    clear = PushSubscription.objects.exclude(endpoint="").select_related("membership")
    locked = clear.select_for_update(of=("self",), skip_locked=True).order_by("pk")
    sealed, refused = 0, ""
    for subscription in locked[:_SEALED_AT_ONCE]:
        try:
            _seal_endpoint(subscription, subscription.membership.tenant_id, subscription.endpoint)
        except DecryptionFailed as error:
            # The key of one tenant is not here: the browsers and alerts of others do not wait.
            refused = error.message
            continue
        # A process of the version before does not find a browser that is sealed, and adds another.
        same = PushSubscription.objects.filter(
            membership=subscription.membership, endpoint_digest=subscription.endpoint_digest
        )
        same.exclude(pk=subscription.pk).delete()
        subscription.save()
        sealed += 1
    if refused:
        log.warning("push_endpoints.not_sealed", extra={"reason": refused})
    return sealed


def _seal_endpoint(subscription: PushSubscription, tenant_id: UUID, endpoint: str) -> None:
    context = push_endpoint_context(tenant_id, subscription.pk)
    subscription.sealed_endpoint = seal(endpoint.encode(), context)
    subscription.endpoint_digest = _digest(endpoint)
    subscription.host, subscription.endpoint = host_of(endpoint), ""


def _digest(endpoint: str) -> str:
    # Without a key: the random part of an endpoint cannot be guessed.
    return hashlib.sha256(endpoint.encode()).hexdigest()


def _at(endpoint: str) -> Q:
    return Q(endpoint_digest=_digest(endpoint)) | Q(endpoint=endpoint)


def _known_or_new(membership: Membership, endpoint: str) -> PushSubscription:
    own = PushSubscription.objects.filter(membership=membership)
    known = own.select_for_update().filter(_at(endpoint)).first()
    if known is None and own.count() >= _MOST_PER_MEMBER:
        message = f"A member has at most {_MOST_PER_MEMBER} browsers."
        raise Conflict(message, code="too_many_subscriptions")
    return known or PushSubscription(id=new_id(), membership=membership)


def _take_over(
    subscription: PushSubscription, tenant_id: UUID, endpoint: str, auth: str, actor: Actor
) -> None:
    """Remove the same browser, proved by its keys, from other members of the tenant."""
    same = PushSubscription.objects.select_for_update(of=("self",)).filter(
        _at(endpoint), membership__tenant_id=tenant_id, p256dh=subscription.p256dh
    )
    for other in same.exclude(pk=subscription.pk):
        if _is_same_browser(other, auth):
            _remove(other, tenant_id, actor, reason="another member uses the browser")


def _is_same_browser(subscription: PushSubscription, auth: str) -> bool:
    try:
        return hmac.compare_digest(open_auth(subscription), auth)
    except DecryptionFailed:
        return False  # a secret that cannot be opened proves nothing


def _remove(subscription: PushSubscription, tenant_id: UUID, actor: Actor, **facts: str) -> None:
    before = {
        "member": subscription.membership_id,
        "host": push_service_of(subscription),
        **facts,
    }
    key = subscription.pk
    subscription.delete()
    audit.record(
        tenant_id, actor, "push_subscription.removed", "push_subscription", key, before=before
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
