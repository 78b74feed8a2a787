"""Signals: what happens outside, and releases the steps that wait for it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from executions import run_signals
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput
from shared.ids import new_id
from shared.sql import rows, run
from tasks.limits import current_limits
from tasks.payloads import check_payload_size, json_problem
from tenants.suspension import require_active
from workflows.sealed import seal_signal

#: Runs that the process that sends a signal advances itself; the schedulers advance the others, so
#: that the sender has an answer soon.
MOST_AT_ONCE = 100


@transaction.atomic
def send_signal(
    tenant_id: UUID, name: str, correlation: str, payload: Any, *, actor: Actor
) -> tuple[UUID, int]:
    """Release every step that waits for the name and correlation now; return id and their number.

    The signal is kept for a day, for the first such step of each run that began before it came.
    Raise InvalidInput or TooLarge for a payload that cannot be kept.
    """
    problem = json_problem(payload, "#/payload")
    if problem:
        raise InvalidInput([FieldError(*problem)], problem[2])
    check_payload_size(payload, current_limits().payload_bytes)
    require_active(tenant_id)
    signal_id = new_id()
    named = {"tenant": tenant_id, "name": name, "correlation": correlation}
    # The race: a step that begins to wait in this moment looks for the signal before it is there.
    own_names([(tenant_id, name, correlation)])
    sealed = None if payload is None else seal_signal(payload, tenant_id, signal_id)
    run("workflow_signals/insert", {**named, "id": signal_id, "sealed": sealed})
    told = [row[0] for row in rows("workflow_signals/tell_waiting", {**named, "id": signal_id})]
    run_signals.tell(told[:MOST_AT_ONCE])
    facts = {"name": name, "correlation": correlation, "released": len(told)}
    audit.record_many(
        tenant_id, actor, [audit.Change("signal.sent", "signal", signal_id, after=facts)]
    )
    return signal_id, len(told)


def own_names(names: list[tuple[UUID, str, str]]) -> None:
    """Keep others from sending these signals, or beginning to wait for them, until the commit."""
    rows(
        "workflow_signals/own_names",
        {
            "tenants": [row[0] for row in names],
            "names": [row[1] for row in names],
            "correlations": [row[2] for row in names],
        },
    )


def forget_old() -> None:
    """Delete the signals of more than a day ago."""
    run("workflow_signals/forget")
