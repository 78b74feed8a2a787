"""Cancel executions at any stage."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from events import audit
from executions import transitions
from executions.choices import FINAL, Status
from executions.loop.clocks import database_now
from executions.loop.control import abort_on_commit
from executions.models import Execution
from executions.parts_of_runs import refuse_step
from shared.actor import Actor
from shared.exceptions import Conflict
from wire import start_guard


@transaction.atomic
def cancel_execution(tenant_id: UUID, execution_id: UUID, *, actor: Actor) -> Execution:
    """Cancel an execution: an unstarted one never starts, a running one is aborted.

    Raise NotFound, Conflict when it is final or a step of a run, Unavailable when Redis cannot be
    asked about released work.
    """
    execution: Execution = Execution.objects.get_for_tenant(tenant_id, execution_id, lock=True)
    refuse_step(execution)
    require_open(execution)
    cancel_locked([execution])
    audit.record_many(tenant_id, actor, [cancelled(execution.id)])
    execution.refresh_from_db()
    return execution


def require_open(execution: Execution) -> None:
    """Raise Conflict ``already_final`` for an execution that has ended."""
    if execution.status in FINAL:
        raise Conflict(f"The execution is {execution.status} already.", code="already_final")


def cancel_locked(locked: Sequence[Execution]) -> None:
    """Cancel locked executions that are open; the caller audits.

    Raise Unavailable, changing nothing, when Redis cannot be asked about released work.
    """
    running = {row.id: row.fencing_token for row in locked if row.status == Status.RUNNING}
    released = [
        (row.id, row.fencing_token)
        for row in locked
        if row.status == Status.QUEUED and row.fencing_token is not None
    ]
    holders = start_guard.void([token for _, token in released])
    now = database_now()
    started = [(*row, by, now) for row, by in zip(released, holders, strict=True) if by]
    transitions.mark_running(started)
    running |= {row[0]: row[1] for row in started}
    transitions.request_cancel(list(running))
    abort_on_commit([token for token in running.values() if token is not None])
    unstarted = [(row.id, row.fencing_token) for row in locked if row.id not in running]
    transitions.cancel(unstarted, "cancelled")


def cancelled(execution_id: UUID) -> audit.Change:
    """Return the audit entry of a cancelled execution."""
    return audit.Change("execution.cancelled", "execution", execution_id)
