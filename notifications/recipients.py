"""Which members are notified of an alert by which channel, and why a message is suppressed.

The same rules decide when a delivery is written and again when it is sent, because a member may
have muted or unsubscribed in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from notifications.choices import OF_INSTALLATION, AlertKind, Channel, Suppression
from notifications.models import (
    Alert,
    AlertMute,
    AlertTask,
    NotificationPreference,
    PushSubscription,
)
from tenants.models import Membership

#: The role of the recorder and of the system worker may not read the hash of a password.
_HIDDEN = "user__password"


@dataclass(frozen=True, slots=True)
class Recipient:
    """A member with the preference, browsers and mutes that decide about a message."""

    membership: Membership
    preference: NotificationPreference
    has_subscription: bool
    #: Alerts that this member has muted, until when.
    mutes: dict[UUID, datetime] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Return the address for e-mail, or ""."""
        return self.preference.effective_address


def preference_of(membership: Membership) -> NotificationPreference:
    """Return the member's preference, or the defaults where there is no row."""
    found = NotificationPreference.objects.filter(membership=membership).first()
    if found is None:
        return NotificationPreference(membership=membership)
    # Else the member's account would be read anew, with all its columns.
    found.membership = membership
    return found


def recipients_of(tenant_ids: Iterable[UUID]) -> dict[UUID, list[Recipient]]:
    """Return the active members of each tenant, in a fixed number of queries."""
    memberships = list(
        Membership.objects.filter(tenant_id__in=set(tenant_ids), user__is_active=True)
        .select_related("user", "notification_preference", "tenant")
        .defer(_HIDDEN)
        .order_by("id")
    )
    found: dict[UUID, list[Recipient]] = {}
    for recipient in _with_circumstances(memberships):
        found.setdefault(recipient.membership.tenant_id, []).append(recipient)
    return found


def recipient_of(membership_id: int) -> Recipient | None:
    """Return one member as they are now, or None when there is no such active member."""
    memberships = list(
        Membership.objects.filter(pk=membership_id, user__is_active=True)
        .select_related("user", "notification_preference", "tenant")
        .defer(_HIDDEN)
    )
    return next(_with_circumstances(memberships), None)


def wants(recipient: Recipient, channel: str, kind: str) -> bool:
    """Return whether the member chose this channel for this kind.

    The installation is a matter of its operators alone.
    """
    if kind in OF_INSTALLATION and not recipient.membership.user.is_superuser:
        return False
    chosen = {
        Channel.EMAIL: recipient.preference.email_events,
        Channel.PUSH: recipient.preference.push_events,
        Channel.CONSOLE: recipient.preference.console_events,
    }
    return kind in chosen[Channel(channel)]


def kept_back(recipient: Recipient, channel: str, alert: Alert, now: datetime) -> str:
    """Return why a message to the member by this channel is suppressed now, or ""."""
    if recipient.membership.tenant.suspended_at is not None:
        return Suppression.TENANT_SUSPENDED
    if not wants(recipient, channel, alert.kind):
        return Suppression.UNSUBSCRIBED
    if _is_muted(recipient, alert, now):
        return Suppression.MUTED
    if channel == Channel.CONSOLE:
        return ""
    if not alert.urgent and in_quiet_hours(recipient.preference, alert.kind, now):
        return Suppression.QUIET_HOURS
    if channel == Channel.EMAIL and not recipient.address:
        return Suppression.NO_ADDRESS
    if channel == Channel.PUSH and not recipient.has_subscription:
        return Suppression.NO_SUBSCRIPTION
    return ""


def in_quiet_hours(preference: NotificationPreference, kind: str, now: datetime) -> bool:
    """Return whether the member's clock shows quiet hours for this kind."""
    start, end = preference.quiet_from, preference.quiet_to
    if start is None or end is None or start == end:
        return False
    if kind == AlertKind.FINAL_FAILURE and preference.quiet_except_final:
        return False
    clock = now.astimezone(ZoneInfo(preference.timezone)).time()
    return start <= clock < end if start < end else clock >= start or clock < end


def after_quiet_hours(preference: NotificationPreference, kind: str, moment: datetime) -> datetime:
    """Return the moment, or the end of the quiet hours for this kind that it falls into."""
    end = preference.quiet_to
    if end is None or not in_quiet_hours(preference, kind, moment):
        return moment
    zone = ZoneInfo(preference.timezone)
    clock = moment.astimezone(zone)
    day = clock.date() if clock.time() < end else clock.date() + timedelta(days=1)
    return datetime.combine(day, end, zone).astimezone(UTC)


def _is_muted(recipient: Recipient, alert: Alert, now: datetime) -> bool:
    preference = recipient.preference
    ends = (alert.muted_until, preference.muted_until, recipient.mutes.get(alert.id))
    if any(end is not None and end > now for end in ends):
        return True
    if not preference.muted_task_ids:
        return False
    # An alert about no task, as one of a quota, is none of a muted task.
    of_alert = AlertTask.objects.filter(alert=alert)
    others = of_alert.exclude(task_id__in=preference.muted_task_ids)
    return of_alert.exists() and not others.exists()


def _with_circumstances(memberships: list[Membership]) -> Iterator[Recipient]:
    ids = [membership.pk for membership in memberships]
    subscribed = set(
        PushSubscription.objects.filter(membership_id__in=ids).values_list(
            "membership_id", flat=True
        )
    )
    mutes: dict[int, dict[UUID, datetime]] = {}
    for mute in AlertMute.objects.filter(membership_id__in=ids):
        mutes.setdefault(mute.membership_id, {})[mute.alert_id] = mute.until
    for membership in memberships:
        preference = getattr(membership, "notification_preference", None)
        yield Recipient(
            membership=membership,
            preference=preference or NotificationPreference(membership=membership),
            has_subscription=membership.pk in subscribed,
            mutes=mutes.get(membership.pk, {}),
        )
