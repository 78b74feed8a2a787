"""The alerts of a made-up past: closed ones, that count its dead letters.

Nothing was sent about them: they have no notice, and no delivery.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from executions.choices import Status
from notifications.choices import AlertKind
from notifications.failures import spoken_cause
from notifications.incidents import QUIET_AFTER
from notifications.models import Alert, AlertTask
from operations.history_samples import Sample
from tasks.models import Task


def insert_alerts(tenant_id: UUID, samples: Sequence[Sample], host: str) -> int:
    """Write an alert for each cause for which samples have failed; return how many.

    ``host`` is the one that they called. The last failure of each must be past by as long as an
    alert stays open without another one.
    """
    failed = [one for one in samples if one.status == Status.FAILED]
    names = dict(Task.objects.filter(tenant_id=tenant_id).values_list("id", "name"))
    ordered = sorted(failed, key=attrgetter("signature", "at"))
    found = [
        _alert(tenant_id, list(members), host, names)
        for _, members in groupby(ordered, key=attrgetter("signature"))
    ]
    Alert.objects.bulk_create(found)
    AlertTask.objects.bulk_create(
        AlertTask(alert_id=alert.id, task_id=task)
        for alert in found
        for task in sorted(
            {one.task_id for one in failed if one.signature == alert.error_signature}
        )
    )
    return len(found)


def _alert(tenant_id: UUID, members: Sequence[Sample], host: str, names: dict[UUID, str]) -> Alert:
    first, last = (one.finished_at(one.attempts) for one in (members[0], members[-1]))
    sample = members[0]
    return Alert(
        tenant_id=tenant_id,
        kind=AlertKind.FINAL_FAILURE,
        error_signature=sample.signature,
        destination=host,
        cause=spoken_cause(sample.signature, host),
        task_id=sample.task_id,
        task_name=names[sample.task_id],
        execution_id=sample.id,
        attempt=sample.attempts,
        error_code=sample.error_code,
        error_message=sample.error_message,
        count=len(members),
        task_count=len({one.task_id for one in members}),
        first_at=first,
        last_at=last,
        closed_at=last + QUIET_AFTER,
        created_at=first,
    )
