"""Results of a bulk job's executions: a retry or a run is done when its execution is made.

The job's page, the API and the command read this. Of a large job only the latest executions are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Count

from executions.bulk.backfill_steps import SHOWN_STATES, count_executions, id_range, is_backfill
from executions.choices import FINAL, JobStatus, Status
from executions.models import BulkJob, BulkJobItem, Execution
from shared.sql import rows

#: Maximum number of executions of a job that are counted, the latest ones.
MOST_LOOKED_AT = 10_000
_MAKING = frozenset({"retry", "replay", "run"})
_OPEN = [str(status) for status in Status if status not in FINAL]


def makes_executions(job: BulkJob) -> bool:
    """Return whether an item of the job is done as soon as an execution is made for it."""
    return is_backfill(job) or job.action in _MAKING


def count_results(job: BulkJob) -> dict[str, int] | None:
    """Return the number of the job's executions by state; None where its action makes none.

    ``gone`` are past their retention; their outcome is not known.
    """
    if is_backfill(job):
        return {**count_executions(job), "gone": 0}
    if not makes_executions(job):
        return None
    counts = dict.fromkeys([*SHOWN_STATES.values(), "gone"], 0)
    ids = _latest(job)
    if not ids:
        return counts
    # The bounds keep it to the days of these ids.
    found = Execution.objects.filter(pk__in=ids, pk__gte=min(ids), pk__lte=max(ids))
    for status, count in found.order_by().values_list("status").annotate(Count("pk")):
        counts[SHOWN_STATES[status]] += count
    counts["gone"] = len(ids) - sum(counts.values())
    return counts


def with_open_executions(jobs: Iterable[BulkJob]) -> set[UUID]:
    """Return which of these backfills have made all their executions, of which some have not ended.

    Index executions_of_series_idx, one probe for each.
    """
    made = [job for job in jobs if is_backfill(job) and job.status == JobStatus.COMPLETED]
    if not made:
        return set()
    bounds = [id_range(job) for job in made]
    parameters = {
        "jobs": [job.id for job in made],
        "lows": [low for low, _ in bounds],
        "highs": [high for _, high in bounds],
        "open": _OPEN,
    }
    return {row[0] for row in rows("backfill/with_open", parameters)}


def results_text(counts: dict[str, int]) -> str:
    """Return the counts that are not zero in words: ``succeeded 3, failed 2``."""
    told = [f"{name} {count}" for name, count in counts.items() if count]
    return ", ".join(told) or "none"


def _latest(job: BulkJob) -> list[UUID]:
    items = BulkJobItem.objects.filter(
        job_id=job.id, position__lt=job.position, result_id__isnull=False
    )
    return [
        result
        for result in items.order_by("-position").values_list("result_id", flat=True)[
            :MOST_LOOKED_AT
        ]
        if result is not None
    ]
