"""How many executions of a list are in each state: the counts beside its filter."""

from __future__ import annotations

from contextlib import suppress

from executions.choices import Status
from executions.querysets import ExecutionQuerySet
from insight.list_budget import OutOfTime, within

#: Counted exactly up to here; more is at least that.
MOST_COUNTED = 10_000
#: Time of each count. States that are not counted by then have no number.
_BUDGET_MS = 250
#: The most frequent state last: where time runs out, the others are counted.
_IN_ORDER = (*(one for one in Status if one != Status.SUCCEEDED), Status.SUCCEEDED)


def status_counts(rows: ExecutionQuerySet) -> dict[str, int]:
    """Return the number of rows by state; at most ``MOST_COUNTED + 1``, which is "more than".

    A state has its own part or index, so that few of them read the rows of others: the part of
    open executions, and executions_unsuccessful_idx. Counting ends with the first state that takes
    too long, and that one and the following ones are left out.
    """
    counts: dict[str, int] = {}

    def count() -> None:
        for status in _IN_ORDER:
            some = rows.filter(status=status).order_by().values("pk")[: MOST_COUNTED + 1]
            counts[str(status)] = some.count()

    with suppress(OutOfTime):
        within(_BUDGET_MS, count)
    return counts
