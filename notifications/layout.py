"""Lays the content of a message out for its channel: an e-mail, or one push."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

from django.template.loader import render_to_string

from notifications.choices import AlertKind
from notifications.message_content import Content
from notifications.models import Alert
from notifications.plain_text import one_line
from notifications.transports.email import Mail
from notifications.transports.push import PushMessage
from shared.conf import conf
from shared.ids import new_id

_TITLE_WIDTH, _BODY_WIDTH = 120, 240


def mail_of(content: Content, to: str, message_id: str, thread: UUID) -> Mail:
    """Return the e-mail, as plain text and as HTML without external resources."""
    context = content.context()
    host = urlsplit(conf().public_url).hostname or "localhost"
    return Mail(
        to=to,
        subject=one_line(content.subject, 240),
        text=render_to_string("notifications/alert.txt", context),
        html=render_to_string("notifications/alert.html", context),
        message_id=message_id,
        thread_id=f"<alert.{thread}@{host}>",
        unsubscribe_url=content.unsubscribe_url,
    )


def confirmation_mail(to: str, link: str, *, member: str, tenant: str) -> Mail:
    """Return the e-mail that asks an address to confirm that it wants a member's messages."""
    subject = "Confirm your address for messages of Punctual"
    context = {
        "subject": subject,
        "link": link,
        "member": one_line(member, 80),
        "tenant": one_line(tenant, 80),
    }
    return _single("confirm_address", "confirm", to, context)


def invitation_mail(to: str, link: str, *, tenant: str, role: str) -> Mail:
    """Return the e-mail that offers an address a role in a tenant."""
    name = one_line(tenant, 80)
    context = {
        "subject": f"Invitation to {name} in Punctual",
        "link": link,
        "tenant": name,
        "role": role,
    }
    return _single("invitation", "invitation", to, context)


def _single(template: str, kind: str, to: str, context: dict[str, str]) -> Mail:
    """Return an e-mail that belongs to no thread."""
    marker = new_id()
    host = urlsplit(conf().public_url).hostname or "localhost"
    return Mail(
        to=to,
        subject=context["subject"],
        text=render_to_string(f"notifications/{template}.txt", context),
        html=render_to_string(f"notifications/{template}.html", context),
        message_id=f"<{marker}@{host}>",
        thread_id=f"<{kind}.{marker}@{host}>",
    )


def push_of(content: Content, alert: Alert) -> PushMessage:
    """Return the push: a title, one line, and the page that a click opens."""
    return PushMessage(
        title=one_line(content.subject, _TITLE_WIDTH),
        body=one_line(content.summary, _BODY_WIDTH),
        url=content.url,
        topic=alert.id.hex,
        urgent=alert.urgent or alert.kind == AlertKind.FINAL_FAILURE,
    )
