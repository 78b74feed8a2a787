"""Bulk jobs of tests: made in a line, and run to where they stop by themselves."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from executions.bulk import jobs
from executions.bulk.jobs import create_bulk_job
from executions.loop.clocks import database_now
from executions.models import BulkJob, BulkJobItem
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.support.loops import by_the_loops

#: As the system worker does, in its role.
run_some = by_the_loops(jobs.run_some)


def make_job(
    tenant: Tenant,
    action: str = "retry",
    kind: str = "dead_letters",
    filters: dict[str, Any] | None = None,
    **options: Any,
) -> BulkJob:
    return create_bulk_job(
        tenant.id,
        kind=kind,
        action=action,
        filters=filters or {},
        options=options,
        name="Mend it",
        actor=ACTOR,
    )


def run_job(job: BulkJob) -> BulkJob:
    """Run until the job waits or ends; what it waits for is not due for two seconds."""
    while run_some(job.id):
        pass
    job.refresh_from_db()
    return job


def let_time_pass(job: BulkJob) -> None:
    """Make the job due, as if it had waited long enough."""
    BulkJob.objects.filter(pk=job.pk).update(next_at=database_now())


def counts(job: BulkJob) -> tuple[int, int, int]:
    """Return done, skipped and failed, which the items must bear out."""
    job.refresh_from_db()
    by_outcome = {"done": 0, "skipped": 0, "failed": 0, None: 0}
    for outcome in BulkJobItem.objects.filter(job=job).values_list("outcome", flat=True):
        by_outcome[outcome] += 1
    found = (job.done_count, job.skipped_count, job.failed_count)
    assert found == (by_outcome["done"], by_outcome["skipped"], by_outcome["failed"])
    assert by_outcome[None] == job.total - sum(found)
    return found


def outcomes(job: BulkJob) -> list[tuple[str | None, str]]:
    """Return outcome and code of every item in the job's order."""
    items = BulkJobItem.objects.filter(job=job).order_by(F("position"))
    return list(items.values_list("outcome", "code"))
