"""One run while it is advanced: applies what has happened, and judges what that leads to.

Nothing here writes: ``changes`` has what the caller stores, under the run's lock that it holds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from executions.choices import COMPENSATION, RunPhase
from shared.encryption import DecryptionFailed
from tasks.workflow import judging
from tasks.workflow.graph import Step
from tasks.workflow.references import TemplateInvalid
from tasks.workflow.step_states import ENDED, StepState
from workflows.advance import compensating, waiting
from workflows.advance.begins import Beginnings, Prepared, failure_of
from workflows.advance.kept_items import kept_ends
from workflows.advance.outputs import OutputInvalid, output_of
from workflows.advance.records import (
    Changes,
    Ended,
    Failure,
    FanRow,
    RunRow,
    StepEnd,
    Told,
    Waiting,
)
from workflows.advance.scope import STATUS_OF, Known
from workflows.plan import Plan
from workflows.sealed import seal_output

log = logging.getLogger("workflows.advance")

#: Kinds of step that are executions.
_EXECUTED = ("target", "workflow")
#: How the end of a step's execution ends the step; the pause of a place cannot skip one.
_END_OF = {
    "SUCCEEDED": StepState.SUCCEEDED,
    "FAILED": StepState.FAILED,
    "CANCELLED": StepState.CANCELLED,
    "SKIPPED": StepState.CANCELLED,
}
_REASONS = {
    StepState.BLOCKED: "dependency_failed",
    StepState.SKIPPED: "condition_not_met",
    StepState.CANCELLED: "run_cancelled",
}


class Run:
    """A locked run, and what has changed in it."""

    def __init__(
        self,
        row: RunRow,
        plan: Plan,
        *,
        fans: Mapping[int, FanRow],
        waits: Mapping[int, list[Waiting]],
        sealed_outputs: dict[int, bytes],
        signals: Mapping[UUID, Any] | None = None,
    ) -> None:
        self.signals = signals or {}
        self.row, self.plan = row, plan
        self.states, self.takes = bytearray(row.states), bytearray(row.takes)
        self.phase, self.reason, self.ends = row.phase, row.reason, row.ends
        self.first_failed = row.first_failed
        self.fans, self.waits = dict(fans), dict(waits)
        self.changes = Changes()
        #: Its take has ended before it began.
        self.abandoned = False
        self.known = Known(row, plan, self.states, self.takes, sealed_outputs)
        self._begins = Beginnings(self)
        #: Steps whose output is kept: of a run that a step began, the last ones are its output.
        self.named = plan.named | (plan.last if row.parent_run else frozenset())
        #: Steps whose ends or begins are not judged yet.
        self._changed: set[int] = set()

    @property
    def status(self) -> StepState | None:
        """How the run ends; None while something of it is open."""
        if any(fan.outstanding for fan in self.fans.values()) or self.abandoned:
            return None
        ended = judging.end_of(self.plan.graph, self.states)
        if ended is not None and self.reason == waiting.DEADLINE_EXCEEDED:
            ended = StepState.FAILED
        # A paused run that has failed is undone when it is resumed.
        undoes = self.phase == RunPhase.PAUSED and self.plan.compensates
        return None if undoes and ended is StepState.FAILED else ended

    @property
    def to_take_back(self) -> set[int]:
        """Steps whose open executions are to be taken back when this has been committed.

        Each advance names them again, for a process that died before it did so.
        """
        found = self.changes.take_back | waiting.marked(self)
        unwanted = set(self.plan.steps)
        if self.phase == RunPhase.FAILING:
            unwanted -= self.plan.graph.for_failures
        if self.phase in (RunPhase.FAILING, RunPhase.CANCELLING):
            under_way = (StepState.OPEN, StepState.COMPENSATING)
            found.update(n for n in unwanted if self.states[n] in under_way and self.executes(n))
        return found

    @property
    def has_more(self) -> bool:
        """Whether the next advance begins more items, without anything happening before."""
        return any(
            self.is_open(number) and row.fan.has_room and self.phase != RunPhase.PAUSED
            for number, row in self.fans.items()
        )

    @property
    def moves_quietly(self) -> bool:
        """Whether it has changed without the begin of a step and its own end, which are events."""
        if self.changes.begins or self.status is not None:
            return False
        return bool(self.changes.ends or self.changes.waits) or self.phase != self.row.phase

    @property
    def is_undone(self) -> bool:
        """Whether the run has failed and is being undone, also while it is paused."""
        return self.phase == RunPhase.COMPENSATING or StepState.COMPENSATING in self.states

    @property
    def was_cancelled(self) -> bool:
        """Whether a person, or a run above, has cancelled it."""
        return self.reason == waiting.CANCELLED

    def is_open(self, step: int, take: int | None = None) -> bool:
        """Return whether the step has begun, in this take where one is given, and not ended."""
        fits = take is None or self.takes[step] == take
        return self.states[step] == StepState.OPEN and fits

    def begin(self) -> None:
        """Judge all steps, as at the begin of a take."""
        self._changed.update(self.plan.graph.order)

    def apply(self, told: Told, ended: Mapping[Any, Ended]) -> None:
        """Apply a row of the inbox; one of an earlier take changes nothing."""
        if told.kind == "began":
            self.begin()
        elif told.kind == "cancel":
            self.cancel(waiting.CANCELLED)
        elif told.kind == "due":
            waiting.expire(self, told)
        elif told.kind == "signal":
            waiting.release(self, told)
        elif told.step is None:
            self.abandoned = told.take == self.row.take
        elif told.item == COMPENSATION and told.execution_id in ended:
            compensating.apply_end(self, told, ended[told.execution_id])
        elif told.execution_id in ended:
            self._end_execution(told.step, told, ended[told.execution_id])

    def _end_execution(self, step: int, told: Told, ended: Ended) -> None:
        item = -1 if told.item is None else told.item
        if told.take != self.takes[step] or step not in self.plan.steps:
            log.info("step_end.stale", extra={"run_id": str(self.row.id), "step": step})
            return
        if item < 0 and self.states[step] != StepState.OPEN:
            return
        state, failure, output = _END_OF[ended.status], None, None
        if state is StepState.FAILED:
            failure = Failure(ended.error_code or ended.reason, ended.error_message)
        elif state is StepState.SUCCEEDED and step in self.named:
            try:
                output = output_of(ended, self.row.tenant_id)
            except (OutputInvalid, DecryptionFailed) as wrong:
                state, failure = StepState.FAILED, failure_of(wrong)
        reason = ended.reason if failure is None else failure.code
        if state is StepState.CANCELLED and waiting.is_late(self, step):
            state, failure = StepState.FAILED, waiting.FAILURES["deadline"]
            reason = failure.code
        end = StepEnd(
            step,
            item,
            STATUS_OF[state],
            reason,
            execution_id=ended.id,
            started_at=ended.started_at,
            finished_at=ended.finished_at,
            failure=failure,
        )
        if item >= 0:
            self._end_item(end, output)
        else:
            self.end_step(end, state, output)

    def end_step(self, end: StepEnd, state: StepState, output: Any = None) -> None:
        """End an open or waiting step; its dependents are judged later."""
        number = end.step
        if number in self.named and state is StepState.SUCCEEDED:
            end.output = self._sealed(output, number)
            self.known.learn(number, output)
        if end.started_at is None:
            end.started_at = waiting.begin_of(self, number)
        if self.states[number] == StepState.PENDING:
            self._keep_items(number)
        self.states[number], self.takes[number] = state, self.row.take
        if state is StepState.FAILED and self.first_failed is None:
            self.first_failed = number
        self.append(end)
        self._stop_waiting(number)
        self._changed.add(number)

    def _keep_items(self, number: int) -> None:
        """Keep the items of a fan-out that ends before it begins again, for a later take."""
        if self.takes[number]:
            self.changes.ends.extend(kept_ends(self.row.id, number, self.takes[number]))

    def pause(self) -> None:
        """Begin no step and undo none, from the commit on."""
        self.phase = RunPhase.PAUSED

    def resume(self) -> None:
        """Go on from where a pause has stopped the run: it runs, is being undone, or cancelled."""
        if self.reason not in waiting.ENDING:
            self.reason = ""
        if self.is_undone:
            self.phase = RunPhase.COMPENSATING
        elif self.reason:
            self.phase = RunPhase.CANCELLING
        else:
            # What has failed is judged again: then it fails, or is undone.
            self.phase = RunPhase.RUNNING
            self.begin()

    def cancel(self, reason: str) -> None:
        """Cancel all that has not ended; what runs is asked to end after the commit."""
        if self.phase == RunPhase.CANCELLING:
            return
        self.phase, self.reason = RunPhase.CANCELLING, reason
        self._cancel(set(self.plan.steps))

    def cancel_steps(self, steps: set[int]) -> None:
        """Cancel these steps, as far as they have not ended."""
        for number in steps:
            if self.is_open(number) and self.executes(number) and number not in self.fans:
                waiting.mark(self, number, waiting.UNWANTED)
        self._cancel(steps)

    def judge(self) -> None:
        """Judge the dependents of all that has ended: begin steps, or end them without a run."""
        while self.phase in (RunPhase.RUNNING, RunPhase.FAILING):
            if self._changed:
                changed, self._changed = self._changed, set()
                self._judge(changed)
            else:
                for number in sorted(self.fans):
                    self._begins.fill(number)
                if not self._changed:
                    break
        compensating.go_on(self)

    def _judge(self, changed: set[int]) -> None:
        prepared: dict[int, Prepared] = {}
        failed = [n for n in self.plan.steps if self.states[n] == StepState.FAILED]
        judged = judging.judge(
            self.plan.graph,
            self.states,
            changed,
            partial(self._prepare, prepared),
            fail_fast=self.plan.fail_fast,
            kept={n for n in failed if self.takes[n] != self.row.take},
        )
        for number, state in judged.ended.items():
            self._note_judged(number, state, prepared.get(number))
        for number in judged.begun:
            earlier, self.takes[number] = self.takes[number], self.row.take
            self._begins.begin(number, prepared[number], earlier)
        if judged.failing and self.phase == RunPhase.RUNNING:
            self.phase = RunPhase.FAILING
            self._cancel(set(self.plan.steps) - self.plan.graph.for_failures)

    def fan_ended(self, number: int) -> None:
        """End the step of a fan-out where its items decide so; forget one that is over."""
        row = self.fans[number]
        if self.is_open(number):
            state = row.fan.end(early=self.plan.fail_fast)
            if state is not None:
                failure, output = None, None
                if state is StepState.FAILED:
                    message = f"{row.fan.failed} of {row.fan.total} items have failed."
                    failure = Failure("items_failed", message)
                    self.changes.take_back.add(number)
                else:
                    try:
                        output = self._begins.output_of_fan(number, row)
                    except DecryptionFailed as wrong:
                        state, failure = StepState.FAILED, failure_of(wrong)
                end = StepEnd(
                    number,
                    -1,
                    STATUS_OF[state],
                    failure.code if failure else "",
                    started_at=row.began_at,
                    failure=failure,
                )
                self.end_step(end, state, output)
        if not self.is_open(number):
            self._forget_fan(number, row)

    def _forget_fan(self, number: int, row: FanRow) -> None:
        """Forget a fan-out that has ended; take back the items of it that are still open."""
        if not row.outstanding:
            self._stop_waiting(number)
            self.changes.ended_fans.add(number)
            self.changes.fans.discard(number)
            del self.fans[number]
        elif not waiting.is_marked(self, number):
            waiting.mark(self, number, waiting.UNWANTED)

    def _prepare(self, prepared: dict[int, Prepared], step: Step) -> StepState:
        try:
            made = self._begins.prepare(step.number)
        except (TemplateInvalid, OutputInvalid, DecryptionFailed) as wrong:
            made = Prepared(StepState.FAILED, failure=failure_of(wrong))
        prepared[step.number] = made
        if made.state is StepState.SUCCEEDED:
            self.known.learn(step.number, made.output)
        return made.state

    def _note_judged(self, number: int, state: StepState, made: Prepared | None) -> None:
        failure = made.failure if made and state is made.state else None
        reason = failure.code if failure else _REASONS.get(state, "")
        if made and state is StepState.SKIPPED and made.state is state:
            reason = "when_not_met"
        end = StepEnd(number, -1, STATUS_OF[state], reason, failure=failure)
        if state is StepState.SUCCEEDED and number in self.named:
            output = made.output if made else None
            end.output = self._sealed(output, number)
        self._keep_items(number)
        self.takes[number] = self.row.take
        if state is StepState.FAILED and self.first_failed is None:
            self.first_failed = number
        self.append(end)

    def _sealed(self, output: Any, number: int, item: int = -1) -> bytes:
        row = self.row
        return seal_output(output, row.tenant_id, row.id, number, item, row.take)

    def _end_item(self, end: StepEnd, output: Any) -> None:
        row = self.fans.get(end.step)
        if row is None:
            return
        if end.status == "SUCCEEDED":
            row.fan.succeeded += 1
            if end.step in self.named:
                end.output = self._sealed(output, end.step, end.item)
        else:
            row.fan.failed += 1
        self.changes.fans.add(end.step)
        self.append(end)
        self.fan_ended(end.step)

    def end_item_unstarted(self, end: StepEnd) -> None:
        """Note an item that ended without an execution, and is counted already."""
        self.changes.fans.add(end.step)
        self.append(end)

    def executes(self, step: int) -> bool:
        """Return whether the step is an execution, or several."""
        return self.plan.steps[step]["kind"] in _EXECUTED

    def _cancel(self, steps: set[int]) -> None:
        for number in self.plan.graph.order:
            if number not in steps or StepState(self.states[number]) in ENDED:
                continue
            if self.states[number] == StepState.COMPENSATING:
                self.changes.take_back.add(number)
                continue
            if self.states[number] == StepState.OPEN and self.executes(number):
                self.changes.take_back.add(number)
                if number not in self.fans:
                    # It ends with its execution.
                    continue
            end = StepEnd(number, -1, "CANCELLED", _REASONS[StepState.CANCELLED])
            self.end_step(end, StepState.CANCELLED)
            if number in self.fans:
                self.fan_ended(number)

    def _stop_waiting(self, number: int) -> None:
        if self.waits.pop(number, None) is not None:
            self.changes.settled.add(number)
        self.changes.waits = [wait for wait in self.changes.waits if wait.step != number]

    def append(self, end: StepEnd) -> None:
        """Note an end in the order of the run's ends."""
        self.ends += 1
        end.place = self.ends
        self.changes.ends.append(end)
