"""How the steps of a run begin: each by its kind, with the payload that its templates make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from executions.choices import RunPhase
from executions.payloads import seal_payload
from shared.encryption import DecryptionFailed
from shared.ids import new_id
from tasks.limits import FAN_OUT_ITEMS
from tasks.workflow.expressions import parse_expression
from tasks.workflow.fans import Fan
from tasks.workflow.references import Budget, Scope, TemplateInvalid, TemplateTooLarge, render
from tasks.workflow.step_states import StepState
from workflows.advance import children, waiting
from workflows.advance.kept_items import kept_among, kept_ends
from workflows.advance.outputs import MOST_BYTES, MOST_BYTES_OF_FAN, OutputInvalid
from workflows.advance.records import Failure, FanRow, NewWait, StepBegin, StepEnd
from workflows.advance.rendering import bounded, own_of
from workflows.deadlines import time_of_day
from workflows.sealed import seal_items

if TYPE_CHECKING:
    from workflows.advance.run import Run

#: How many executions one advance begins, and of fan-outs about how many bytes of payload; the next
#: one continues.
MOST_BEGINS, MOST_BYTES_BEGUN = 1000, 16 * 1024 * 1024
#: Items of a fan-out that begin between two looks at the bytes.
_ITEMS = 50


@dataclass(slots=True)
class Prepared:
    """What a step does when it begins, or how it ends at once."""

    state: StepState
    payload: Any = None
    items: list[Any] | None = None
    waits: list[NewWait] = field(default_factory=list)
    output: Any = None
    failure: Failure | None = None


class Beginnings:
    """The begins of one run's steps."""

    def __init__(self, run: Run) -> None:
        self._run = run
        #: Asked once for all items of a fan-out.
        self._refusals: dict[UUID, Failure | None] = {}
        #: Of the sealed payloads of all that has begun.
        self._bytes = 0

    def prepare(self, number: int) -> Prepared:
        """Return what the step does; nothing changes yet.

        Raise TemplateInvalid or OutputInvalid where a template has no value that fits.
        """
        step = self._run.plan.steps[number]
        scope = self._run.known.scope()
        fans_out = step.get("for_each") is not None
        if not fans_out and not _holds(step["when"], scope):
            return Prepared(StepState.SKIPPED)
        if fans_out:
            return self._prepare_fan(step, scope)
        if step["kind"] in ("target", "workflow"):
            return Prepared(StepState.OPEN, payload=self._carried(step, scope))
        return Prepared(StepState.OPEN, waits=[_wait(number, step, scope)])

    def begin(self, number: int, prepared: Prepared, earlier: int = 0) -> None:
        """Begin a step that was prepared; of a fan-out, keep what succeeded in an earlier take."""
        run = self._run
        step = run.plan.steps[number]
        run.changes.waits.extend(prepared.waits)
        schedule = run.plan.definition.schedule
        at = time_of_day(step, schedule, run.row.scheduled_for)
        if step["deadline_seconds"] is not None or at is not None:
            seconds = step["deadline_seconds"]
            run.changes.waits.append(NewWait(number, "deadline", seconds=seconds, due_at=at))
        if prepared.items is not None:
            fan = Fan(
                total=len(prepared.items),
                max_parallel=step["max_parallel"],
                min_success_share=step["min_success_share"],
            )
            sealed = seal_items(prepared.items, run.row.tenant_id, run.row.id, number)
            items = prepared.items
            kept = kept_ends(run.row.id, number, earlier) if earlier else []
            run.changes.ends.extend(kept)
            run.fans[number] = FanRow(
                run.row.take,
                fan,
                lambda: items,
                sealed_items=sealed,
                kept_of=earlier,
                kept={end.item for end in kept},
            )
            run.changes.fans.add(number)
        elif step["kind"] in ("target", "workflow"):
            self._execute(number, -1, prepared.payload)

    def fill(self, number: int) -> None:
        """Begin the next items of a fan-out, as many as its window has room for."""
        run = self._run
        row = run.fans.get(number)
        if row is None or run.phase in (RunPhase.PAUSED, RunPhase.CANCELLING):
            return
        while run.is_open(number) and self._bytes < MOST_BYTES_BEGUN:
            begun = row.fan.begin(min(_ITEMS, MOST_BEGINS - len(run.changes.begins)))
            if not begun:
                break
            run.changes.fans.add(number)
            decided = waiting.decided(run, number)
            kept = kept_among(run.row.id, number, row, begun)
            for item in begun:
                if item in kept:
                    row.fan.succeeded += 1
                elif item not in decided:
                    self._begin_item(number, item, row)
                elif decided[item] == waiting.ITEM_DONE:
                    row.fan.succeeded += 1
                else:
                    row.fan.skipped += 1
            run.fan_ended(number)

    def output_of_fan(self, number: int, row: FanRow) -> dict[str, Any]:
        """Return the output of a fan-out: its counts, and the outputs of its items if they fit."""
        fan = row.fan
        counts = {"succeeded": fan.succeeded, "failed": fan.failed, "skipped": fan.skipped}
        if number not in self._run.named:
            return counts
        known, ends = self._run.known, self._run.changes.ends
        # Asked first: 10,000 outputs of 256 KiB would be 2.5 GiB in memory, for nothing.
        if known.least_of_items(number, row, ends) <= MOST_BYTES_OF_FAN:
            outputs = known.outputs_of_items(number, row, ends)
            if len(orjson.dumps(outputs)) <= MOST_BYTES_OF_FAN:
                return {**counts, "outputs": outputs}
        return {**counts, "outputs": None, "outputs_truncated": True}

    def _prepare_fan(self, step: Any, scope: Scope) -> Prepared:
        items = render(step["for_each"], scope, Budget(MOST_BYTES_OF_FAN))
        if not isinstance(items, list):
            raise TemplateInvalid("for_each must be a list.")
        if len(items) > FAN_OUT_ITEMS:
            message = f"for_each has {len(items)} items; at most {FAN_OUT_ITEMS} are allowed."
            raise TemplateInvalid(message)
        if not items:
            nothing = {"succeeded": 0, "failed": 0, "skipped": 0, "outputs": []}
            return Prepared(StepState.SUCCEEDED, output=nothing)
        return Prepared(StepState.OPEN, items=items)

    def _begin_item(self, number: int, item: int, row: FanRow) -> None:
        run = self._run
        step = run.plan.steps[number]
        try:
            scope = run.known.scope(row.items[item], item)
            if _holds(step["when"], scope):
                self._execute(number, item, self._carried(step, scope))
                return
            row.fan.skipped += 1
            end = StepEnd(number, item, "SKIPPED", "when_not_met")
        except (TemplateInvalid, OutputInvalid, DecryptionFailed) as wrong:
            row.fan.failed += 1
            failure = failure_of(wrong)
            end = StepEnd(number, item, "FAILED", failure.code, failure=failure)
        run.end_item_unstarted(end)

    def _carried(self, step: Any, scope: Scope) -> Any:
        if step["kind"] == "target":
            return own_of(step, scope)
        self._require_child(step)
        return bounded(render(step["input"], scope, Budget(MOST_BYTES)))

    def _require_child(self, step: Any) -> None:
        """Raise OutputInvalid where the workflow of the step cannot run here."""
        wanted = UUID(step["workflow_id"])
        if wanted not in self._refusals:
            self._refusals[wanted] = children.refusal(self._run.row, wanted)
        failure = self._refusals[wanted]
        if failure is not None:
            raise OutputInvalid(failure)

    def _execute(self, number: int, item: int, payload: Any) -> None:
        execution_id = new_id()
        sealed = seal_payload(payload, self._run.row.tenant_id, execution_id)
        self._bytes += len(sealed)
        child = self._run.plan.steps[number].get("workflow_id")
        begin = StepBegin(execution_id, number, item, sealed, UUID(child) if child else None)
        self._run.changes.begins.append(begin)


def failure_of(wrong: TemplateInvalid | OutputInvalid | DecryptionFailed) -> Failure:
    """Return why a step or an item cannot begin."""
    if isinstance(wrong, OutputInvalid):
        return wrong.failure
    if isinstance(wrong, DecryptionFailed):
        return Failure("decryption_failed", wrong.message)
    if isinstance(wrong, TemplateTooLarge):
        return Failure("payload_too_large", str(wrong))
    return Failure("template_invalid", str(wrong))


def _holds(when: str | None, scope: Scope) -> bool:
    return when is None or parse_expression(when).holds(scope)


def _wait(number: int, step: Any, scope: Scope) -> NewWait:
    if step["kind"] == "delay":
        return NewWait(number, "delay", seconds=step["delay_seconds"])
    if step["kind"] == "approval":
        return NewWait(number, "approval", seconds=step["timeout_seconds"])
    correlation = render(step["correlation"], scope, Budget(MOST_BYTES))
    if not isinstance(correlation, str | None) or len(correlation or "") > 200:
        raise TemplateInvalid("The correlation must be a text of at most 200 characters.")
    return NewWait(
        number,
        "event",
        seconds=step["timeout_seconds"],
        name=step["event"],
        correlation=correlation or "",
        earlier=step["accept_earlier_seconds"],
    )
