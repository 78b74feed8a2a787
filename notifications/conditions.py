"""Looks whether the conditions of open alerts still hold, and at circuits, which write no events.

A condition is a state: the next look finds what one that died has lost. Looks hold the alerter's
cursor, so no failure is counted meanwhile; a failure whose event is read after a look brings the
alert back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from events.outbox import lock_cursor
from executions.dispatch import circuits
from executions.loop.clocks import database_now
from notifications.alert_kinds import OF_WINDOWS
from notifications.choices import AlertKind
from notifications.findings import Cause, Finding
from notifications.incidents import count_findings, recover
from notifications.models import Alert, AlertRule
from notifications.rule_book import RuleBook
from notifications.windows import is_reached, sums_of
from shared.redis_client import ConnectionFailed
from shared.sql import rows
from tenants.models import Tenant
from wire.destination_key import key_of, tenant_and_host

#: Interval between looks.
LOOK_SECONDS = 2.0
#: The next look waits at least this many times as long as one took: an alert may have a million
#: tasks.
_WAIT_TIMES = 20
#: Alerts of one kind per look; a look of more would take long.
_ALERTS = 5000

_Place = tuple[UUID, str]


class Conditions:
    """Ends the alerts whose condition is over; opens and ends those of circuits."""

    def __init__(self, consumer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._consumer = consumer
        self._clock = clock
        self._next_at = float("-inf")

    def look(self) -> None:
        """Look, unless the last look was a moment ago; another process's look counts, too."""
        began = self._clock()
        if began < self._next_at:
            return
        # A look that fails is not repeated at once.
        self._next_at = began + LOOK_SECONDS
        self._look()
        took = self._clock() - began
        self._next_at = began + max(LOOK_SECONDS, _WAIT_TIMES * took)

    def _look(self) -> None:
        open_circuits = _open_circuits()
        if not _is_over(open_circuits):
            return
        with transaction.atomic(durable=True):
            if not lock_cursor(self._consumer):
                return
            now = database_now()
            recover(_ended(), now)
            if open_circuits is not None:
                _follow(open_circuits, now)


def _is_over(open_circuits: set[_Place] | None) -> bool:
    """Return whether a look would change an alert; asked without a lock, as most looks do not."""
    if _ended():
        return True
    return open_circuits is not None and open_circuits != _told_circuits().keys()


def _ended() -> list[UUID]:
    """Return the open alerts of streaks and windows whose condition is over."""
    return [*(row[0] for row in rows("alert_rules/ended_streaks")), *_ended_windows()]


def _ended_windows() -> list[UUID]:
    found = list(_holding(OF_WINDOWS).exclude(rule_id=None).values_list("id", "rule_id")[:_ALERTS])
    rules = AlertRule.objects.in_bulk({rule_id for _, rule_id in found})
    windows = {rule.id: rule.window_seconds for rule in rules.values()}
    sums = sums_of(windows, database_now()) if windows else {}
    return [
        alert_id
        for alert_id, rule_id in found
        if (rule := rules.get(rule_id)) is not None
        and not is_reached(rule.kind, rule.threshold, *sums.get(rule_id, (0, 0)))
    ]


def _holding(kinds: Sequence[str]) -> QuerySet[Alert]:
    return Alert.objects.filter(
        kind__in=kinds, closed_at__isnull=True, recovered_at__isnull=True
    ).order_by("id")


def _told_circuits() -> dict[_Place, UUID]:
    """Return the open alerts of circuits by tenant and host."""
    found = _holding([AlertKind.CIRCUIT_OPEN]).values_list("id", "tenant_id", "destination")
    return {(tenant_id, host): alert_id for alert_id, tenant_id, host in found[:_ALERTS]}


def _open_circuits() -> set[_Place] | None:
    """Return the destinations whose circuit is not closed; None where Redis cannot be asked."""
    keys = [key_of(*place) for place in _told_circuits()]
    try:
        found = circuits.standing(keys, lately=True)
    except ConnectionFailed:
        return None
    return {tenant_and_host(key) for key, circuit in found.items() if circuit.state != "closed"}


def _follow(open_circuits: set[_Place], now: datetime) -> None:
    told = _told_circuits()
    recover([alert for place, alert in told.items() if place not in open_circuits], now)
    new = sorted(open_circuits - told.keys())
    # Redis may know a circuit longer than its tenant lives.
    living = set(
        Tenant.objects.filter(id__in={place[0] for place in new}).values_list("id", flat=True)
    )
    rules = RuleBook.of(living)
    findings = [
        Finding(
            cause=Cause(tenant_id, rule.kind, destination=host, rule_id=rule.id),
            sentence=f"calls to {host} wait, because most of them failed",
            at=now,
            urgent=rule.urgent,
        )
        for tenant_id, host in new
        if tenant_id in living
        and (rule := rules.rule(tenant_id, AlertKind.CIRCUIT_OPEN)) is not None
    ]
    count_findings(findings, now)
