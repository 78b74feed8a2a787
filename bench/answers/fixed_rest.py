"""Tenants, keys and everything beside tasks and their history, with fixed ids and times."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from bench.answers.stand import NOW, fixed_id

if TYPE_CHECKING:
    from bench.answers.fixed_history import History
    from tasks.models import Task
    from tenants.models import Tenant

_HOUR = timedelta(hours=1)
_MINUTE = timedelta(minutes=1)
_LONG_AGO = NOW - timedelta(days=30)


def key_of(name: str) -> str:
    """Return the text of a tenant's key."""
    return f"answers-{name.lower()}-" + "k" * 32


def make_tenant(name: str, kind: int) -> Tenant:
    """Return a tenant with an owner's key, a calendar, a pool and a limited destination."""
    from executions.models import Destination, Pool
    from tasks.models import Calendar
    from tenants.choices import SCOPES
    from tenants.models import ApiKey, SigningSecret, Tenant
    from tenants.services.api_keys import PREFIX_LENGTH, hash_key
    from tenants.signing import seal_signing_secret

    made: dict[str, Any] = {"created_at": _LONG_AGO}
    tenant = Tenant.objects.create(
        id=fixed_id(_LONG_AGO, kind, 0), name=name, unlimited=True, **made
    )
    text = key_of(name)
    ApiKey.objects.create(
        id=fixed_id(_LONG_AGO, kind, 1), tenant=tenant, name="answers", prefix=text[:PREFIX_LENGTH],
        key_hash=hash_key(text), scopes=list(SCOPES), owner=True,
        # Ahead: no use is noted, which would carry the time that the questions take.
        last_used_at=NOW + timedelta(days=1), **made,
    )  # fmt: skip
    sealed = seal_signing_secret("whsec_" + "A" * 44, tenant.id)
    secret = fixed_id(_LONG_AGO, kind, 2)
    SigningSecret.objects.create(id=secret, tenant=tenant, sealed=sealed, **made)
    days = [{"date": "2026-11-19", "name": "Feast"}, {"date": "2026-12-25", "name": "Christmas"}]
    windows = [{"start": "2026-11-21T00:00:00Z", "end": "2026-11-22T00:00:00Z", "name": "Patching"}]
    Calendar.objects.create(
        id=fixed_id(_LONG_AGO, kind, 3), tenant=tenant, name="Holidays", dates=days,
        windows=windows, updated_at=_LONG_AGO, **made,
    )  # fmt: skip
    Calendar.objects.create(
        id=fixed_id(_LONG_AGO, kind, 4), tenant=tenant, name="Nothing", updated_at=_LONG_AGO, **made
    )
    Pool.objects.create(
        id=fixed_id(_LONG_AGO, kind, 5), tenant=tenant, name="batch", max_in_flight=4,
        updated_at=_LONG_AGO, **made,
    )  # fmt: skip
    Destination.objects.create(
        id=fixed_id(_LONG_AGO, kind, 6), tenant=tenant, host="slow.example.com", max_in_flight=2,
        rate_per_second=5.5, updated_at=_LONG_AGO, **made,
    )  # fmt: skip
    return tenant


def make_shared() -> None:
    """Write what no tenant owns: workers and schedulers."""
    from executions.models import (
        PartitionLease,
        SchedulerNode,
        WorkerHour,
        WorkerMinute,
    )

    node = fixed_id(NOW - _HOUR, 1, 0)
    SchedulerNode.objects.create(
        id=node,
        name="host-1",
        pid=4242,
        started_at=NOW - _HOUR,
        heartbeat_at=NOW,
        lease_expires_at=NOW + _MINUTE,
    )
    PartitionLease.objects.update(owner=node, epoch=7, expires_at=None)
    for number in range(60):
        WorkerMinute.objects.create(
            worker="worker-1", minute=NOW - (number + 1) * _MINUTE, pool="default", host="host-1",
            version="0.1.0", slots=100, running=number % 9, held=number % 4,
            cpu_percent=1.5 * (number % 7), memory_bytes=90_000_000 + number,
            ended=100_000 - 50 * number, ended_in_minute=50,
        )  # fmt: skip
    for number in range(30):
        WorkerHour.objects.create(
            worker="worker-1", hour=NOW - (number + 1) * _HOUR, pool="default", host="host-1",
            version="0.1.0", minutes=60, slots=100, running=3.5, most_running=9 + number, held=1.25,
            most_held=4, cpu_percent=4.5, most_cpu_percent=10.5, most_memory_bytes=95_000_000,
            ended=3000 + number,
        )  # fmt: skip


def make_rest(tenant: Tenant, kind: int, tasks: list[Task], history: History) -> None:
    """Write what refers to the tenant's tasks and history."""
    _jobs(tenant, kind, tasks, history)
    _pauses(tenant, kind)
    _minutes(tenant)
    _alerts(tenant, kind, tasks, history)
    _zone_moves(tenant, kind, tasks)


def _jobs(tenant: Tenant, kind: int, tasks: list[Task], history: History) -> None:
    from executions.models import BulkJob, BulkJobItem

    berlin = next(task for task in tasks if task.name == "Daily in Berlin")
    spread: dict[str, Any] = {"max_per_second": 10}
    at = NOW - 3 * _HOUR
    jobs: list[tuple[str, str, str, dict[str, Any], dict[str, Any], tuple[int, int, int, int]]] = [
        ("tasks", "backfill", "COMPLETED", {"task": str(berlin.id)}, _range(), (6, 6, 0, 0)),
        ("executions", "retry", "COMPLETED", {"status": ["FAILED"]}, spread, (12, 9, 2, 1)),
        ("dlq", "archive", "RUNNING", {"resolved": False}, {}, (12, 5, 1, 0)),
        ("tasks", "pause", "PENDING", {"label": ["team:billing"]}, {}, (8, 0, 0, 0)),
        ("executions", "cancel", "CANCELLED", {}, {}, (6, 2, 4, 0)),
    ]
    for number, (of, action, status, filters, options, (total, *decided)) in enumerate(jobs):
        ended = status not in ("RUNNING", "PENDING")
        done, skipped, failed = decided
        job = BulkJob.objects.create(
            id=fixed_id(at, kind + 1, number), tenant=tenant, kind=of, action=action,
            name=f"Job {number}", filters=filters, options=options, status=status, total=total,
            position=sum(decided), done_count=done, skipped_count=skipped, failed_count=failed,
            next_at=NOW + _HOUR, created_by="ann", created_at=at + number * _MINUTE,
            started_at=None if status == "PENDING" else at + _HOUR / 2,
            finished_at=at + _HOUR if ended else None,
        )  # fmt: skip
        outcomes = ["done"] * done + ["skipped"] * skipped + ["failed"] * failed
        BulkJobItem.objects.bulk_create(
            BulkJobItem(
                job=job, position=place, item_id=history.executions[place].id,
                outcome=outcomes[place] if place < len(outcomes) else None,
                code="conflict" if outcomes[place : place + 1] in (["skipped"], ["failed"]) else "",
                result_id=history.executions[-1 - place].id if of == "executions" else None,
            )
            for place in range(total)
        )  # fmt: skip


def _range() -> dict[str, Any]:
    return {"start": "2026-10-01T00:00:00Z", "end": "2026-10-09T00:00:00Z", "max_concurrent": 2}


def _pauses(tenant: Tenant, kind: int) -> None:
    from tasks.models import Pause

    for number, (scope, value, ended) in enumerate(
        (("label", "tier:gold", False), ("pool", "other", True), ("destination", "x.example", True))
    ):
        at = NOW - (number + 1) * _HOUR
        Pause.objects.create(
            id=fixed_id(at, kind + 3, number), tenant=tenant, scope=scope, value=value,
            note="Move.", created_by="ann", created_at=at, until=None if ended else NOW + _HOUR,
            ended_by="bob" if ended else "", ended_at=at + _HOUR / 2 if ended else None,
        )  # fmt: skip


def _minutes(tenant: Tenant) -> None:
    from executions.models import MinuteStat

    MinuteStat.objects.bulk_create(
        MinuteStat(
            tenant_id=tenant.id, minute=NOW - number * _MINUTE, succeeded=number % 11,
            failed=number % 3, retried=number % 5, cancelled=number % 2, late=number % 4,
            start_delays=[(number + bucket) % 6 for bucket in range(16)],
        )
        for number in range(0, 180, 2)
    )  # fmt: skip


def _alerts(tenant: Tenant, kind: int, tasks: list[Task], history: History) -> None:
    from notifications.models import Alert

    names = {task.id: task.name for task in tasks}
    for number, letter in enumerate(history.letters[:6]):
        Alert.objects.create(
            id=fixed_id(NOW - number * _HOUR, kind + 4, number), tenant=tenant,
            kind=("first_failure", "final_failure")[number % 2],
            error_signature=letter.error_signature, destination=f"host-{number}.example.com",
            cause="The answer was 503.", task_id=letter.task_id, task_name=names[letter.task_id],
            execution_id=letter.execution_id, error_code=letter.error_code, count=number + 1,
            task_count=1, first_at=letter.created_at, last_at=letter.created_at,
            closed_at=NOW - _MINUTE if number > 3 else None, created_at=letter.created_at,
        )  # fmt: skip


def _zone_moves(tenant: Tenant, kind: int, tasks: list[Task]) -> None:
    from tasks.models import ZoneMove

    moved = {"before": "2027-03-28T06:00:00Z", "after": "2027-03-28T07:00:00Z"}
    for number, task in enumerate(tasks[15:18]):
        ZoneMove.objects.create(
            id=fixed_id(NOW, kind + 5, number), tenant=tenant, task=task, zone="Europe/Berlin",
            from_release="2026a", to_release="2026b", moved=moved, moved_count=120,
            noticed_at=NOW - number * _HOUR,
        )  # fmt: skip
