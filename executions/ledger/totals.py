"""Totals for metrics, added in the transaction that they count: a kill loses none, a repeat none.

Each is a sum over the rows of ``metric_totals``, named by its series, such as ``attempts/failed``.
A bucket of a histogram is named by its place (``delay/3``), its sum by ``sum``, in microseconds.
Each count is a new row, so that no count waits for another transaction, and none can deadlock. Rows
are folded into one every few seconds. :mod:`insight.metrics` reads the sums.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from executions.choices import Status
from executions.ledger.objectives import own_fault
from executions.models.minute_stat import START_DELAY_BUCKETS_MS
from shared.sql import rows, run
from shared.sql_arrays import of_integers, of_texts
from tasks.versions import is_of_step

if TYPE_CHECKING:
    from executions.ledger.settling import Moved
    from executions.transitions import Finish

Totals = Mapping[str, int]
NONE: Totals = {}

#: Upper bounds of the buckets of durations, inclusive, in milliseconds. Stored totals count by
#: position: never change existing bounds.
DURATION_BUCKETS_MS = (
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000,
    7_200_000,
)  # fmt: skip

#: Rows that one fold adds up: it must not keep its scheduler from its leases.
MOST_FOLDED = 20_000

DEAD_LETTERS = "dead_letters"
RETRIES = "retries"
#: Leases that ran out: on partitions of a scheduler, and on executions of a worker or a holder.
EXPIRED_PARTITIONS = "lease_expiries/partition"
EXPIRED_EXECUTIONS = "lease_expiries/execution"
#: What has ended for good with a start or a failure, by what it is.
_ENDED = (Status.SUCCEEDED, Status.FAILED)


def _names(prefix: str, bounds: Sequence[int]) -> list[str]:
    return [f"{prefix}/{place}" for place in range(len(bounds) + 1)]


#: Histogram -> the upper bounds of its buckets in milliseconds.
HISTOGRAMS: dict[str, Sequence[int]] = {
    "delay": START_DELAY_BUCKETS_MS,
    "waiting": START_DELAY_BUCKETS_MS,
    "duration": DURATION_BUCKETS_MS,
}
_DELAYS = _names("delay", START_DELAY_BUCKETS_MS)
_WAITS = _names("waiting", START_DELAY_BUCKETS_MS)
_DURATIONS = _names("duration", DURATION_BUCKETS_MS)


def reports_of(finishes: Iterable[Finish]) -> dict[UUID, Finish]:
    """Return what was reported of each execution: of several outcomes, the one that moved it.

    An execution may have a stale outcome in the batch, too: the one with the higher token counts.
    """
    reported: dict[UUID, Finish] = {}
    for one in finishes:
        other = reported.get(one.execution_id)
        if other is None or one.token > other.token:
            reported[one.execution_id] = one
    return reported


def of_attempts(moved: Iterable[Moved], reported: Mapping[UUID, Finish]) -> dict[str, int]:
    """Return the totals of executions whose attempt has just ended, or that failed without one.

    ``moved`` are the rows that really moved, and ``reported`` the outcomes that moved them.
    """
    found: dict[str, int] = {}
    add = found.get
    for row in moved:
        status = row.status
        if status == Status.RETRYING:
            found[RETRIES] = add(RETRIES, 0) + 1
        elif status in _ENDED:
            kind = "step" if is_of_step(row.revision) else "task"
            name = f"ended/{kind}/{status.lower()}"
            found[name] = add(name, 0) + 1
        report = reported[row.id]
        outcome = report.outcome
        if not outcome or not row.attempt:
            continue
        fault = own_fault(outcome, report.error_code, leased=row.waited_ms is None)
        if fault:
            name = f"own_faults/{fault}"
            found[name] = add(name, 0) + 1
        name = f"attempts/{outcome.lower()}"
        found[name] = add(name, 0) + 1
        name = _DURATIONS[bisect_left(DURATION_BUCKETS_MS, row.milliseconds)]
        found[name] = add(name, 0) + 1
        found["duration/sum"] = add("duration/sum", 0) + row.milliseconds * 1000
        if row.waited_ms is not None:
            _observe(found, "waiting/sum", _WAITS, row.waited_ms)
        if row.attempt == 1 and row.start_delay_ms is not None:
            _observe(found, "delay/sum", _DELAYS, row.start_delay_ms)
    return found


def _observe(found: dict[str, int], total: str, names: list[str], milliseconds: float) -> None:
    name = names[bisect_left(START_DELAY_BUCKETS_MS, milliseconds)]
    found[name] = found.get(name, 0) + 1
    # Clocks of two machines may disagree by a little; a sum never falls.
    found[total] = found.get(total, 0) + max(0, round(milliseconds * 1000))


def of_runs(statuses: Iterable[str]) -> dict[str, int]:
    """Return the totals of runs of workflows that have just ended with these statuses."""
    found: dict[str, int] = {}
    for status in statuses:
        name = f"ended/run/{status.lower()}"
        found[name] = found.get(name, 0) + 1
    return found


def columns(totals: Totals) -> dict[str, object]:
    """Return the parameters of a statement that adds totals beside its own work."""
    return {"series": of_texts(list(totals)), "counts": of_integers(list(totals.values()))}


def add(totals: Totals) -> None:
    """Add to the totals, in the transaction of what they count; zeros add nothing."""
    counted = {series: value for series, value in totals.items() if value}
    if counted:
        run("totals/add", columns(counted))


def read() -> dict[str, int]:
    """Return every total by its series, as of one moment."""
    return dict(rows("totals/read"))


def fold() -> int:
    """Add up rows to one, :data:`MOST_FOLDED` at most; return how many rows went.

    No total changes. Repeating it at any time, also beside another process that does, does no harm.
    """
    return int(rows("totals/fold", {"most": MOST_FOLDED})[0][0])
