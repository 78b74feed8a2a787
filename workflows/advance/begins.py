"""How the steps of a run begin: each by its kind, with the payload that its templates make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from executions.choices import RunPhase
from executions.payloads import seal_payload
from shared.ids import new_id
from tasks.limits import FAN_OUT_ITEMS
from tasks.workflow.expressions import parse_expression
from tasks.workflow.fans import Fan
from tasks.workflow.references import Scope, TemplateInvalid, render
from tasks.workflow.step_states import StepState
from workflows.advance.outputs import MOST_BYTES, MOST_BYTES_OF_FAN, OutputInvalid
from workflows.advance.records import Failure, FanRow, NewWait, StepBegin, StepEnd
from workflows.sealed import seal_items

if TYPE_CHECKING:
    from workflows.advance.run import Run

#: How many executions one advance begins; the next one continues.
MOST_BEGINS = 1000


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

    def prepare(self, number: int) -> Prepared:
        """Return what the step does; nothing changes yet.

        Raise TemplateInvalid or OutputInvalid where a template has no value that fits.
        """
        step = self._run.plan.steps[number]
        if step["kind"] == "workflow":
            # It raised, and with it every run of the same advance.
            message = "A step cannot run another workflow yet."
            return Prepared(StepState.FAILED, failure=Failure("not_supported", message))
        scope = self._run.known.scope()
        fans_out = step.get("for_each") is not None
        if not fans_out and not _holds(step["when"], scope):
            return Prepared(StepState.SKIPPED)
        if fans_out:
            return self._prepare_fan(step, scope)
        if step["kind"] == "target":
            return Prepared(StepState.OPEN, payload=_payload(step, scope))
        return Prepared(StepState.OPEN, waits=[_wait(number, step, scope)])

    def begin(self, number: int, prepared: Prepared) -> None:
        """Begin a step that was prepared."""
        run = self._run
        step = run.plan.steps[number]
        run.changes.waits.extend(prepared.waits)
        if step["deadline_seconds"] is not None:
            run.changes.waits.append(NewWait(number, "deadline", seconds=step["deadline_seconds"]))
        if prepared.items is not None:
            fan = Fan(
                total=len(prepared.items),
                max_parallel=step["max_parallel"],
                min_success_share=step["min_success_share"],
            )
            sealed = seal_items(prepared.items, run.row.id, number)
            run.fans[number] = FanRow(run.row.take, fan, prepared.items, sealed_items=sealed)
            run.changes.fans.add(number)
        elif step["kind"] == "target":
            self._execute(number, -1, prepared.payload)

    def fill(self, number: int) -> None:
        """Begin the next items of a fan-out, as many as its window has room for."""
        run = self._run
        row = run.fans.get(number)
        if row is None or run.phase in (RunPhase.PAUSED, RunPhase.CANCELLING):
            return
        while run.is_open(number) and len(run.changes.begins) < MOST_BEGINS:
            begun = row.fan.begin(MOST_BEGINS - len(run.changes.begins))
            if not begun:
                break
            run.changes.fans.add(number)
            for item in begun:
                self._begin_item(number, item, row)
            run.fan_ended(number)

    def output_of_fan(self, number: int, row: FanRow) -> dict[str, Any]:
        """Return the output of a fan-out: its counts, and the outputs of its items if they fit."""
        fan = row.fan
        counts = {"succeeded": fan.succeeded, "failed": fan.failed, "skipped": fan.skipped}
        if number not in self._run.plan.named:
            return counts
        outputs = self._run.known.outputs_of_items(number, row, self._run.changes.ends)
        if len(orjson.dumps(outputs)) > MOST_BYTES_OF_FAN:
            return {**counts, "outputs": None, "outputs_truncated": True}
        return {**counts, "outputs": outputs}

    def _prepare_fan(self, step: Any, scope: Scope) -> Prepared:
        items = render(step["for_each"], scope)
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
        scope = run.known.scope(row.items[item], item)
        try:
            if _holds(step["when"], scope):
                self._execute(number, item, _payload(step, scope))
                return
            row.fan.skipped += 1
            end = StepEnd(number, item, "SKIPPED", "when_not_met")
        except (TemplateInvalid, OutputInvalid) as wrong:
            row.fan.failed += 1
            failure = (
                wrong.failure
                if isinstance(wrong, OutputInvalid)
                else Failure("template_invalid", str(wrong))
            )
            end = StepEnd(number, item, "FAILED", failure.code, failure=failure)
        run.end_item_unstarted(end)

    def _execute(self, number: int, item: int, payload: Any) -> None:
        execution_id = new_id()
        sealed = seal_payload(payload, execution_id)
        self._run.changes.begins.append(StepBegin(execution_id, number, item, sealed))


def _holds(when: str | None, scope: Scope) -> bool:
    return when is None or parse_expression(when).holds(scope)


def _payload(step: Any, scope: Scope) -> Any:
    payload = render(step["payload"], scope)
    size = len(orjson.dumps(payload))
    if size > MOST_BYTES:
        message = f"The payload has {size} bytes as compact JSON; at most {MOST_BYTES} are sent."
        raise OutputInvalid(Failure("payload_too_large", message))
    return payload


def _wait(number: int, step: Any, scope: Scope) -> NewWait:
    if step["kind"] == "delay":
        return NewWait(number, "delay", seconds=step["delay_seconds"])
    if step["kind"] == "approval":
        return NewWait(number, "approval", seconds=step["timeout_seconds"])
    correlation = render(step["correlation"], scope)
    if not isinstance(correlation, str | None) or len(correlation or "") > 200:
        raise TemplateInvalid("The correlation must be a text of at most 200 characters.")
    return NewWait(
        number,
        "event",
        seconds=step["timeout_seconds"],
        name=step["event"],
        correlation=correlation or "",
    )
