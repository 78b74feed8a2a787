"""Counts findings into alerts: one open alert per cause, each finding exactly once; ends alerts.

The alerter calls it inside the transaction that moves its cursor: a crash keeps both or neither.
Other callers hold that cursor with :func:`events.outbox.lock_cursor`, so that one process at a
time opens and ends alerts.

Flaps: an alert that comes back within a quarter of an hour after its end is told that much later,
and its next end once it has lasted as long. Messages about a condition that comes and goes are
therefore a quarter of an hour apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Case, Count, F, Q, Value, When

from notifications.alert_events import OPENED, RECOVERED, RETURNED, append_alert_events
from notifications.findings import Cause, Finding
from notifications.models import Alert, AlertTask
from shared.sql import rows
from shared.sql_arrays import of_uuids

#: The first message waits this long, so that its count covers a burst.
GATHER = timedelta(seconds=0.7)
#: A digest about the same cause comes after this long, if the alert has grown.
DIGEST_AFTER = timedelta(minutes=5)
#: A failure alert without another failure for this long is over.
QUIET_AFTER = timedelta(minutes=15)
#: An alert whose condition has not been found again for this long is closed without a message.
FORGOTTEN_AFTER = timedelta(days=7)
#: An alert that comes back sooner than this after its end flaps.
FLAPS_WITHIN = timedelta(minutes=15)

_COUNTED = [
    *("count", "task_count", "cause", "last_at", "next_notice_at", "recovered_at", "flaps"),
    *("ends_at", "urgent"),
]


def count_findings(findings: Sequence[Finding], now: datetime) -> list[Alert]:
    """Add the findings to the open alerts of their causes; open the missing alerts."""
    if not findings:
        return []
    by_cause: dict[Cause, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_cause[finding.cause].append(finding)
    _leave_out_unruled(by_cause)
    if not by_cause:
        return []
    alerts = _open_alerts(by_cause)
    missing = by_cause.keys() - alerts.keys()
    alerts |= _opened({cause: by_cause[cause] for cause in missing}, now)
    returned = [alert for alert in alerts.values() if alert.recovered_at is not None]
    for cause, members in by_cause.items():
        _add(alerts[cause], members, now, is_new=cause in missing)
    _note_tasks(alerts, by_cause)
    found = list(alerts.values())
    Alert.objects.bulk_update(found, _COUNTED, batch_size=500)
    append_alert_events(OPENED, [alerts[cause] for cause in missing])
    append_alert_events(RETURNED, returned)
    return found


@transaction.atomic
def recover(alert_ids: Collection[UUID], now: datetime) -> int:
    """Note that the conditions of these alerts no longer hold; return how many were open.

    The next look of the alerter tells it and closes them; of one that flaps once it has lasted.
    """
    found = Alert.objects.filter(
        id__in=alert_ids, closed_at__isnull=True, recovered_at__isnull=True
    )
    # In the order in which others lock several alerts.
    locked = list(found.select_for_update(no_key=True).order_by("id"))
    append_alert_events(RECOVERED, locked)
    return Alert.objects.filter(id__in=[alert.pk for alert in locked]).update(
        recovered_at=now,
        next_notice_at=Case(
            When(notice_number=0, then=F("next_notice_at")),
            When(flaps__gt=0, then=Value(now + FLAPS_WITHIN)),
            default=Value(now),
        ),
    )


def recover_subjects(kind: str, subjects: Collection[tuple[UUID, str]], now: datetime) -> int:
    """Do the same for the open alerts of a kind about these subjects: tenant and subject."""
    if not subjects:
        return 0
    found = Alert.objects.filter(
        _is_open(),
        kind=kind,
        tenant_id__in={tenant for tenant, _ in subjects},
        subject__in={subject for _, subject in subjects},
    ).values_list("id", "tenant_id", "subject")
    wanted = set(subjects)
    return recover([row for row, *about in found if tuple(about) in wanted], now)


def apart(alert: Alert) -> timedelta:
    """Return how far apart the notices of an alert that grows are."""
    return FLAPS_WITHIN if alert.flaps else DIGEST_AFTER


def cause_of(alert: Alert) -> Cause:
    """Return what the findings of the alert have in common."""
    return Cause(
        tenant_id=alert.tenant_id,
        kind=alert.kind,
        signature=alert.error_signature,
        destination=alert.destination,
        subject=alert.subject,
        rule_id=alert.rule_id,
    )


def _leave_out_unruled(by_cause: dict[Cause, list[Finding]]) -> None:
    """Leave out what was found by a rule that a person has deleted or switched off meanwhile.

    Deleting a rule closes its alerts, so none may be opened or counted beside that.
    """
    asked = {cause.rule_id for cause in by_cause if cause.rule_id is not None}
    if not asked:
        return
    kept = {row[0] for row in rows("alert_rules/keep", {"rules": of_uuids(asked)})}
    for cause in [one for one in by_cause if one.rule_id in asked - kept]:
        del by_cause[cause]


def _open_alerts(causes: Collection[Cause]) -> dict[Cause, Alert]:
    """Return the open alert of each cause, locked: a close waits until the count is committed."""
    found = _alerts_of(_is_open(), causes, lock=True)
    return {cause_of(alert): alert for alert in found}


def _is_open() -> Q:
    return Q(closed_at__isnull=True)


def _alerts_of(which: Q, causes: Collection[Cause], *, lock: bool = False) -> list[Alert]:
    found = Alert.objects.filter(
        which,
        tenant_id__in={cause.tenant_id for cause in causes},
        kind__in={cause.kind for cause in causes},
        error_signature__in={cause.signature for cause in causes},
        destination__in={cause.destination for cause in causes},
        subject__in={cause.subject for cause in causes},
    ).order_by("id")
    read = found.select_for_update(no_key=True) if lock else found
    wanted = set(causes)
    return [alert for alert in read if cause_of(alert) in wanted]


def _opened(by_cause: dict[Cause, list[Finding]], now: datetime) -> dict[Cause, Alert]:
    """Open an alert for each cause; one that has ended a moment ago flaps."""
    if not by_cause:
        return {}
    ended = Q(closed_at__gt=now - FLAPS_WITHIN, recovered_at__isnull=False)
    before = {cause_of(alert): alert for alert in _alerts_of(ended, by_cause)}
    made = {
        cause: _new_alert(members[0], before.get(cause), now) for cause, members in by_cause.items()
    }
    Alert.objects.bulk_create(made.values(), batch_size=500)
    return made


def _new_alert(first: Finding, before: Alert | None, now: datetime) -> Alert:
    cause = first.cause
    at = now + GATHER
    if before is not None:
        at = max(at, (before.last_notified_at or now) + FLAPS_WITHIN)
    return Alert(
        tenant_id=cause.tenant_id,
        kind=cause.kind,
        rule_id=cause.rule_id,
        error_signature=cause.signature,
        destination=cause.destination,
        subject=cause.subject,
        urgent=first.urgent,
        cause=first.sentence[:500],
        task_id=first.task_id,
        task_name=first.task_name,
        execution_id=first.execution_id,
        attempt=first.attempt,
        error_code=first.error_code,
        error_message=first.error_message,
        first_at=first.at,
        last_at=first.at,
        flaps=0 if before is None else before.flaps + 1,
        next_notice_at=at,
        created_at=now,
    )


def _add(alert: Alert, members: Sequence[Finding], now: datetime, *, is_new: bool) -> None:
    opening = members[0].opening if is_new else None
    added = sum(one.count for one in members)
    alert.count += added if opening is None else opening
    latest = members[-1]
    if latest.total is not None:
        alert.count = latest.total
    alert.cause = latest.sentence[:500]
    alert.urgent = latest.urgent
    alert.ends_at = latest.ends_at
    alert.last_at = max(alert.last_at, *(one.at for one in members))
    if alert.recovered_at is not None:
        alert.recovered_at = None
        alert.flaps += 1
    alert.next_notice_at = _next_notice(alert, now)


def _next_notice(alert: Alert, now: datetime) -> datetime:
    """Return the time of the next notice: soon for the first one, then some time apart."""
    if alert.last_notified_at is None:
        return alert.next_notice_at or now + GATHER
    return max(now, alert.last_notified_at + apart(alert))


def _note_tasks(alerts: dict[Cause, Alert], by_cause: dict[Cause, list[Finding]]) -> None:
    pairs = {
        (alerts[cause].id, finding.task_id)
        for cause, members in by_cause.items()
        for finding in members
        if finding.task_id is not None
    }
    AlertTask.objects.bulk_create(
        [AlertTask(alert_id=alert, task_id=task) for alert, task in sorted(pairs)],
        ignore_conflicts=True,
        batch_size=1000,
    )
    counted = AlertTask.objects.filter(alert_id__in={alert for alert, _ in pairs})
    counts = dict(counted.values_list("alert_id").annotate(tasks=Count("id")))
    for alert in alerts.values():
        alert.task_count = counts.get(alert.id, 0)
