"""Counts how executions kept the targets of their tasks, from the events of their ends.

The alerter calls it in the transaction of its cursor, so each end counts exactly once, and the
recorders' own statements count nothing for it. Only tasks that have a target are counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

from executions.choices import Trigger
from executions.ledger.objectives import BUDGET_DAYS
from executions.models import Execution, TargetDay
from shared.sql import run
from shared.sql_arrays import of_integers, of_uuids
from tasks.timing_targets import targets_of
from tasks.versions import FIRST_OF_STEPS


@dataclass(frozen=True, slots=True)
class Ended:
    """An execution whose end has an event of that moment."""

    execution_id: UUID
    tenant_id: UUID
    task_id: UUID
    at: datetime


@dataclass(slots=True)
class _Counts:
    starts: int = 0
    late: int = 0
    runs: int = 0
    long: int = 0


def count_targets(ended: Sequence[Ended]) -> None:
    """Add these executions to the counts of their tasks that have targets."""
    targets = targets_of({one.task_id for one in ended}) if ended else {}
    judged = {one.execution_id: one for one in ended if one.task_id in targets}
    if not judged:
        return
    counts: dict[tuple[UUID, UUID, date], _Counts] = defaultdict(_Counts)
    # A step is no run of its workflow.
    found = Execution.objects.filter(
        id__in=judged, id__gte=min(judged), id__lte=max(judged), revision__lt=FIRST_OF_STEPS
    )
    columns = ("id", "trigger", "start_delay_ms", "started_at", "finished_at")
    for row, trigger, delay_ms, began, finished in found.values_list(*columns):
        one = judged[row]
        within, longest = targets[one.task_id]
        count = counts[one.task_id, one.tenant_id, one.at.astimezone(UTC).date()]
        if within is not None and trigger == Trigger.SCHEDULE and delay_ms is not None:
            count.starts += 1
            count.late += delay_ms > within * 1000
        if longest is not None and began is not None and finished is not None:
            count.runs += 1
            count.long += (finished - began).total_seconds() > longest
    _add(counts)


def prune(now: datetime) -> int:
    """Delete the days that no budget reads any more; return how many rows."""
    oldest = now.astimezone(UTC).date() - timedelta(days=BUDGET_DAYS + 2)
    gone, _ = TargetDay.objects.filter(day__lt=oldest).delete()
    return gone


def _add(counts: dict[tuple[UUID, UUID, date], _Counts]) -> None:
    if not counts:
        return
    run(
        "objectives/add_targets",
        {
            "tasks": of_uuids([task for task, _, _ in counts]),
            "tenants": of_uuids([tenant for _, tenant, _ in counts]),
            "days": [day for _, _, day in counts],
            "starts": of_integers([one.starts for one in counts.values()]),
            "late": of_integers([one.late for one in counts.values()]),
            "runs": of_integers([one.runs for one in counts.values()]),
            "long": of_integers([one.long for one in counts.values()]),
        },
    )
