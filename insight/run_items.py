"""The items of fan-outs as they are now: how many have which status, and some of them.

Counts and pages cost a number of queries that does not depend on how many items there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import Max

from executions.models import WorkflowStep
from insight.workflow_runs import OpenStep, SeenRun, all_ends_of, bounds_of, open_status
from shared.sql import rows
from tasks.workflow.step_states import StepState
from workflows.advance.kept_items import KEPT

#: Items are found by these; of those that have not begun there are no rows.
ITEM_STATUSES = ("RUNNING", "QUEUED", "RETRYING", "FAILED", "SUCCEEDED", "SKIPPED")
#: How answers call the status of an item's execution -> in the ledger.
_OPEN_AS = {"QUEUED": ["PENDING", "QUEUED"]}


def item_counts_of(seen: SeenRun) -> dict[int, dict[str, int]]:
    """Return how many items of each fan-out of a run have which status."""
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    parameters = {"run": seen.take.run_id, **bounds_of(seen.take.run_id)}
    for step, take, status, count in rows("run_reads/item_counts", parameters):
        if take == seen.take_of(step):
            found[step][open_status(status)] += count
    for step, fan in seen.fans.items():
        # Of those that have not begun, a person may have ended some.
        left = min(fan.total - fan.begun, fan.total - sum(found[step].values()))
        if left > 0:
            unbegun = "PENDING" if seen.state(step) is StepState.OPEN else "CANCELLED"
            found[step][unbegun] += left
    return {step: dict(counts) for step, counts in found.items()}


def item_total_of(seen: SeenRun, number: int) -> int:
    """Return how many items a fan-out has; of an ended one, those that have begun."""
    if number in seen.fans:
        return seen.fans[number].total
    found = all_ends_of(seen.take.run_id).filter(
        step=number, item__gte=0, take=seen.take_of(number)
    )
    last: int | None = found.aggregate(last=Max("item"))["last"]
    return 0 if last is None else last + 1


def items_with_status(
    seen: SeenRun, number: int, status: str, first: int, end: int
) -> Sequence[int]:
    """Return the first to before the last of a fan-out's items that have one of ``ITEM_STATUSES``.

    Both are places among these items, from 0.
    """
    parameters = {
        "run": seen.take.run_id,
        **bounds_of(seen.take.run_id),
        "step": number,
        "take": seen.take_of(number),
        "status": status,
        "open": _OPEN_AS.get(status, [status]),
        "first": first,
        "limit": end - first,
    }
    return [item for (item,) in rows("run_reads/items_with_status", parameters)]


def items_of(
    seen: SeenRun, number: int, items: Sequence[int]
) -> tuple[dict[int, WorkflowStep], dict[int, OpenStep]]:
    """Return those of some items of a fan-out that have ended, and that have begun, by number.

    The end of one that a retry has kept is that of the take in which it ran, with the output.
    """
    ended = all_ends_of(seen.take.run_id).filter(
        step=number, item__in=items, take=seen.take_of(number)
    )
    wanted = {"run": seen.take.run_id, "step": number, "items": list(items)}
    open_ = map(OpenStep._make, rows("run_reads/open_items", wanted))
    return {row.item: row for row in _as_they_ran(seen, ended)}, {row.item: row for row in open_}


def _as_they_ran(seen: SeenRun, ended: Iterable[WorkflowStep]) -> Iterator[WorkflowStep]:
    """Yield ends; in place of each kept one the end that it repeats, which has the same place."""
    kept = {row.place for row in ended if row.reason == KEPT}
    yield from (row for row in ended if row.reason != KEPT)
    if kept:
        numbers = {row.step for row in ended}
        found = all_ends_of(seen.take.run_id).filter(step__in=numbers, item__gte=0, place__in=kept)
        for row in found.exclude(reason=KEPT):
            row.reason = KEPT
            yield row
