"""Opens, extends and ends the alerts of conditions, so that they say what is so at this moment.

The caller's transaction has locked the alerter's cursor, so that one process at a time does it.
Doing it twice changes nothing: an alert counts each of its tasks once, however long it is overdue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from notifications.findings import Cause, Finding
from notifications.incidents import cause_of, count_findings, recover
from notifications.models import Alert, AlertTask
from notifications.time_checks.judging import Broken


def settle(kinds: Collection[str], broken: Sequence[Broken], now: datetime) -> None:
    """Make the open alerts of these kinds those of the broken rules."""
    # The condition of alerts_due_idx: an open alert always has a time of its next notice.
    found = Alert.objects.filter(
        closed_at__isnull=True, next_notice_at__isnull=False, kind__in=kinds
    )
    alerts = {cause_of(alert): alert for alert in found.order_by("id")}
    known = _known_tasks(alerts, broken)
    findings: list[Finding] = []
    for one in broken:
        alert = alerts.get(one.cause)
        if one.opens or alert is not None:
            findings += _findings(one, alert, known[alert.id] if alert else set(), now)
    count_findings(findings, now)
    holding = {one.cause for one in broken}
    recover([alert.id for cause, alert in alerts.items() if cause not in holding], now)


def _known_tasks(
    alerts: Mapping[Cause, Alert], broken: Sequence[Broken]
) -> Mapping[UUID, set[UUID]]:
    """Return which of the overdue tasks each open alert has already, of its many perhaps."""
    known: dict[UUID, set[UUID]] = defaultdict(set)
    found = AlertTask.objects.filter(
        alert_id__in=[alerts[one.cause].id for one in broken if one.cause in alerts],
        task_id__in={overdue.task_id for one in broken for overdue in one.overdue},
    )
    for alert_id, task_id in found.values_list("alert_id", "task_id"):
        known[alert_id].add(task_id)
    return known


def _findings(
    one: Broken, alert: Alert | None, known: Collection[UUID], now: datetime
) -> Iterator[Finding]:
    """Yield a finding of each task that the alert does not have yet; else one if it is new."""
    firsts = {overdue.task_id: overdue for overdue in reversed(one.overdue)}
    new = [overdue for task_id, overdue in firsts.items() if task_id not in known]
    total = max(1, len(new) + (alert.task_count if alert else 0))
    if not new and (alert is None or alert.recovered_at is not None):
        yield Finding(one.cause, one.sentence, now, urgent=one.urgent, total=total)
    for overdue in sorted(new, key=lambda overdue: overdue.since):
        yield Finding(
            one.cause,
            one.sentence,
            # A new alert began when the first was due; one that is open goes on now.
            overdue.since if alert is None else now,
            urgent=one.urgent,
            task_id=overdue.task_id,
            task_name=overdue.task_name,
            execution_id=overdue.execution_id,
            total=total,
        )
