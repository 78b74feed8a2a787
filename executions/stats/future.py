"""What a tenant's tasks do next, as far as it is known without computing schedules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from executions.engine import ledger
from executions.engine.clocks import database_now
from shared.ids import first_id_at
from shared.sql import rows

#: Counted per minute, and of what is prepared together.
_MOST_PER_MINUTE = 1_000
_MOST_PREPARED = 20_000


@dataclass(frozen=True, slots=True)
class NextFire:
    """A coming instant; ``execution_id`` is set once it is in the ledger."""

    task_id: UUID
    task_name: str
    at: datetime
    execution_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class FireMinute:
    """How many fires of a coming minute are known; ``at_least``: counting stopped there."""

    minute: datetime
    count: int
    at_least: bool = False


def next_fires(tenant_id: UUID, limit: int = 20) -> list[NextFire]:
    """Return the soonest fires: what is prepared, and the next instant of each task beyond it.

    A task that fires often shows what is prepared of it and one instant more. Paused tasks do
    not fire.
    """
    parameters = {"tenant": tenant_id, "limit": limit}
    prepared = rows("statistics/next_prepared", {**_from_now(), **parameters})
    found = [NextFire(*row) for row in prepared]
    found += [NextFire(*row) for row in rows("statistics/next_of_tasks", parameters)]
    return sorted(found, key=lambda fire: (fire.at, fire.task_id))[:limit]


def fire_histogram(tenant_id: UUID, minutes: int = 60) -> list[FireMinute]:
    """Return the known fires of each coming minute, from the current one on.

    Known are the instants in the ledger and the next one of each task: a task that fires every
    minute is counted in the first one only.
    """
    prepared = dict(
        rows(
            "statistics/prepared_by_minute",
            {**_from_now(), "tenant": tenant_id, "limit": _MOST_PREPARED},
        )
    )
    capped = sum(prepared.values()) >= _MOST_PREPARED
    tasks = rows(
        "statistics/next_by_minute",
        {"tenant": tenant_id, "minutes": minutes, "limit": _MOST_PER_MINUTE},
    )
    return [
        FireMinute(
            minute=minute,
            count=count + prepared.get(minute, 0),
            at_least=count >= _MOST_PER_MINUTE or (capped and minute in prepared),
        )
        for minute, count in tasks
    ]


def _from_now() -> dict[str, Any]:
    now = database_now()
    return {"now": first_id_at(now), "high": ledger.high_id(now)}
