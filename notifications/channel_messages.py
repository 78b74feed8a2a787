"""The content of a notice to a shared channel: a document for programs, a text for people.

It has no payload and nothing of what a receiver answered: the tenant does not know who reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from notifications.links import page
from notifications.models import Alert, Delivery
from notifications.plain_text import one_line
from notifications.presentation import present_alert
from notifications.transports.chat import ChatMessage
from shared.instants import format_instant
from shared.payload_sight import sight

_MOST_LISTED = 10


def event_of(delivery: Delivery) -> str:
    """Return what a notice is about: ``opened``, ``updated``, ``escalated`` or ``closed``."""
    if delivery.closing:
        return "closed"
    if delivery.alert_channel is not None and delivery.alert_channel.after_seconds:
        return "escalated"
    return "opened" if delivery.notice_number == 1 else "updated"


def document_of(delivery: Delivery) -> dict[str, Any]:
    """Return the body of a webhook about one notice; the alert is as it is now."""
    alert = delivery.alert
    with sight(False):
        shown = present_alert(alert)
    return {
        "event": event_of(delivery),
        "alert_id": str(alert.pk),
        "notice_number": delivery.notice_number,
        "at": format_instant(delivery.created_at),
        "tenant": {"id": str(alert.tenant_id), "name": alert.tenant.name},
        "url": page(f"/alerts/{alert.pk}"),
        "alert": shown,
    }


def text_of(deliveries: Sequence[Delivery]) -> ChatMessage:
    """Return the message about one notice, or about the notices of a bundle."""
    first = deliveries[0]
    tenant = one_line(first.alert.tenant.name, 80)
    word = event_of(first)
    if len(deliveries) > 1:
        alerts = [delivery.alert for delivery in deliveries]
        lines = [one_line(alert.title, 120) for alert in alerts[:_MOST_LISTED]]
        further = len(alerts) - len(lines)
        lines += [f"and {further} more"] if further else []
        what = "closed" if first.closing else "more"
        title = f"[{tenant}] {len(alerts)} {what} alerts"
        body = "\n".join([*lines, page("/alerts")])
        return ChatMessage(title, body, str(first.alert_id), closing=first.closing)
    alert = first.alert
    title = f"[{tenant}] {_word_of(alert, word)}: {one_line(alert.title, 200)}"
    body = "\n".join([*_lines(alert, word), page(f"/alerts/{alert.pk}")])
    return ChatMessage(title, body, str(alert.pk), closing=first.closing)


def _word_of(alert: Alert, word: str) -> str:
    if word == "closed":
        return "Closed"
    kind = alert.get_kind_display()
    return f"Not acknowledged, {kind}" if word == "escalated" else kind


def _lines(alert: Alert, word: str) -> list[str]:
    if word == "closed":
        return [f"The alert is over. It counted {alert.count}, the last {_instant(alert)}."]
    lines = [one_line(alert.cause, 200)]
    if alert.count > 1:
        lines.append(f"{alert.count} so far, the last {_instant(alert)}.")
    return lines


def _instant(alert: Alert) -> str:
    return format_instant(alert.last_at)
