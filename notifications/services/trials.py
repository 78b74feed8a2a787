"""Sends a test message, for the test button and ``notify test``.

It is sent at once, without the delivery log, so that the caller sees the real result.
"""

from __future__ import annotations

from django.db import transaction

from events import audit
from notifications.choices import Channel
from notifications.layout import mail_of
from notifications.limits import count_test
from notifications.links import UNSUBSCRIBE, page, signed_page
from notifications.live import publish_alert
from notifications.message_content import Content
from notifications.models import PushSubscription
from notifications.recipients import recipient_of
from notifications.services.deliveries import push_to_browser
from notifications.transports.email import send_email
from notifications.transports.errors import TransportError
from notifications.transports.push import PushMessage
from shared.actor import Actor
from shared.exceptions import NotFound
from shared.ids import new_id
from tenants.models import Membership
from tenants.suspension import require_active

_TITLE = "Punctual can reach you"
_TEXT = "This is a test message; no task has failed."


def send_trial(membership: Membership, channel: str, *, actor: Actor, limited: bool = True) -> str:
    """Send a test message and return its recipient.

    Raise TransportError, NotFound, TenantSuspended, and where members ask (``limited``)
    TooManyMessages, Unavailable.
    """
    recipient = recipient_of(membership.pk)
    if recipient is None:
        raise NotFound("The member is not active.")
    require_active(membership.tenant_id)
    if limited:
        count_test(membership.pk)
    with transaction.atomic():
        facts = {"channel": channel}
        audit.record(
            membership.tenant_id,
            actor,
            "notification.tested",
            "member",
            str(membership.pk),
            after=facts,
        )
    if channel == Channel.EMAIL:
        return _by_email(membership, recipient.address)
    if channel == Channel.PUSH:
        return _by_push(membership)
    publish_alert(membership.tenant_id, id=new_id(), severity="info", title=_TITLE, url="/settings")
    return "the open consoles of the tenant"


def _by_email(membership: Membership, address: str) -> str:
    if not address:
        raise TransportError("The member has no e-mail address.", permanent=True)
    content = Content(
        subject=f"[test] {_TITLE}",
        headline=_TITLE,
        summary=_TEXT,
        facts=[("Member", membership.user.get_username()), ("Tenant", membership.tenant.name)],
        attempts=[],
        response="",
        next_step="Choose your notifications in the settings.",
        links=[("Notification settings", page("/settings"))],
        unsubscribe_url=signed_page(UNSUBSCRIBE, membership.pk),
        url=page("/settings"),
        count=1,
    )
    marker = new_id()
    send_email(mail_of(content, address, f"<{marker}@punctual.test>", marker))
    return address


def _by_push(membership: Membership) -> str:
    subscriptions = list(PushSubscription.objects.filter(membership=membership).order_by("id"))
    if not subscriptions:
        raise TransportError("No browser of the member is subscribed.", permanent=True)
    message = PushMessage(_TITLE, _TEXT, page("/settings"), new_id().hex, urgent=False)
    problems: list[TransportError] = []
    for subscription in subscriptions:
        try:
            push_to_browser(subscription, message)
        except TransportError as error:
            problems.append(error)
    reached = len(subscriptions) - len(problems)
    if not reached:
        raise problems[0]
    return f"{reached} of {len(subscriptions)} browsers"
