"""Plans notices: decides when an alert is due, and writes a delivery per member and channel.

The alerter calls it after counting. One transaction moves an alert and writes its deliveries, so a
notice is planned exactly once with any number of recorders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Max, Min

from executions.ledger import totals
from executions.loop.clocks import database_now
from notifications.alert_events import CLOSED, RECOVERED, append_alert_events
from notifications.alert_kinds import KINDS
from notifications.channel_notices import escalate, is_digest, plan_for_channels
from notifications.choices import UNFINISHED, AlertKind, Channel, DeliveryStatus
from notifications.claims import counted_as
from notifications.incidents import (
    DIGEST_AFTER,
    FLAPS_WITHIN,
    FORGOTTEN_AFTER,
    QUIET_AFTER,
    apart,
)
from notifications.maintenance import hold, is_held
from notifications.models import Alert, AlertMute, Delivery
from notifications.recipients import (
    Recipient,
    after_quiet_hours,
    kept_back,
    recipients_of,
    wants,
)

#: Alerts per pass; the next pass follows at once while there are more.
_ALERTS_PER_LOOK = 200
_MOVED = [
    *("notice_number", "notified_count", "last_notified_at", "next_notice_at"),
    *("recovered_at", "closed_at", "held_until"),
]
#: Single messages of a member per channel and digest period; further ones are bundled into one.
SINGLE_MESSAGES = 10


@dataclass(frozen=True, slots=True)
class Notice:
    """An alert with a new notice; ``on_console``: whether to show a toast.

    ``closing``: it says that the alert is over.
    """

    alert: Alert
    on_console: bool
    closing: bool = False


@transaction.atomic
def plan_due_notices() -> list[Notice]:
    """Write the deliveries of every alert whose time has come; close the quiet ones."""
    now = database_now()
    due = Alert.objects.select_for_update(skip_locked=True, no_key=True)
    alerts = list(due.filter(next_notice_at__lte=now).order_by("next_notice_at")[:_ALERTS_PER_LOOK])
    if not alerts:
        return []
    alerts += _grown_besides(alerts, now)
    hold(alerts, now)
    _let_end(alerts, now)
    ending = {alert.id for alert in alerts if _has_ended(alert, now)}
    telling = [alert for alert in alerts if alert.id in ending or _has_news(alert, now)]
    recipients = recipients_of({alert.tenant_id for alert in telling}) if telling else {}
    planner = _Planner(now, telling, recipients)
    notices = [planner.plan(alert, closing=alert.id in ending) for alert in telling]
    _settle([alert for alert in alerts if alert not in telling], now)
    deliveries = planner.deliveries + _to_channels(alerts, telling, now)
    Alert.objects.bulk_update(alerts, _MOVED)
    append_alert_events(CLOSED, [one for one in alerts if one.closed_at is not None])
    Delivery.objects.bulk_create(deliveries, batch_size=1000)
    ended = (one for one in deliveries if one.status not in UNFINISHED)
    totals.add(Counter(counted_as(one.channel, one.status) for one in ended))
    return notices


def _let_end(alerts: Sequence[Alert], now: datetime) -> None:
    """Note that the condition of an alert no longer holds that ends by itself, as a budget's."""
    over = [
        alert
        for alert in alerts
        if alert.recovered_at is None and alert.ends_at is not None and alert.ends_at <= now
    ]
    for alert in over:
        alert.recovered_at = alert.ends_at
    append_alert_events(RECOVERED, over)


def _grown_besides(alerts: Sequence[Alert], now: datetime) -> list[Alert]:
    """Return the other alerts of a digest: told before, and grown since; locked.

    A tenant's alerts that grow are told together, so that a storm of several causes is one digest
    per period.
    """
    growing = {one.tenant_id for one in alerts if one.notice_number and _has_news(one, now)}
    if not growing:
        return []
    open_ones = Alert.objects.select_for_update(skip_locked=True, no_key=True).filter(
        tenant_id__in=growing,
        closed_at__isnull=True,
        recovered_at__isnull=True,
        notice_number__gt=0,
        count__gt=F("notified_count"),
        next_notice_at__gt=now,
        flaps=0,
    )
    found = open_ones.order_by("next_notice_at")[:_ALERTS_PER_LOOK]
    return [one for one in found if _has_news(one, now)]


def _to_channels(
    alerts: Sequence[Alert], telling: Sequence[Alert], now: datetime
) -> list[Delivery]:
    """Return the deliveries to shared channels: of alerts with news, and of those that ended.

    Members are not told that an alert became quiet; a channel hears of each end, because the
    incident of a paging service stays open until then.
    """
    for alert in alerts:
        if alert.closed_at is not None and alert not in telling:
            alert.notice_number += 1
    closed = [alert for alert in alerts if alert.closed_at is not None]
    told = plan_for_channels([one for one in telling if one.closed_at is None], now)
    escalated = escalate([one for one in alerts if _may_escalate(one)], now)
    return told + escalated + plan_for_channels(closed, now, closing=True)


def _may_escalate(alert: Alert) -> bool:
    is_on = alert.closed_at is None and alert.recovered_at is None and alert.notice_number > 0
    return is_on and alert.acknowledged_at is None


def seconds_until_due() -> float | None:
    """Return the seconds until the next alert is due, or None."""
    found = Alert.objects.filter(next_notice_at__isnull=False).order_by("next_notice_at")
    at = found.values_list("next_notice_at", flat=True).first()
    return None if at is None else max(0.0, (at - database_now()).total_seconds())


def _has_news(alert: Alert, now: datetime) -> bool:
    if alert.acknowledged_at is not None:
        return False
    return alert.count > alert.notified_count and not _is_silent(alert, now)


def _is_silent(alert: Alert, now: datetime) -> bool:
    muted = alert.muted_until is not None and alert.muted_until > now
    return muted or is_held(alert, now)


def _has_ended(alert: Alert, now: datetime) -> bool:
    """Return whether to tell that it is over: one that flaps is over once that has lasted."""
    if alert.recovered_at is None or _is_silent(alert, now):
        return False
    return _over_at(alert, alert.recovered_at) <= now


def _over_at(alert: Alert, recovered_at: datetime) -> datetime:
    # What was never told is told together with its end.
    told = alert.notice_number > 0
    return recovered_at + FLAPS_WITHIN if alert.flaps and told else recovered_at


def _settle(alerts: Sequence[Alert], now: datetime) -> None:
    """Close quiet alerts and schedule the next check of the others; a mute keeps an alert open.

    So does a maintenance window. If a muted alert were closed, the next failure of its cause would
    open one that is not muted.
    """
    mutes = AlertMute.objects.filter(alert__in=alerts, until__gt=now).values_list("alert_id")
    muted = dict(mutes.annotate(last=Max("until")))
    for alert in alerts:
        ends = [_lasts_until(alert), alert.muted_until, alert.held_until, muted.get(alert.id)]
        until = max(end for end in ends if end is not None)
        if until > now:
            alert.next_notice_at = until
        else:
            alert.closed_at, alert.next_notice_at = now, None


def _lasts_until(alert: Alert) -> datetime:
    """Return how long the alert stays open if nothing happens."""
    if alert.recovered_at is not None:
        return _over_at(alert, alert.recovered_at)
    if alert.ends_at is not None:
        return alert.ends_at
    quiet = QUIET_AFTER if KINDS[alert.kind].ends_quietly else FORGOTTEN_AFTER
    return alert.last_at + quiet


class _Planner:
    """Builds the deliveries of one pass in memory."""

    def __init__(
        self, now: datetime, alerts: Sequence[Alert], recipients: dict[UUID, list[Recipient]]
    ) -> None:
        self._now = now
        self._recipients = recipients
        members = [one.membership.pk for group in recipients.values() for one in group]
        self._sent = _recent_messages(members, now)
        self._waiting = _waiting(alerts)
        self._shown = _shown(alerts)
        self._told = _told(alerts)
        self._next_bundle = _next_bundles(members, now)
        self.deliveries: list[Delivery] = []

    def plan(self, alert: Alert, *, closing: bool) -> Notice:
        """Move the alert to its next notice; close it with the last one."""
        to_tell = alert.count > alert.notified_count
        alert.notice_number += 1
        alert.notified_count = alert.count
        alert.last_notified_at = self._now
        alert.next_notice_at = self._now + apart(alert)
        if closing:
            alert.closed_at, alert.next_notice_at = self._now, None
        new = [
            delivery
            for recipient in self._recipients.get(alert.tenant_id, [])
            for delivery in self._of_recipient(alert, recipient, closing)
            if to_tell or self._ends_for(delivery, recipient)
        ]
        self.deliveries += new
        on_console = any(
            one.channel == Channel.CONSOLE and one.status == DeliveryStatus.SENT for one in new
        )
        return Notice(alert, on_console, closing)

    def _ends_for(self, delivery: Delivery, recipient: Recipient) -> bool:
        """Return whether a member hears that an alert is over: who was told of it, and wants it."""
        key = (delivery.alert_id, recipient.membership.pk, delivery.channel)
        return key in self._told and wants(recipient, delivery.channel, AlertKind.RECOVERED)

    def _of_recipient(
        self, alert: Alert, recipient: Recipient, closing: bool
    ) -> Iterator[Delivery]:
        for channel in Channel.values:
            if not wants(recipient, channel, alert.kind):
                continue
            if channel == Channel.PUSH and not recipient.has_subscription:
                continue  # without a browser a suppressed row per notice would tell nothing
            key = (alert.id, recipient.membership.pk, channel)
            if key in self._waiting:
                continue  # the waiting message will show the new count
            if self._shown.get(key, 0) >= alert.count and not closing:
                continue  # the last message was sent after the count had grown
            yield self._delivery(alert, recipient, channel, closing)

    def _delivery(
        self, alert: Alert, recipient: Recipient, channel: str, closing: bool
    ) -> Delivery:
        delivery = Delivery(
            alert=alert,
            membership=recipient.membership,
            channel=channel,
            notice_number=alert.notice_number,
            closing=closing,
            created_at=self._now,
        )
        reason = kept_back(recipient, channel, alert, self._now)
        if reason:
            delivery.status, delivery.reason = DeliveryStatus.SUPPRESSED, reason
        elif channel == Channel.CONSOLE:
            # The console shows the alert's row, so the notice arrives with this commit.
            delivery.status, delivery.sent_at = DeliveryStatus.SENT, self._now
            delivery.count_shown = alert.count
        else:
            self._schedule(delivery, recipient)
        return delivery

    def _schedule(self, delivery: Delivery, recipient: Recipient) -> None:
        key = (recipient.membership.pk, delivery.channel)
        preference, alert = recipient.preference, delivery.alert
        gathers = timedelta(minutes=preference.digest_minutes)
        if gathers and delivery.channel == Channel.EMAIL and not alert.urgent:
            at = self._bundle_at(key, within=gathers)
        elif is_digest(delivery):
            # One digest of all that has grown; it joins the one that waits.
            at = self._bundle_at(key, within=DIGEST_AFTER, otherwise=self._now)
        elif self._sent[key] < SINGLE_MESSAGES:
            self._sent[key] += 1
            delivery.next_attempt_at = self._now
            return
        else:
            at = self._bundle_at(key, within=DIGEST_AFTER)
        delivery.bundled = True
        # Within quiet hours the sender would suppress it.
        delivery.next_attempt_at = (
            at if alert.urgent else after_quiet_hours(preference, alert.kind, at)
        )

    def _bundle_at(
        self, key: tuple[int, str], *, within: timedelta, otherwise: datetime | None = None
    ) -> datetime:
        """Return the time of the bundle that goes within this time; begin one where none does.

        One that goes later, as what a member gathers for hours, keeps nothing else waiting. With
        ``otherwise`` none is begun, and that is returned.
        """
        at, latest = self._next_bundle.get(key), self._now + within
        if at is not None and at <= latest:
            return at
        if otherwise is not None:
            return otherwise
        self._next_bundle[key] = latest
        return latest


def _recent_messages(members: Sequence[int], now: datetime) -> Counter[tuple[int, str]]:
    rows = (
        Delivery.objects.filter(
            membership_id__in=members,
            created_at__gt=now - timedelta(seconds=DIGEST_AFTER.total_seconds()),
            bundled=False,
        )
        .exclude(status=DeliveryStatus.SUPPRESSED)
        .values_list("membership_id", "channel")
        .annotate(count=Count("id"))
    )
    return Counter({(member, channel): count for member, channel, count in rows})


def _next_bundles(members: Sequence[int], now: datetime) -> dict[tuple[int, str], datetime]:
    """Return the time of the next waiting bundle of each member and channel."""
    rows = Delivery.objects.filter(
        membership_id__in=members,
        bundled=True,
        status=DeliveryStatus.PENDING,
        attempt_count=0,
        # One that is due may be sent at any moment, and takes no further message.
        next_attempt_at__gt=now,
    )
    found = rows.values_list("membership_id", "channel").annotate(at=Min("next_attempt_at"))
    return {(member, channel): at for member, channel, at in found if at is not None}


def _waiting(alerts: Sequence[Alert]) -> set[tuple[UUID, int, str]]:
    rows = Delivery.objects.filter(alert__in=alerts, status=DeliveryStatus.PENDING)
    return set(rows.values_list("alert_id", "membership_id", "channel"))


def _told(alerts: Sequence[Alert]) -> set[tuple[UUID, int, str]]:
    """Return which members have been sent a message about each alert, by which channels."""
    rows = Delivery.objects.filter(alert__in=alerts).exclude(status=DeliveryStatus.SUPPRESSED)
    return set(rows.values_list("alert_id", "membership_id", "channel"))


def _shown(alerts: Sequence[Alert]) -> dict[tuple[UUID, int, str], int]:
    """Return the highest count that each member has been shown by each channel."""
    rows = Delivery.objects.filter(alert__in=alerts, count_shown__isnull=False)
    found = rows.values_list("alert_id", "membership_id", "channel").annotate(
        highest=Max("count_shown")
    )
    return {(alert, member, channel): highest for alert, member, channel, highest in found}
