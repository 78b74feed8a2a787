"""Every write of a run's status, and the first state of its steps' executions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from executions import run_signals
from executions.changes import paused_places
from executions.changes.paused_places import Reason
from executions.choices import Status, Trigger
from executions.ledger import final_log, minute_stats, settling, spans, totals
from executions.ledger.days import ensure_days_of
from executions.ledger.final_log import Final
from executions.ledger.minute_stats import Ended, Kind
from executions.ledger.settling import Settled
from executions.transitions import Finish, insert_letters
from shared.sql import Asked, Done, rows, run, together
from shared.sql_arrays import of_blobs, of_floats, of_integers, of_texts, of_uuids
from tasks import standing_pauses
from workflows import in_flight
from workflows.advance import reading
from workflows.advance.records import Ending, RunEnd, RunRow, StepBegin
from workflows.plan import Call, Plan

_TASK_OF_END = 3


def begin_runs(partitions: Sequence[int], limit: int) -> list[tuple[Any, ...]]:
    """Move due runs from PENDING to RUNNING; return the columns of ``workflow_runs/begin``."""
    within = in_flight.due_within_limits(partitions, limit)
    scope = {"partitions": list(partitions), "limit": limit}
    found = rows("workflow_runs/begin", {**scope, **within._asdict()})
    if found:
        settling.begin_tasks(sorted({row[2] for row in found}))
    return found


def begin_steps(
    begun: Sequence[tuple[RunRow, Plan, list[StepBegin]]],
    before: Sequence[Asked],
    after: Sequence[Asked],
) -> list[Done]:
    """Insert PENDING executions of steps, due now; those of a suspended tenant are on hold.

    ``before`` and ``after`` it run other statements, in the same round trips; return the results of
    the latter.
    """
    made = [(row, plan, begin) for row, plan, begins in begun for begin in begins]
    if not made:
        return together(*before, *after)[len(before) :]
    tenants = sorted({row.tenant_id for row, _, _ in made})
    # The race: a suspension that begins now would not see them.
    shared = [standing_pauses.sharing(tenant_id) for tenant_id in tenants]
    holding = together(*before, *shared, paused_places.asking(tenants))[-1].rows
    reason = paused_places.reasons_of(holding)
    asked = [
        *_of_children([one for one in made if one[2].child is not None]),
        *_of_calls([one for one in made if one[2].child is None], reason),
    ]
    return together(*asked, *after)[len(asked) :]


def _of_children(made: Sequence[tuple[RunRow, Plan, StepBegin]]) -> list[Asked]:
    if not made:
        return []
    columns = {
        "tasks": [begin.child for _, _, begin in made],
        "priorities": [plan.definition.priority for _, plan, _ in made],
        **_of_steps(made),
    }
    return [("workflow_takes/insert_children", columns)]


def _call_of(plan: Plan, begin: StepBegin) -> Call:
    return (plan.undoing if begin.undoes else plan.calls)[begin.step]


def _held_for(made: Sequence[tuple[RunRow, Plan, StepBegin]], reason: Reason) -> list[str]:
    """Return why each step is on hold from its begin, '' where it is not."""
    calls = [(row.tenant_id, _call_of(plan, begin)) for row, plan, begin in made]
    held_for = [reason(tenant_id, call.pool, call.destination) for tenant_id, call in calls]
    return in_flight.reasons_to_wait([row.tenant_id for row, _, _ in made], held_for)


def _of_steps(made: Sequence[tuple[RunRow, Plan, StepBegin]]) -> dict[str, object]:
    return {
        "ids": of_uuids([begin.execution_id for _, _, begin in made]),
        "tenants": of_uuids([row.tenant_id for row, _, _ in made]),
        "payloads": of_blobs([begin.payload for _, _, begin in made]),
        "parents": of_uuids([row.execution_id for row, _, _ in made]),
        "runs": of_uuids([row.id for row, _, _ in made]),
        "steps": of_integers([begin.step for _, _, begin in made]),
        "items": of_integers([begin.item for _, _, begin in made]),
        "takes": of_integers([row.take for row, _, _ in made]),
    }


def _of_calls(made: Sequence[tuple[RunRow, Plan, StepBegin]], reason: Reason) -> list[Asked]:
    if not made:
        return []
    calls = [_call_of(plan, begin) for _, plan, begin in made]
    columns = {
        **_of_steps(made),
        "tasks": of_uuids([row.task_id for row, _, _ in made]),
        "partitions": of_integers([row.partition for row, _, _ in made]),
        "priorities": of_integers([call.priority for call in calls]),
        "pools": of_texts([call.pool for call in calls]),
        "destinations": of_texts([call.destination for call in calls]),
        "revisions": of_integers([call.revision for call in calls]),
        "max_attempts": of_integers([call.max_attempts for call in calls]),
        "timeouts": of_floats([call.timeout_seconds for call in calls]),
        "held_for": of_texts(_held_for(made, reason)),
    }
    return [("workflow_runs/insert_steps", columns)]


def end_runs(ends: Sequence[RunEnd], *, begun: bool = True) -> None:
    """Move RUNNING runs to their end, with event and dead letter.

    Without ``begun``, PENDING ones that never begin. The error of a failed one is that of its first
    failed step. Settles the tasks.
    """
    ended = [(one.row, one.status, one.reason) for one in ends]
    ids = [row.execution_id for row, _, _ in ended]
    ensure_days_of([*ids, *(row.id for row, _, _ in ended)])
    causes = _causes([row for row, status, _ in ended if status == "FAILED"])
    facts = [_facts(row, status, reason, causes) for row, status, reason in ended]
    statuses, reasons = [status for _, status, _ in ended], [fact[0] for fact in facts]
    found = rows(
        "workflow_ends/end_runs",
        {
            "ids": ids,
            "statuses": statuses,
            "reasons": reasons,
            "error_codes": [fact[1] for fact in facts],
            "error_messages": [
                fact[2] or one.message for fact, one in zip(facts, ends, strict=True)
            ],
            "results": [one.result for one in ends],
            "before": Status.RUNNING if begun else Status.PENDING,
        },
    )
    run(
        "workflow_ends/archive_runs",
        {"ids": [row.id for row, _, _ in ended], "statuses": statuses, "reasons": reasons},
    )
    moved = settling.first_ends(found, task_at=_TASK_OF_END)
    by_id = {row.execution_id: fact for (row, _, _), fact in zip(ended, facts, strict=True)}
    finishes = [
        Finish(row[0], 0, 1, row[2], "", row[9], error_code=by_id[row[0]][1]) for row in moved
    ]
    insert_letters([one for one in finishes if one.status == "FAILED"])
    if moved:
        _settle(moved, finishes)
    run_signals.tell([row[8] for row in moved])


def _settle(moved: Sequence[tuple[Any, ...]], finishes: Sequence[Finish]) -> None:
    """Settle the tasks of runs that have ended, and count and log the ends."""
    settling.settle(
        [Settled(row[0], row[3], row[2], row[4], row[5], row[6]) for row in moved],
        freed=[row[7] for row in moved if row[7]],
    )
    minute_stats.count(
        [Ended(row[0], row[1], row[2], 1, None, _minute_of(row[6]), Kind.RUN) for row in moved],
        totals.of_runs(row[2] for row in moved),
    )
    unsuccessful = [row for row in moved if row[2] != "SUCCEEDED"]
    final_log.note_ended(
        [Final(row[0], row[1], row[2], 1, row[3], row[9], row[10]) for row in unsuccessful],
        finishes,
    )
    spans.note_ended(Final(row[0], row[1], row[2], 1, row[3], row[9], row[10]) for row in moved)


def archive_unbegun(ended: Sequence[RunRow]) -> None:
    """Move takes that were cancelled before they began to the history; their executions are."""
    ids = [row.id for row in ended]
    cancelled = ["CANCELLED" for _ in ended]
    run(
        "workflow_ends/archive_runs",
        {"ids": ids, "statuses": cancelled, "reasons": ["cancelled" for _ in ended]},
    )


def insert_take(parameters: dict[str, Any]) -> UUID:
    """Insert the PENDING execution of a run's next take, and its row; return the execution."""
    found: UUID = rows("workflow_takes/insert_take", parameters)[0][0]
    totals.add({f"scheduled/{Trigger.RETRY}": 1})
    return found


def _minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _causes(rows_: Sequence[Ending]) -> dict[UUID, tuple[str, str]]:
    """Return code and message of the first failed step of each run."""
    if not rows_:
        return {}
    ids = [row.id for row in rows_]
    found = rows("workflow_ends/first_failures", {"runs": ids, **reading.bounds(ids)})
    return {run_id: (code, message) for run_id, code, message in found}


def _facts(
    row: Ending, status: str, reason: str, causes: dict[UUID, tuple[str, str]]
) -> tuple[str, str, str]:
    """Return reason, error code and error message of a run's end."""
    if status != "FAILED":
        return reason or ("" if status == "SUCCEEDED" else "cancelled"), "", ""
    code, message = causes.get(row.id, (reason, ""))
    return reason or "step_failed", code or reason, message
