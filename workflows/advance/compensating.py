"""Undoes what has succeeded of a run that has failed: step by step, the last first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from executions.choices import COMPENSATION, RunPhase
from executions.payloads import seal_payload
from shared.encryption import DecryptionFailed
from shared.ids import new_id
from tasks.workflow.references import TemplateInvalid
from tasks.workflow.step_states import StepState
from workflows.advance.begins import failure_of
from workflows.advance.outputs import OutputInvalid
from workflows.advance.reading import ends_in_order
from workflows.advance.records import Ended, Failure, StepBegin, StepEnd, Told
from workflows.advance.rendering import own_of

if TYPE_CHECKING:
    from workflows.advance.run import Run

#: Error codes of an attempt whose effect is not known, by the end that ``compensate.on`` names.
_UNKNOWN: Mapping[str, str] = {
    "timeout_total": "TIMED_OUT",
    "timeout_connect": "TIMED_OUT",
    "heartbeat_lost": "TIMED_OUT",
    "worker_lost": "WORKER_LOST",
}


def go_on(run: Run) -> None:
    """Begin to undo the next step of a run that has failed, where its definition says so.

    One at a time, in the reverse of the order in which they ended; one that fails keeps no other
    from being undone.
    """
    if not run.plan.compensates or (run.phase == RunPhase.CANCELLING and run.was_cancelled):
        return
    if run.phase != RunPhase.COMPENSATING:
        # A paused run has no status: it goes on with the resume.
        if run.status is not StepState.FAILED:
            return
        run.phase = RunPhase.COMPENSATING
    if StepState.COMPENSATING in run.states:
        return
    for number in _to_undo(run):
        if _begin(run, number):
            return


def apply_end(run: Run, told: Told, ended: Ended) -> None:
    """Apply the end of what undid a step."""
    number = told.step or 0
    if told.take != run.row.take or run.states[number] != StepState.COMPENSATING:
        return
    succeeded = ended.status == "SUCCEEDED"
    failure = None if succeeded else Failure(ended.error_code or ended.reason, ended.error_message)
    end = StepEnd(
        number,
        COMPENSATION,
        ended.status,
        ended.reason,
        execution_id=ended.id,
        started_at=ended.started_at,
        finished_at=ended.finished_at,
        failure=failure,
    )
    _note(run, end, undone=succeeded)


def _to_undo(run: Run) -> list[int]:
    """Return the steps that are still to be undone, in their order."""
    ends = ends_in_order(run.row.id)
    earlier = [(step, code) for step, take, code in ends if run.takes[step] == take]
    new = [
        (end.step, end.failure.code if end.failure else "")
        for end in reversed(run.changes.ends)
        if end.item == -1
    ]
    found = dict.fromkeys(number for number, code in [*new, *earlier] if _counts(run, number, code))
    return list(found)


def _counts(run: Run, number: int, code: str) -> bool:
    if number not in run.plan.undoing:
        return False
    ends = run.plan.steps[number]["compensate"]["on"]
    state = run.states[number]
    if state == StepState.SUCCEEDED:
        return "SUCCEEDED" in ends
    return state == StepState.FAILED and _UNKNOWN.get(code) in ends


def _begin(run: Run, number: int) -> bool:
    """Begin to undo a step; return False where its templates have no value, which is noted."""
    undo = run.plan.steps[number]["compensate"]
    try:
        payload = own_of(undo, run.known.scope())
    except (TemplateInvalid, OutputInvalid, DecryptionFailed) as wrong:
        failure = failure_of(wrong)
        _note(run, StepEnd(number, COMPENSATION, "FAILED", failure=failure), undone=False)
        return False
    execution_id = new_id()
    sealed = seal_payload(payload, run.row.tenant_id, execution_id)
    run.changes.begins.append(StepBegin(execution_id, number, COMPENSATION, sealed))
    run.states[number] = StepState.COMPENSATING
    return True


def _note(run: Run, end: StepEnd, *, undone: bool) -> None:
    run.states[end.step] = StepState.COMPENSATED if undone else StepState.NOT_COMPENSATED
    run.append(end)
