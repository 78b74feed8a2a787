"""Plans what goes to shared channels: one delivery per notice and channel that hears the alert.

Called with the alerts that have a new notice, in the transaction that moves them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Max, QuerySet

from notifications.choices import ChannelKind, DeliveryStatus, Suppression
from notifications.incidents import DIGEST_AFTER
from notifications.models import Alert, AlertChannel, Delivery
from notifications.transports.chat import keeps_incidents
from tenants.suspension import suspended_tenants

#: Single messages to a chat within a digest period; further ones are bundled into one.
SINGLE_MESSAGES = 10
_NOT_TOLD = {DeliveryStatus.FAILED, DeliveryStatus.SUPPRESSED}
#: What kept an escalation back until a person takes it away; then the alert may escalate again.
_FOR_A_WHILE = (Suppression.MUTED, Suppression.ACKNOWLEDGED)
#: An alert and a channel.
_Told = tuple[UUID, UUID]


def hears(channel: AlertChannel, alert: Alert) -> bool:
    """Return whether the channel gets this alert; its rules must be prefetched."""
    if alert.kind in channel.kinds:
        return True
    return alert.rule_id is not None and any(
        one.rule_id == alert.rule_id for one in channel.rules.all()
    )


def is_digest(delivery: Delivery) -> bool:
    """Return whether the message is told together with others.

    It only says that an alert has grown since it was told, or a maintenance window held it back:
    the alert's first notice, or its end.
    """
    if delivery.notice_number > 1 and not delivery.closing:
        return True
    alert = delivery.alert
    over_at = alert.recovered_at or alert.last_at
    held = alert.held_until
    return held is not None and (delivery.notice_number == 1 or over_at <= held)


def plan_for_channels(
    alerts: Sequence[Alert], now: datetime, *, closing: bool = False
) -> list[Delivery]:
    """Return the deliveries of the alerts' newest notices to the channels of their tenants.

    ``closing``: the notices say that the alerts are over; they go to the channels that were told of
    them, or are about to be. The end of an alert that none was told of is told as its news.
    """
    tenants = {alert.tenant_id for alert in alerts}
    channels = list(channels_of(tenants)) if tenants else []
    if not channels:
        return []
    return list(_Planner(alerts, channels, now, closing=closing).plan())


def escalate(alerts: Sequence[Alert], now: datetime) -> list[Delivery]:
    """Return the deliveries of open alerts to channels whose time to hear of them has come.

    An alert is looked at again when its next such time comes.
    """
    waiting = channels_of({alert.tenant_id for alert in alerts}).filter(after_seconds__gt=0)
    channels = list(waiting) if alerts else []
    if not channels:
        return []
    planner = _Planner(alerts, channels, now, closing=False)
    return list(planner.escalate())


def channels_of(tenants: Iterable[UUID]) -> QuerySet[AlertChannel]:
    """Return the channels of the tenants with their rules, without their sealed URLs."""
    found = AlertChannel.objects.filter(tenant_id__in=set(tenants)).defer("sealed_url")
    return found.prefetch_related("rules").order_by("id")


class _Planner:
    """Builds the deliveries of one pass in memory, in a fixed number of queries."""

    def __init__(
        self,
        alerts: Sequence[Alert],
        channels: Sequence[AlertChannel],
        now: datetime,
        *,
        closing: bool,
    ) -> None:
        self._alerts, self._channels, self._now, self._closing = alerts, channels, now, closing
        self._suspended = set(suspended_tenants())
        chats = [one.pk for one in channels if _bundles_for(one)]
        self._recent = _recent_messages(chats, now)
        self._bundle_at = _bundles(chats, now, closing=closing)
        self._told = _told(alerts)
        self._numbers = _numbers(alerts)
        self._waiting = {
            pair for pair, statuses in self._told.items() if DeliveryStatus.PENDING in statuses
        }
        self._shown = _shown(alerts)

    def plan(self) -> Iterator[Delivery]:
        """Yield the delivery of each alert and channel that has news."""
        for alert in self._alerts:
            for channel in self._channels:
                if channel.tenant_id == alert.tenant_id and self._has_news(alert, channel):
                    yield self._delivery(alert, channel)

    def escalate(self) -> Iterator[Delivery]:
        """Yield the delivery to each channel that has waited long enough without being told."""
        for alert in self._alerts:
            for channel in self._channels:
                if channel.tenant_id != alert.tenant_id or not hears(channel, alert):
                    continue
                opened = alert.created_at + timedelta(seconds=channel.after_seconds)
                at = max(opened, alert.muted_until or opened, alert.held_until or opened)
                if at > self._now and alert.next_notice_at is not None:
                    alert.next_notice_at = min(alert.next_notice_at, at)
                elif at <= self._now and (alert.pk, channel.pk) not in self._told:
                    yield self._escalated(alert, channel)

    def _escalated(self, alert: Alert, channel: AlertChannel) -> Delivery:
        # A notice that was kept back has had the number.
        if self._numbers.get((alert.pk, channel.pk), 0) >= alert.notice_number:
            alert.notice_number += 1
        return self._delivery(alert, channel)

    def _has_news(self, alert: Alert, channel: AlertChannel) -> bool:
        pair = (alert.pk, channel.pk)
        if channel.after_seconds and pair not in self._told:
            return False  # it hears of the alert when that escalates
        if self._closing and alert.notice_number > 1:
            return bool(self._told.get(pair, set()) - _NOT_TOLD)
        # A waiting message will show the new count.
        fresh = pair not in self._waiting and self._shown.get(pair, 0) < alert.count
        return fresh and hears(channel, alert)

    def _delivery(self, alert: Alert, channel: AlertChannel) -> Delivery:
        delivery = Delivery(
            alert=alert,
            alert_channel=channel,
            channel=channel.kind,
            notice_number=alert.notice_number,
            closing=self._closing,
            created_at=self._now,
            next_attempt_at=self._now,
        )
        if channel.tenant_id in self._suspended:
            delivery.status = DeliveryStatus.SUPPRESSED
            delivery.reason, delivery.next_attempt_at = Suppression.TENANT_SUSPENDED, None
        elif _bundles_for(channel):
            self._schedule(delivery, channel.pk)
        return delivery

    def _schedule(self, delivery: Delivery, channel_id: UUID) -> None:
        """Bundle the message when the chat has had many, and what has grown into one digest."""
        told = (delivery.alert_id, channel_id) in self._told
        first = delivery.notice_number == 1
        if (told or first) and is_digest(delivery):
            delivery.bundled = True
            delivery.next_attempt_at = self._bundle_at.get(channel_id, self._now)
            return
        if self._recent[channel_id] < SINGLE_MESSAGES:
            self._recent[channel_id] += 1
            return
        delivery.bundled = True
        at = self._bundle_at.setdefault(channel_id, self._now + DIGEST_AFTER)
        delivery.next_attempt_at = at


def _bundles_for(channel: AlertChannel) -> bool:
    """Return whether people read the channel; programs get each notice by itself."""
    return channel.kind == ChannelKind.CHAT and not keeps_incidents(channel.service)


def _recent_messages(channels: Sequence[UUID], now: datetime) -> Counter[UUID]:
    rows = Delivery.objects.filter(
        alert_channel_id__in=channels, created_at__gt=now - DIGEST_AFTER, bundled=False
    ).exclude(status=DeliveryStatus.SUPPRESSED)
    counts = rows.values_list("alert_channel_id").annotate(count=Count("id"))
    return Counter({channel: count for channel, count in counts if channel is not None})


def _bundles(channels: Sequence[UUID], now: datetime, *, closing: bool) -> dict[UUID, datetime]:
    """Return the time of the waiting bundle of each chat."""
    rows = Delivery.objects.filter(
        alert_channel_id__in=channels,
        bundled=True,
        closing=closing,
        status=DeliveryStatus.PENDING,
        attempt_count=0,
        # One that is due may be sent at any moment, and takes no further message.
        next_attempt_at__gt=now,
    )
    found = rows.values_list("alert_channel_id").annotate(at=Max("next_attempt_at"))
    return {channel: at for channel, at in found if channel is not None and at is not None}


def _told(alerts: Sequence[Alert]) -> dict[_Told, set[str]]:
    """Return the states of the messages of each alert to each channel.

    Those that an acknowledgement or a mute kept back are left out.
    """
    rows = Delivery.objects.filter(alert__in=alerts, alert_channel__isnull=False, closing=False)
    rows = rows.exclude(status=DeliveryStatus.SUPPRESSED, reason__in=_FOR_A_WHILE)
    found: dict[_Told, set[str]] = {}
    for alert, channel, status in rows.values_list("alert_id", "alert_channel_id", "status"):
        if channel is not None:
            found.setdefault((alert, channel), set()).add(status)
    return found


def _numbers(alerts: Sequence[Alert]) -> dict[_Told, int]:
    """Return the highest number of a notice of each alert to each channel."""
    rows = Delivery.objects.filter(alert__in=alerts, alert_channel__isnull=False)
    found = rows.values_list("alert_id", "alert_channel_id").annotate(highest=Max("notice_number"))
    return {(alert, channel): highest for alert, channel, highest in found if channel is not None}


def _shown(alerts: Sequence[Alert]) -> dict[_Told, int]:
    """Return the highest count that each channel has been shown."""
    rows = Delivery.objects.filter(
        alert__in=alerts, alert_channel__isnull=False, count_shown__isnull=False
    )
    found = rows.values_list("alert_id", "alert_channel_id").annotate(highest=Max("count_shown"))
    return {(alert, channel): highest for alert, channel, highest in found if channel is not None}
