"""What the ends of waits do, and the marks of steps that are taken back."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tasks.workflow.step_states import StepState
from workflows.advance.records import Failure, NewWait, StepEnd, Told, Waiting

if TYPE_CHECKING:
    from workflows.advance.run import Run

#: Why a run cancels its steps: a person or a run above, or its deadline has passed.
CANCELLED, DEADLINE_EXCEEDED = "cancelled", "deadline_exceeded"
#: Reasons of runs that are being cancelled; they stay through a pause, and are those of the end.
ENDING = (CANCELLED, DEADLINE_EXCEEDED)
#: Marks of steps whose executions are to be taken back: their time is over, or a person cancels
#: them, or they are items of a fan-out that has ended. They stand where others wait.
LATE, UNWANTED = "late", "unwanted"
MARKS = (LATE, UNWANTED)
#: Waits that are the step itself.
_KINDS = ("delay", "event", "approval")
#: Items of a fan-out that a person has ended before they began, and how each counts.
ITEM_DONE, ITEM_SKIPPED = "item_done", "item_skipped"
#: What waits for the end of its time -> the reason and error code with which it fails.
FAILURES = {
    "event": Failure("event_timeout", "The event did not come in time."),
    "approval": Failure("approval_timeout", "Nothing was decided in time."),
    "deadline": Failure(DEADLINE_EXCEEDED, "The step did not end by its deadline."),
}


def expire(run: Run, told: Told) -> None:
    """Apply the end of a wait's time."""
    step, kind = told.step or 0, str(told.status)
    if step == 0:
        # Else it fires again, until what runs has ended.
        run.changes.settled.add(step)
        # What is being undone is not cancelled: it would be left half undone.
        if told.take == run.row.take and not run.abandoned and not run.is_undone:
            run.cancel(DEADLINE_EXCEEDED)
        return
    if not run.is_open(step, told.take):
        return
    if kind == "delay":
        run.end_step(StepEnd(step, -1, "SUCCEEDED"), StepState.SUCCEEDED)
    elif kind == "deadline" and step not in run.fans and run.executes(step):
        # Its execution is taken back, and then it fails; until then it is known to be late.
        mark(run, step, LATE)
    else:
        failure = FAILURES[kind]
        end = StepEnd(step, -1, "FAILED", failure.code, failure=failure)
        run.end_step(end, StepState.FAILED)
        if step in run.fans:
            run.changes.take_back.add(step)
            run.fan_ended(step)


def release(run: Run, told: Told) -> None:
    """End a step that waited for a signal, with what the signal brought."""
    step, signal_id = told.step or 0, told.execution_id
    if not run.is_open(step, told.take) or signal_id is None:
        return
    end = StepEnd(step, -1, "SUCCEEDED", execution_id=signal_id)
    run.end_step(end, StepState.SUCCEEDED, run.signals.get(signal_id))


def begin_of(run: Run, step: int) -> datetime | None:
    """Return when a delay, an approval or a wait for an event began; None of any other step."""
    begins = [wait.began_at for wait in run.waits.get(step, ()) if wait.kind in _KINDS]
    return min(begins, default=None)


def is_late(run: Run, step: int) -> bool:
    """Return whether the execution of a step is taken back because its time is over."""
    return any(wait.kind == LATE for wait in run.waits.get(step, ()))


def marked(run: Run) -> set[int]:
    """Return the steps with a mark."""
    return {n for n, waits in run.waits.items() if any(wait.kind in MARKS for wait in waits)}


def is_marked(run: Run, step: int) -> bool:
    """Return whether the step has a mark."""
    return any(wait.kind in MARKS for wait in run.waits.get(step, ()))


def mark(run: Run, step: int, why: str) -> None:
    """Note that the execution of a step is to be taken back, for a process that dies first."""
    run.changes.settled.add(step)
    run.changes.waits.append(NewWait(step, why))
    run.waits[step] = [Waiting(run.row.id, step, -1, why, run.row.take, run.row.began_at, None)]
    run.changes.take_back.add(step)


def decided(run: Run, step: int) -> dict[int, str]:
    """Return the items of a fan-out that a person has ended before they began."""
    kinds = (ITEM_DONE, ITEM_SKIPPED)
    return {wait.item: wait.kind for wait in run.waits.get(step, ()) if wait.kind in kinds}


def decide(run: Run, end: StepEnd, kind: str) -> None:
    """End an item of a fan-out that has not begun; it is counted when its turn comes."""
    run.append(end)
    run.changes.waits.append(NewWait(end.step, kind, item=end.item))
    wait = Waiting(run.row.id, end.step, end.item, kind, run.row.take, run.row.began_at, None)
    run.waits.setdefault(end.step, []).append(wait)
