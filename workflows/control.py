"""What people do to runs: cancel, pause, resume, retry, and decide about steps.

Each call locks the run, refuses what its state does not allow, and commits; then what is open is
taken back, before the commit returns to its caller. Where that fails, the repair pass finishes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from events import audit
from executions.changes.cancellation import cancel_execution
from executions.choices import RunPhase, Status
from executions.models import EndedWorkflowRun, Execution, WorkflowRun
from shared.actor import Actor
from shared.exceptions import Conflict, NotFound
from shared.sql import run as execute
from tasks.workflow.step_states import ENDED, StepState
from workflows import in_flight
from workflows.advance import reading, waiting
from workflows.advance.records import Failure, NewWait, StepEnd
from workflows.advance.run import Run
from workflows.advance.scope import STATUS_OF
from workflows.advance.stage import open_run
from workflows.advance.waiting import CANCELLED
from workflows.advance.writing import write
from workflows.marking import (
    ACTIONS,
    SKIPPED,
    Mark,
    mark_step,
    output_that_can_be_kept,
    undecided_item,
)
from workflows.pausing import PAUSING, settle_pause
from workflows.sealed import seal_output
from workflows.taking_back import take_back


@dataclass(frozen=True, slots=True)
class Scope:
    """What a cancel reaches: ``all``, ``not_started``, or ``downstream`` of the step ``key``."""

    name: str = "all"
    key: str = ""


def cancel_run(tenant_id: UUID, run_id: UUID, scope: Scope, *, actor: Actor) -> None:
    """Cancel a run, or a part of it; what runs is asked to end. Raise Conflict for an ended one.

    A take that waits for the end of the run is cancelled with all of it.
    """
    if scope.name == "all":
        _forget_wanted(tenant_id, run_id)
    if _cancel_unbegun(tenant_id, run_id, scope, actor):
        return

    def change(run: Run) -> None:
        if scope.name == "all":
            run.cancel(CANCELLED)
        elif run.is_undone:
            raise Conflict("The run is compensating; only all of it can be cancelled.")
        elif scope.name == "not_started":
            run.cancel_steps({n for n in run.plan.steps if run.states[n] == StepState.PENDING})
        else:
            run.cancel_steps(run.plan.graph.downstream([_number(run, scope.key)]))

    facts = {"scope": scope.name, **({"key": scope.key} if scope.key else {})}
    _change(tenant_id, run_id, change, ("run.cancelled", facts), actor)


def pause_run(tenant_id: UUID, run_id: UUID, *, actor: Actor) -> None:
    """Let a run start no step, and undo none, until it is resumed; what runs goes on.

    Deadlines still apply. Steps that wait for a worker are taken back, and wait for the resume, and
    so do runs of other workflows that have not begun. Raise Conflict for a run that is being
    cancelled.
    """

    def change(run: Run) -> None:
        if run.phase == RunPhase.CANCELLING:
            raise Conflict(f"The run is {run.phase}; it cannot be paused.")
        run.pause()
        run.changes.waits.append(NewWait(0, PAUSING))

    _change(tenant_id, run_id, change, ("run.paused", {}), actor)


def resume_run(tenant_id: UUID, run_id: UUID, *, actor: Actor) -> None:
    """Let a paused run go on, with the steps that were taken back."""

    def change(run: Run) -> None:
        if run.phase == RunPhase.PAUSED:
            run.resume()
            run.changes.waits.append(NewWait(0, PAUSING))

    _change(tenant_id, run_id, change, ("run.resumed", {}), actor)


def skip_step(
    tenant_id: UUID, run_id: UUID, key: str, item: int | None = None, *, actor: Actor
) -> None:
    """End a step that waits as skipped. Raise Conflict for one that has ended, or calls something.

    A step that depends on it is judged by its condition: SKIPPED is no success. Of an ended run, a
    step that has failed counts as skipped in the next take, which begins: :func:`mark_step`. With
    ``item``, end an item of a fan-out that has not begun.
    """
    mark = Mark(key, StepState.SKIPPED, SKIPPED)
    _decide(tenant_id, run_id, mark, item, actor)


def succeed_step(
    tenant_id: UUID,
    run_id: UUID,
    key: str,
    output: Any,
    item: int | None = None,
    *,
    actor: Actor,
) -> None:
    """End a step that waits as succeeded, with an output. Raise Conflict as :func:`skip_step`.

    Of an ended run, a step that has failed counts as succeeded in the next take, which begins. With
    ``item``, end an item of a fan-out that has not begun.
    """
    mark = Mark(key, StepState.SUCCEEDED, "marked_succeeded", output)
    _decide(tenant_id, run_id, mark, item, actor)


def _decide(tenant_id: UUID, run_id: UUID, mark: Mark, item: int | None, actor: Actor) -> None:
    if _has_ended(tenant_id, run_id):
        if item is not None:
            message = "The run has ended. Mark the step as a whole, or retry the run."
            raise Conflict(message, code="step_ended")
        mark_step(tenant_id, run_id, mark, actor=actor)
        return

    def change(run: Run) -> None:
        output = output_that_can_be_kept(mark.output)
        status = STATUS_OF[mark.state]
        if item is not None:
            number = undecided_item(run, _number(run, mark.key), item)
            end = StepEnd(number, item, status, mark.reason, actor=actor.name)
            if mark.state is StepState.SUCCEEDED and number in run.named:
                end.output = seal_output(output, tenant_id, run_id, number, item, run.row.take)
            done = mark.state is StepState.SUCCEEDED
            waiting.decide(run, end, waiting.ITEM_DONE if done else waiting.ITEM_SKIPPED)
            return
        end = StepEnd(_undecided(run, mark.key), -1, status, mark.reason, actor=actor.name)
        run.end_step(end, mark.state, output)

    facts = {"key": mark.key, **({} if item is None else {"item": item})}
    _change(tenant_id, run_id, change, (ACTIONS[mark.reason], facts), actor)


def approve_step(
    tenant_id: UUID,
    run_id: UUID,
    key: str,
    *,
    approved: bool,
    take: int,
    note: str,
    actor: Actor,
) -> None:
    """Decide about an approval that waits; ``take`` is the one that it was shown for."""

    def change(run: Run) -> None:
        number = _number(run, key)
        if run.plan.steps[number]["kind"] != "approval":
            raise Conflict(f"Step {key!r} is no approval.", code="not_an_approval")
        if not run.is_open(number, take):
            raise Conflict(f"Step {key!r} does not wait for an approval of take {take}.")
        failure = None if approved else Failure("approval_rejected", note or "It was refused.")
        end = StepEnd(
            number,
            -1,
            "SUCCEEDED" if approved else "FAILED",
            "approved" if approved else "approval_rejected",
            failure=failure,
            actor=actor.name,
            note=note,
        )
        output = {"approved_by": actor.name, "note": note}
        run.end_step(end, StepState.SUCCEEDED if approved else StepState.FAILED, output)

    facts = {"key": key, "approved": approved, "take": take, "note": note}
    _change(tenant_id, run_id, change, ("run.step_decided", facts), actor)


def _change(
    tenant_id: UUID,
    run_id: UUID,
    change: Callable[[Run], None],
    entry: tuple[str, dict[str, Any]],
    actor: Actor,
) -> None:
    with transaction.atomic():
        run = _locked(tenant_id, run_id)
        change(run)
        run.judge()
        if run.changes.begins:
            # First, as an advance does.
            in_flight.follow_ends({tenant_id})
        write([run])
        name, facts = entry
        audit.record_many(tenant_id, actor, [audit.Change(name, "run", run_id, after=facts)])
        if left := run.to_take_back:
            # After the commit, of a caller's transaction too: until then the run's lock is held.
            transaction.on_commit(lambda: take_back({run_id: left}), robust=True)
        if any(wait.kind == PAUSING for wait in run.changes.waits):
            transaction.on_commit(lambda: settle_pause(tenant_id, run_id), robust=True)


def _locked(tenant_id: UUID, run_id: UUID) -> Run:
    if not WorkflowRun.objects.filter(pk=run_id, tenant_id=tenant_id).exists():
        _refuse_absent(tenant_id, run_id)
    rows = reading.lock([run_id])
    if not rows:
        _refuse_absent(tenant_id, run_id)
    execution = Execution.objects.get(pk=rows[0].execution_id)
    if execution.status != Status.RUNNING:
        raise Conflict("The run has not begun.", code="not_begun")
    return open_run(rows[0])


def _has_ended(tenant_id: UUID, run_id: UUID) -> bool:
    if WorkflowRun.objects.filter(pk=run_id).exists():
        return False
    return EndedWorkflowRun.objects.latest_of(tenant_id, run_id) is not None


def _refuse_absent(tenant_id: UUID, run_id: UUID) -> None:
    ended = EndedWorkflowRun.objects.latest_of(tenant_id, run_id)
    if ended is not None:
        raise Conflict(f"The run is {ended.status} already.", code="already_final")
    waiting = Execution.objects.filter(pk=run_id, tenant_id=tenant_id, pool="workflow").first()
    if waiting is not None:
        raise Conflict("The run has not begun.", code="not_begun")
    raise NotFound("There is no such run.")


def _cancel_unbegun(tenant_id: UUID, run_id: UUID, scope: Scope, actor: Actor) -> bool:
    """Cancel a run whose take waits to begin; return whether it was one."""
    live = WorkflowRun.objects.filter(pk=run_id, tenant_id=tenant_id).first()
    execution_id = live.execution_id if live else run_id
    found = Execution.objects.filter(pk=execution_id, tenant_id=tenant_id, pool="workflow").first()
    if found is None or found.status != Status.PENDING or scope.name == "downstream":
        return False
    cancel_execution(tenant_id, execution_id, actor=actor)
    return True


def _forget_wanted(tenant_id: UUID, run_id: UUID) -> None:
    if WorkflowRun.objects.filter(pk=run_id, tenant_id=tenant_id).exists():
        execute("workflow_takes/forget_wanted", {"run": run_id})


def _number(run: Run, key: str) -> int:
    numbers = run.plan.definition.target["numbers"]
    number: int | None = numbers.get(key)
    if number is None or number not in run.plan.steps:
        raise NotFound(f"The run has no step {key[:100]!r}.")
    return number


def _undecided(run: Run, key: str) -> int:
    number = _number(run, key)
    state = StepState(run.states[number])
    if state in ENDED:
        raise Conflict(f"Step {key!r} has ended already.", code="step_ended")
    if state is StepState.OPEN and run.plan.steps[number]["kind"] in ("target", "workflow"):
        raise Conflict(f"Step {key!r} is under way; cancel it first.", code="still_running")
    return number
