"""Past work: the last runs of tasks, and the arrival of dead letters by cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from executions.loop.clocks import database_now
from insight.presentation.execution import duration_ms
from shared.conf import conf
from shared.ids import first_id_at
from shared.sql import rows

MOST_TASKS = 100
MOST_RUNS = 100
#: Where the runs of busy tasks are found; the search goes beyond only for rare tasks.
_NEAR = timedelta(days=1)
#: How far back the search for the runs of the others goes.
_FAR_DAYS = 35
#: Newest dead letters that are read, of the open and of the resolved ones each.
_LETTERS = 20_000
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RunBar:
    """One bar of a strip of runs."""

    id: UUID
    status: str
    scheduled_for: datetime
    duration_ms: float | None
    start_delay_ms: float | None


def run_strips(
    tenant_id: UUID, task_ids: Sequence[UUID], runs: int = 30
) -> dict[UUID, list[RunBar]]:
    """Return the latest runs of each task, oldest first, of instants that have come.

    Looks at up to 100 tasks, and five weeks back at most; a task without runs has an empty list.
    """
    now = database_now()
    wanted = list(dict.fromkeys(task_ids))[:MOST_TASKS]
    limit = max(1, min(runs, MOST_RUNS))
    near = now - _NEAR
    strips = _latest(tenant_id, wanted, limit, (near, now))
    rare = [task for task in wanted if len(strips[task]) < limit]
    if rare:
        far = now - timedelta(days=min(_FAR_DAYS, conf().retention_days))
        for task, earlier in _latest(tenant_id, rare, limit, (far, near)).items():
            strips[task] = [*earlier, *strips[task]][-limit:]
    return strips


def dead_letter_sparklines(
    tenant_id: UUID, signatures: Sequence[str], hours: int = 24
) -> dict[str, list[int]]:
    """Return how many dead letters of each cause came in each of the last hours, oldest first.

    The last element is the hour up to now. Counted among the newest 20,000 open and as many
    resolved letters of the tenant.
    """
    found = rows(
        "statistics/letters_by_hour",
        {
            "tenant": tenant_id,
            "signatures": list(signatures),
            "low": first_id_at(database_now() - hours * _HOUR),
            "scan": _LETTERS,
        },
    )
    lines = {signature: [0] * hours for signature in signatures}
    for signature, hours_ago, count in found:
        if 0 <= hours_ago < hours:
            lines[signature][hours - 1 - hours_ago] += count
    return lines


def _latest(
    tenant_id: UUID, tasks: Sequence[UUID], limit: int, stretch: tuple[datetime, datetime]
) -> dict[UUID, list[RunBar]]:
    strips: dict[UUID, list[RunBar]] = {task: [] for task in tasks}
    found = rows(
        "statistics/latest_runs",
        {
            "tenant": tenant_id,
            "tasks": list(tasks),
            "low": first_id_at(stretch[0]),
            "high": first_id_at(stretch[1]),
            "limit": limit,
        },
    )
    for task, execution, status, scheduled_for, started, finished, delay in found:
        bar = RunBar(execution, status, scheduled_for, duration_ms(started, finished), delay)
        strips[task].append(bar)
    return strips
