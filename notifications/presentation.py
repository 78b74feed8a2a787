"""The answers that show alerts, deliveries, preferences and push subscriptions."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from notifications.alert_kinds import KINDS
from notifications.maintenance import active_until
from notifications.models import (
    Alert,
    AlertChannel,
    AlertRule,
    Delivery,
    MaintenanceWindow,
    NotificationPreference,
    PushSubscription,
)
from notifications.services.push_subscriptions import push_service_of
from shared.instants import format_instant
from shared.payload_sight import hide

#: What lines of the delivery log are read with.
RECEIVERS = ("membership__user", "alert_channel")


def present_alert(alert: Alert) -> dict[str, Any]:
    """Return the alert as lists show it."""
    return {
        "id": str(alert.id),
        "kind": alert.kind,
        "rule_id": None if alert.rule_id is None else str(alert.rule_id),
        "subject": alert.subject,
        "urgent": alert.urgent,
        "title": alert.title,
        "cause": alert.cause,
        "error_signature": alert.error_signature,
        "destination": alert.destination,
        "error": {"code": alert.error_code, "message": hide(alert.error_message)}
        if alert.error_code
        else None,
        "task_id": None if alert.task_id is None else str(alert.task_id),
        "task_name": alert.task_name,
        "execution_id": None if alert.execution_id is None else str(alert.execution_id),
        "count": alert.count,
        "task_count": alert.task_count,
        "first_at": format_instant(alert.first_at),
        "last_at": format_instant(alert.last_at),
        "last_notified_at": _instant(alert.last_notified_at),
        "muted_until": _instant(alert.muted_until),
        "held_until": _instant(alert.held_until),
        "recovered_at": _instant(alert.recovered_at),
        "acknowledged_at": _instant(alert.acknowledged_at),
        "acknowledged_by": alert.acknowledged_by or None,
        "assignee": alert.assignee_id,
        "closed_at": _instant(alert.closed_at),
    }


def severity_of(alert: Alert) -> str:
    """Return how a console shows it: ``error``, ``warning``, or ``success`` once it is over."""
    if alert.recovered_at is not None:
        return "success"
    return "warning" if KINDS[alert.kind].is_warning else "error"


def present_alert_detail(alert: Alert) -> dict[str, Any]:
    """Return the alert with its delivery log, newest first."""
    deliveries = Delivery.objects.filter(alert=alert).select_related(*RECEIVERS)
    return {
        **present_alert(alert),
        "deliveries": [present_delivery(row) for row in deliveries.order_by("-id")[:200]],
    }


def present_rule(rule: AlertRule) -> dict[str, Any]:
    """Return an alert rule; a built-in one that was never changed has no times."""
    return {
        "id": str(rule.id),
        "name": rule.name,
        "kind": rule.kind,
        "scope": rule.scope,
        "value": rule.value,
        "threshold": rule.threshold if KINDS[rule.kind].threshold else None,
        "window_seconds": rule.window_seconds if KINDS[rule.kind].window else None,
        "urgent": rule.urgent,
        "enabled": rule.enabled,
        "built_in": rule.built_in,
        "version": rule.version,
        "created_at": _instant(rule.created_at),
        "updated_at": _instant(rule.updated_at),
    }


def present_window(window: MaintenanceWindow, now: datetime) -> dict[str, Any]:
    """Return a maintenance window, and when it ends this time where it is open."""
    return {
        "id": str(window.id),
        "name": window.name,
        "scope": window.scope,
        "value": window.value,
        "begins_at": _instant(window.begins_at),
        "ends_at": _instant(window.ends_at),
        "weekdays": window.weekdays,
        "from_time": _clock(window.from_time),
        "to_time": _clock(window.to_time),
        "timezone": window.timezone,
        "active_until": _instant(active_until(window, now)),
        "created_by": window.created_by,
        "created_at": format_instant(window.created_at),
    }


def present_delivery(delivery: Delivery) -> dict[str, Any]:
    """Return one line of the delivery log; it has a member or a shared channel."""
    membership, channel = delivery.membership, delivery.alert_channel
    return {
        "id": str(delivery.id),
        "member": delivery.membership_id,
        "user": membership.user.get_username() if membership else None,
        "alert_channel": {"id": str(channel.id), "name": channel.name} if channel else None,
        "channel": delivery.channel,
        "notice_number": delivery.notice_number,
        "closing": delivery.closing,
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
        "digest_minutes": preference.digest_minutes,
        "muted_until": _instant(preference.muted_until),
        "muted_task_ids": [str(task) for task in preference.muted_task_ids],
    }


def present_channel(channel: AlertChannel) -> dict[str, Any]:
    """Return a shared channel without its URL, with which others could send to it."""
    return {
        "id": str(channel.id),
        "name": channel.name,
        "kind": channel.kind,
        "service": channel.service,
        "host": channel.host or None,
        "kinds": channel.kinds,
        "after_seconds": channel.after_seconds,
        "rules": [{"id": str(one.rule_id), "name": one.rule.name} for one in channel.rules.all()],
        "version": channel.version,
        "created_at": format_instant(channel.created_at),
        "updated_at": format_instant(channel.updated_at),
        "last_sent_at": _instant(channel.last_sent_at),
        "failed_at": _instant(channel.failed_at),
        "error": channel.error or None,
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
