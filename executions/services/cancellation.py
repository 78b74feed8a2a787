"""Cancel one execution, at whatever stage it is."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from events import audit
from executions.choices import FINAL, Status
from executions.engine import guard, transitions
from executions.engine.clocks import database_now
from executions.engine.control import abort_on_commit
from executions.models import Execution
from shared.actor import Actor
from shared.exceptions import Conflict


@transaction.atomic
def cancel_execution(tenant_id: UUID, execution_id: UUID, *, actor: Actor) -> Execution:
    """Cancel an execution: one that has not started never starts, a running one is aborted.

    Raise NotFound, Conflict when it is final, Unavailable when Redis cannot be asked about
    released work.
    """
    execution: Execution = Execution.objects.get_for_tenant(tenant_id, execution_id, lock=True)
    if execution.status in FINAL:
        raise Conflict(f"The execution is {execution.status} already.", code="already_final")
    token = execution.fencing_token
    running = execution.status == Status.RUNNING
    if execution.status == Status.QUEUED and token is not None:
        holder = guard.void([token])[0]
        if holder:
            transitions.mark_running([(execution.id, token, holder, database_now())])
            running = True
    if running:
        transitions.request_cancel([execution.id])
        abort_on_commit([token] if token is not None else [])
    else:
        transitions.cancel([(execution.id, token)], "cancelled")
    audit.record(tenant_id, actor, "execution.cancelled", "execution", execution.id)
    execution.refresh_from_db()
    return execution
