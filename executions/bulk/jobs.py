"""Bulk jobs: one action over many rows, durable, resumable, cancellable, exact.

The rows are fixed when a job is made. :func:`run_some` locks the job's row, does a bounded step
and writes each item's outcome in the transaction of its effect: when a process dies, no item is
done twice or lost. :func:`wake_waiting` replaces a lost message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from events import audit, outbox
from executions.bulk import backfill_steps, sealed_options
from executions.bulk.options import read_options, require_action
from executions.bulk.scope import (
    MAX_ITEMS,
    Scope,
    count_matching,
    matching,
    query_of,
    read_filters,
    sample_matching,
    stored_filters,
)
from executions.bulk.steps import CHANGED, end_job, run_some, wake_on_commit, wake_waiting
from executions.choices import JOB_ACTIVE, ItemOutcome, JobStatus
from executions.loop.clocks import database_now
from executions.models import BulkJob, BulkJobItem
from executions.querysets import BulkJobQuerySet
from shared.actor import Actor
from shared.data_keys import seals_targets
from shared.exceptions import Conflict, FieldError, InvalidInput
from shared.ids import new_id
from shared.sql import run, statement
from tasks import standing_pauses

__all__ = [
    "Scope",
    "begin_job",
    "cancel_bulk_job",
    "count_matching",
    "create_bulk_job",
    "get_bulk_job",
    "items_not_done",
    "list_bulk_jobs",
    "new_job",
    "run_some",
    "sample_matching",
    "wake_waiting",
]


def list_bulk_jobs(tenant_id: UUID) -> BulkJobQuerySet:
    """Return the tenant's bulk jobs, for lists."""
    return BulkJob.objects.for_tenant(tenant_id)


def get_bulk_job(tenant_id: UUID, job_id: UUID) -> BulkJob:
    """Return one bulk job of the tenant; raise NotFound."""
    job: BulkJob = BulkJob.objects.get_for_tenant(tenant_id, job_id)
    return job


def items_not_done(job: BulkJob) -> Any:
    """Return the items that were skipped or failed, for lists; order them by position."""
    outcomes = [ItemOutcome.SKIPPED, ItemOutcome.FAILED]
    return BulkJobItem.objects.filter(job_id=job.id, outcome__in=outcomes)


@transaction.atomic
def create_bulk_job(  # noqa: PLR0913 - every door names each of them; none belongs to another
    tenant_id: UUID,
    *,
    kind: str,
    action: str,
    filters: Mapping[str, Any],
    options: Mapping[str, Any],
    name: str,
    actor: Actor,
    expected_count: int | None = None,
) -> BulkJob:
    """Make a job over the rows that match now, and hand it to a worker after the commit.

    Raise InvalidInput (``nothing_matches``, ``too_many``, or for a wrong value), TooLarge for
    the payload, Conflict ``scope_changed`` when not exactly ``expected_count`` rows match.
    """
    require_action(kind, action)
    standing_pauses.share_active(tenant_id)
    wanted, given = read_filters(kind, filters), read_options(kind, action, options)
    scope = count_matching(tenant_id, kind, wanted, action=action, into=given.get("into"))
    _require_count(scope.count, expected_count)
    _require_fitting(scope)
    job = new_job(tenant_id, kind, action, name, actor)
    job.filters = stored_filters(wanted)
    job.total = _fix_items(job.id, matching(tenant_id, kind, wanted, action))
    # Rows may have changed between counting and fixing; the fixed rows must have the count, too.
    _require_count(job.total, expected_count)
    sealed_options.split(job, given, whole=seals_targets(tenant_id))
    begin_job(job, actor)
    return job


def begin_job(job: BulkJob, actor: Actor) -> None:
    """Store a job whose items are fixed, audit it, and hand it to a worker after the commit."""
    job.save(force_insert=True)
    wake_on_commit(job.id)
    outbox.append(job.tenant_id, CHANGED, job.id)
    facts = {
        "kind": job.kind,
        "action": job.action,
        "filter": job.filters,
        "options": sealed_options.readable(job.options),
        "edited": sealed_options.has_payload(job) or "set" in job.options,
        "total": job.total,
    }
    audit.record(job.tenant_id, actor, "bulk_job.created", "bulk_job", job.id, after=facts)


@transaction.atomic
def cancel_bulk_job(tenant_id: UUID, job_id: UUID, *, actor: Actor) -> BulkJob:
    """Cancel a job once its step under way has ended; skip the items left.

    Its effects stay, except that this also cancels a backfill's executions that have not started,
    even when the job itself is COMPLETED. Raise NotFound, Conflict ``already_final``, and for a
    backfill Unavailable when Redis cannot be asked about released work.
    """
    job: BulkJob = BulkJob.objects.get_for_tenant(tenant_id, job_id, lock=True)
    cancelled = backfill_steps.cancel_waiting(job) if backfill_steps.is_backfill(job) else 0
    if job.status not in JOB_ACTIVE and not cancelled:
        raise Conflict(f"The bulk job is {job.status} already.", code="already_final")
    end_job(job, JobStatus.CANCELLED, actor, "job_cancelled")
    job.refresh_from_db()
    return job


def new_job(tenant_id: UUID, kind: str, action: str, name: str, actor: Actor) -> BulkJob:
    """Return a job that is not stored yet, due at once and still without items."""
    now = database_now()
    return BulkJob(
        id=new_id(),
        tenant_id=tenant_id,
        kind=kind,
        action=action,
        name=name[:200],
        total=0,
        next_at=now,
        woken_at=now,
        created_at=now,
        created_by=actor.name[:200],
        address=actor.address[:64],
        trace_id=actor.trace_id[:32],
        trace_context=actor.trace or None,
    )


def _require_count(count: int, expected: int | None) -> None:
    if expected is not None and count != expected:
        raise Conflict(
            f"{count} rows match now, not {expected}; look again before you go on.",
            code="scope_changed",
        )
    if count > MAX_ITEMS:
        message = f"More than {MAX_ITEMS} rows match; narrow the filter."
        raise InvalidInput([FieldError("#/filter", "too_many", message)], message)
    if count == 0:
        message = "Nothing matches the filter."
        error = InvalidInput([FieldError("#/filter", "nothing_matches", message)], message)
        error.code = "nothing_matches"
        raise error


def _require_fitting(scope: Scope) -> None:
    if scope.unfit == scope.count:
        message = (
            "No matching execution can go there: url is for webhooks, pool for all other "
            "targets, and your own workers lease from a pool of the tenant."
        )
        raise InvalidInput([FieldError("#/into", "nothing_fits", message)], message)


def _fix_items(job_id: UUID, rows: Any) -> int:
    """Store the rows that match, in one statement; return how many."""
    found = query_of(rows)
    if found is None:
        return 0
    run("bulk/take_time")
    text = sql.SQL(statement("bulk/fix_items"))
    with connection.cursor() as cursor:
        cursor.execute(text.format(rows=sql.SQL(found[0])), [job_id, *found[1]])
        return int(cursor.rowcount)
