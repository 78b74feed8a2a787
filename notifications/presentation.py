"""The answers that show alerts, deliveries, preferences and push subscriptions."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from notifications.models import Alert, Delivery, NotificationPreference, PushSubscription
from notifications.services.push_subscriptions import push_service_of
from shared.instants import format_instant
from shared.payload_sight import hide


def present_alert(alert: Alert) -> dict[str, Any]:
    """Return the alert as lists show it."""
    return {
        "id": str(alert.id),
        "kind": alert.kind,
        "title": alert.title,
        "cause": alert.cause,
        "error_signature": alert.error_signature,
        "destination": alert.destination,
        "error": {"code": alert.error_code, "message": hide(alert.error_message)}
        if alert.error_code
        else None,
        "task_id": str(alert.task_id),
        "task_name": alert.task_name,
        "execution_id": str(alert.execution_id),
        "count": alert.count,
        "task_count": alert.task_count,
        "first_at": format_instant(alert.first_at),
        "last_at": format_instant(alert.last_at),
        "last_notified_at": _instant(alert.last_notified_at),
        "muted_until": _instant(alert.muted_until),
        "closed_at": _instant(alert.closed_at),
    }


def present_alert_detail(alert: Alert) -> dict[str, Any]:
    """Return the alert with its delivery log, newest first."""
    deliveries = Delivery.objects.filter(alert=alert).select_related("membership__user")
    return {
        **present_alert(alert),
        "deliveries": [present_delivery(row) for row in deliveries.order_by("-id")[:200]],
    }


def present_delivery(delivery: Delivery) -> dict[str, Any]:
    """Return one line of the delivery log."""
    return {
        "id": str(delivery.id),
        "member": delivery.membership_id,
        "user": delivery.membership.user.get_username(),
        "channel": delivery.channel,
        "notice_number": delivery.notice_number,
        "status": delivery.status,
        "reason": delivery.reason or None,
        "attempt_count": delivery.attempt_count,
        "next_attempt_at": _instant(delivery.next_attempt_at)
        if delivery.status == "PENDING"
        else None,
        "error": delivery.error or None,
        "message_id": delivery.message_id or None,
        "count_shown": delivery.count_shown,
        "created_at": format_instant(delivery.created_at),
        "sent_at": _instant(delivery.sent_at),
    }


def present_preference(preference: NotificationPreference) -> dict[str, Any]:
    """Return a member's preference."""
    membership = preference.membership
    return {
        "member": membership.pk,
        "user": membership.user.get_username(),
        "email_events": preference.email_events,
        "push_events": preference.push_events,
        "console_events": preference.console_events,
        "email_address": preference.email_address,
        "email_address_confirmed": preference.is_confirmed,
        "effective_email_address": preference.effective_address or None,
        "timezone": preference.timezone,
        "quiet_from": _clock(preference.quiet_from),
        "quiet_to": _clock(preference.quiet_to),
        "quiet_except_final": preference.quiet_except_final,
        "muted_until": _instant(preference.muted_until),
        "muted_task_ids": [str(task) for task in preference.muted_task_ids],
    }


def present_subscription(subscription: PushSubscription) -> dict[str, Any]:
    """Return a browser without its keys and full endpoint, with which others could push to it."""
    return {
        "id": str(subscription.id),
        "member": subscription.membership_id,
        "push_service": push_service_of(subscription),
        "user_agent": subscription.user_agent,
        "created_at": format_instant(subscription.created_at),
        "last_used_at": _instant(subscription.last_used_at),
        "failed_at": _instant(subscription.failed_at),
        "error": subscription.error or None,
    }


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else format_instant(moment)


def _clock(moment: time | None) -> str | None:
    return None if moment is None else f"{moment:%H:%M}"
