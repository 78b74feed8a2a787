"""The pulses: tasks of the demo tenant that fire every second while a break is watched.

They are the load that a break strikes, and what is counted: each instant has to run, and only once.
A pulse catches up every missed instant, and retries longer than any break lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from executions.changes.changing import edit_task
from executions.triggering.receiver_requests import required_address_of
from shared.actor import Actor
from shared.instants import format_instant
from tasks.calendars import limits_of
from tasks.creation import create_tasks
from tasks.definition import Definition
from tasks.models import Task
from tasks.querysets import TaskQuerySet
from tasks.validation.bodies import parse_create

#: Enough to meet every scheduler and every worker of a small installation.
COUNT = 8
LABEL, LABELLED = "demo", "pulse"
#: Longer than the second between two fires: calls are under way at every moment.
CALL_MS = 1500
_RETRIES = {
    "max_attempts": 10,
    "backoff": "exponential",
    "initial_delay_seconds": 1,
    "max_delay_seconds": 5,
    "jitter": "none",
}


def of_tenant(tenant_id: UUID) -> TaskQuerySet:
    """Return the tenant's pulses; none before its first break."""
    found: TaskQuerySet = Task.objects.for_tenant(tenant_id).labelled(f"{LABEL}:{LABELLED}")
    return found


def fire(
    tenant_id: UUID, first: datetime, last: datetime, *, actor: Actor, now: datetime
) -> list[UUID]:
    """Let every pulse fire once a second from ``first`` to ``last``; return their ids.

    The first call makes them. Raise the errors of :func:`tasks.creation.create_tasks` and of
    :func:`executions.changes.changing.edit_task`, NoReceiver where no receiver runs.
    """
    definitions = _definitions(tenant_id, first, last, now)
    known = {task.name: task.id for task in of_tenant(tenant_id)}
    missing = [one for one in definitions if one.name not in known]
    for one in definitions:
        if one.name in known:
            edit_task(tenant_id, known[one.name], partial(_replaced_by, one), actor=actor)
    made = create_tasks(tenant_id, missing, actor=actor, now=now) if missing else []
    known |= {task.name: task.id for task in made}
    return [known[one.name] for one in definitions]


def _definitions(
    tenant_id: UUID, first: datetime, last: datetime, now: datetime
) -> Sequence[Definition]:
    base, limits = required_address_of(tenant_id), limits_of(tenant_id)
    return [
        parse_create(_body(number, base, first, last), now=now, limits=limits)
        for number in range(1, COUNT + 1)
    ]


def _body(number: int, base: str, first: datetime, last: datetime) -> dict[str, Any]:
    return {
        "name": f"Pulse {number} of {COUNT}",
        "schedule": {
            "every": "PT1S",
            "start_at": format_instant(first),
            "end_at": format_instant(last),
            "misfire_policy": "replay",
            "misfire_replay_per_second": COUNT,
        },
        "target": {"url": f"{base}slow?ms={CALL_MS}", "timeout_seconds": 10},
        "payload": {"demo": "break"},
        "labels": {LABEL: LABELLED},
        "retry_policy": _RETRIES,
    }


def _replaced_by(wanted: Definition, _old: Definition, _now: datetime) -> tuple[Definition, None]:
    return wanted, None
