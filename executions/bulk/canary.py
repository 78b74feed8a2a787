"""Decide whether a bulk job may go on, by its first results and later by the latest ones."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from uuid import UUID

from executions.bulk.circuit import meets_open_circuit
from executions.choices import FINAL, ItemOutcome, Status
from executions.models import BulkJob, BulkJobItem, Execution

#: Number of latest results that decide whether to stop, and how many of them must be final.
_WINDOW = 1000
_ENOUGH = 20


class Verdict(StrEnum):
    """Go on, wait for results, or stop: for its failures, or for a destination that is down."""

    GO = "go"
    WAIT = "wait"
    STOP = "stop"
    CIRCUIT = "circuit"


def judge(job: BulkJob) -> Verdict:
    """Return whether the job may take its next items.

    After the canary's items it waits until every execution that they made is final. It stops for a
    greater share of failures than allowed, in the canary as soon as that is certain; failed items
    count. It also stops for an open circuit of a destination that it calls.
    """
    verdict = _judge_results(job)
    return Verdict.CIRCUIT if verdict is not Verdict.STOP and meets_open_circuit(job) else verdict


def _judge_results(job: BulkJob) -> Verdict:
    canary = job.options.get("canary")
    if canary is not None and not job.canary_passed:
        return Verdict.GO if job.position < canary else _judge_canary(job)
    allowed = job.options.get("stop_on_failure_rate")
    if allowed is None:
        return Verdict.GO
    failed, ended, _ = _results(job, max(0, job.position - _WINDOW))
    stop = ended >= _ENOUGH and failed > allowed * ended
    return Verdict.STOP if stop else Verdict.GO


def _judge_canary(job: BulkJob) -> Verdict:
    failed, ended, count = _results(job, 0)
    if failed > job.options.get("stop_on_failure_rate", 0.0) * count:
        return Verdict.STOP
    return Verdict.GO if ended == count else Verdict.WAIT


def _results(job: BulkJob, start: int) -> tuple[int, int, int]:
    """Return how many results from that position on failed, how many are final, and of how many.

    An execution past its retention counts as final, and not as failed.
    """
    items = BulkJobItem.objects.filter(
        job_id=job.id, position__gte=start, position__lt=job.position
    )
    found = list(items.values_list("outcome", "result_id"))
    made = [result_id for _, result_id in found if result_id is not None]
    failed_items = sum(outcome == ItemOutcome.FAILED for outcome, _ in found)
    statuses = _statuses(made)
    final = [status for status in statuses if status in FINAL]
    failed = sum(status != Status.SUCCEEDED for status in final)
    gone = len(made) - len(statuses)
    return failed_items + failed, failed_items + len(final) + gone, failed_items + len(made)


def _statuses(ids: Sequence[UUID]) -> list[str]:
    if not ids:
        return []
    # The bounds keep it to the days of these ids.
    rows = Execution.objects.filter(pk__in=ids, pk__gte=min(ids), pk__lte=max(ids))
    return list(rows.values_list("status", flat=True))
