"""Every reason for which open work waits on hold or parked: who sets it and what ends it.

``docs/architecture/on-hold.md`` shows this table. Tests hold it to the statements: one that puts
work on hold, or frees it, stands here, each reason has something that wakes it, and a check of
Explain that shows it. The function ``judged_after_outage`` of the database is the last column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hold:
    """One reason to wait.

    ``reason`` is the word in the ledger, '' where a mark says it. ``sets`` and ``frees`` are
    statements, ``wakes`` is the function that looks again by itself, ``check`` is of Explain.
    """

    name: str
    mark: str
    sets: tuple[str, ...]
    frees: tuple[str, ...]
    wakes: str
    check: str
    reason: str = ""
    #: Whether the misfire policy judges it after a time without a scheduler, and why or why not.
    judged: bool = False
    why: str = ""


_CLAIMS = ("dispatch/claim_due", "dispatch/claim_due_within", "dispatch/claim_by_shares")
HOLDS: Sequence[Hold] = (
    Hold(
        "its task is paused",
        "task PAUSED; `key_place` -1",
        ("changing/hold", "workflow_takes/insert_children"),
        ("changing/hold",),
        "executions.changes.ending_pauses.run_once",
        "task_active",
        why="`on_resume` decides",
    ),
    Hold(
        "the gate: overlap policy, `max_concurrent`, budget",
        "`gated`",
        (
            "materialize/insert_open",
            "backfill/insert_executions",
            "changing/insert_manual",
            "changing/gate_prepared",
            "workflow_takes/insert_take",
            "workflow_takes/insert_children",
            "gate/put_back",
        ),
        ("gate/admit", "changing/gate_prepared"),
        "executions.gate.stage.run_once",
        "overlap",
        judged=True,
        why="it has not begun",
    ),
    Hold(
        "its concurrency key",
        "`key_place` 0",
        (
            "materialize/insert_open",
            "backfill/insert_executions",
            "changing/insert_manual",
            "changing/key_prepared",
            "workflow_takes/insert_take",
            "workflow_takes/insert_children",
            "complete/try_again",
            "gate/admit",
            "workflow_limits/put_by",
        ),
        ("keys/admit", "changing/key_prepared"),
        "executions.gate.keys.run_once",
        "concurrency_key",
        judged=True,
        why="it has not begun",
    ),
    Hold(
        "the runs in flight of its tenant",
        "run of a workflow on hold; `key_place` -1",
        ("workflow_limits/put_by",),
        ("workflow_limits/free_runs", "changing/gate_prepared"),
        "workflows.stages.free_waiting",
        "tenant_limit",
        "tenant_limit",
        judged=True,
        why="it has not begun",
    ),
    Hold(
        "the steps in flight of its tenant",
        "step on hold",
        (
            "workflow_runs/insert_steps",
            "pausing/free_steps",
            "pausing/free_steps_of_run",
            "pausing/release_suspended_work",
        ),
        ("workflow_limits/free_steps",),
        "workflows.stages.free_waiting",
        "tenant_limit",
        "tenant_limit",
        why="a step has no schedule",
    ),
    Hold(
        "the suspension of its tenant",
        "on hold; `key_place` -1",
        (
            "pausing/hold_other_work",
            "workflow_runs/insert_steps",
            "workflow_takes/insert_children",
            "workflow_limits/free_steps",
        ),
        ("pausing/release_suspended_work",),
        "executions.changes.suspension.mend",
        "tenant_active",
        "tenant_suspended",
        why="the end of the suspension decides",
    ),
    Hold(
        "the pause of its pool or destination",
        "step on hold",
        ("pausing/hold_steps", "workflow_runs/insert_steps", "workflow_limits/free_steps"),
        ("pausing/free_steps",),
        "executions.changes.bulk_pause.end_due",
        "task_active",
        "place_paused",
        why="a step has no schedule",
    ),
    Hold(
        "the pause of its run",
        "step on hold; `key_place` -1",
        ("pausing/hold_steps_of_run", "fence/pause_runs"),
        ("pausing/free_steps_of_run",),
        "workflows.pausing.settle_pauses_in",
        "task_active",
        "run_paused",
        why="a step has no schedule",
    ),
    *(
        Hold(
            name,
            "`parked`",
            (*_CLAIMS, "complete/defer"),
            (*_CLAIMS, "dispatch/claim_these"),
            "executions.dispatch.stage.Dispatcher",
            "destination",
            reason,
            why="it was released in time",
        )
        for name, reason in (
            ("the circuit of its destination", "circuit_open"),
            ("the rate of its destination", "destination_rate"),
            ("the requests in flight of its destination", "destination_in_flight"),
        )
    ),
    Hold(
        "the executions of its tenant, in flight or in a second",
        "neither held nor parked",
        ("complete/defer",),
        _CLAIMS,
        "executions.dispatch.stage.Dispatcher",
        "tenant_limit",
        "tenant_limit",
        why="it was released in time",
    ),
)


def render_holds() -> str:
    """Return the table of the page as Markdown."""
    lines = [
        "| It waits for | Reason and mark | Set by | Ended by | Looked at by | Explain | Misfire |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in HOLDS:
        word = f"`{one.reason}`, {one.mark}" if one.reason else one.mark
        judged = f"{'yes' if one.judged else 'no'}: {one.why}"
        cells = (one.name, word, _named(one.sets), _named(one.frees), f"`{one.wakes}`")
        lines.append(f"| {' | '.join(cells)} | `{one.check}` | {judged} |")
    return "\n".join(lines)


def _named(statements: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in statements)
