"""What a run waits for, in order: its pause, its place at the gate, its steps, its deadline.

Pure: works on a run that was read already, so that lists of runs cost no query more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from executions.choices import FINAL, RunPhase, Status
from executions.models import Execution
from insight.workflow_runs import SeenRun
from tasks.workflow.step_states import StepState

#: Kinds of what a run waits for; those of a step come with its key.
KINDS = (
    "pause",
    "gate",
    "due_time",
    "delay",
    "event",
    "approval",
    "items",
    "workflow",
    "retry",
    "destination",
    "worker",
    "call",
    "compensation",
    "deadline",
)
#: Entries of an answer; the steps of a run show them all.
MOST_WAITS = 20
_NAMED = 5
_WORDS = {
    "pause": "the end of its pause",
    "gate": "a place (max_concurrent or overlap_policy)",
    "due_time": "its time",
}


class RunWait(NamedTuple):
    """One thing that a run waits for.

    ``done`` and ``total`` are items of a fan-out, of kind ``items``.
    """

    kind: str
    step: str | None = None
    until: datetime | None = None
    done: int | None = None
    total: int | None = None


def waits_of(seen: SeenRun) -> list[RunWait]:
    """Return what the run waits for, at most ``MOST_WAITS``; nothing where it has ended."""
    take = seen.take
    if take.execution.status in FINAL:
        return []
    if take.execution.status != Status.RUNNING:
        return [_to_begin(take.execution)]
    found = [RunWait("pause")] if take.row and take.row.phase == RunPhase.PAUSED else []
    steps = (_of_step(seen, number) for number in seen.steps)
    found += [wait for wait in steps if wait is not None]
    deadline = [RunWait("deadline", until=take.row.deadline_at)] if take.row else []
    return [*found[: MOST_WAITS - 1], *deadline]


def waits_text(waits: Sequence[RunWait]) -> str:
    """Return what is waited for in short, such as ``approve, load 7/20``; '' for nothing."""
    names = [_short(wait) for wait in waits if wait.kind != "deadline"]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _short(wait: RunWait) -> str:
    if wait.step is None:
        return _WORDS[wait.kind]
    if wait.kind == "compensation":
        return f"undo of {wait.step}"
    return wait.step if wait.total is None else f"{wait.step} {wait.done:,}/{wait.total:,}"


def _to_begin(execution: Execution) -> RunWait:
    """Return what a run that has not begun waits for."""
    if execution.gated or execution.key_place == 0:
        return RunWait("gate")
    if execution.held:
        return RunWait("pause")
    return RunWait("due_time", until=execution.due_at)


def _of_step(seen: SeenRun, number: int) -> RunWait | None:
    """Return what the run waits for at a step; None for one that has ended or not begun."""
    key, state = seen.steps[number]["key"], seen.state(number)
    if state is StepState.COMPENSATING:
        return RunWait("compensation", key)
    if state is not StepState.OPEN:
        return None
    if number in seen.fans:
        fan = seen.fans[number]
        return RunWait("items", key, None, fan.done, fan.total)
    if number in seen.waits:
        return RunWait(seen.waits[number].kind, key, seen.waits[number].due_at)
    return _of_call(seen, number, key)


def _of_call(seen: SeenRun, number: int, key: str) -> RunWait:
    call = seen.open.get(number)
    if call is None:
        return RunWait("call", key)
    if call.status == Status.RETRYING:
        return RunWait("retry", key, call.due_at)
    if call.status == Status.RUNNING:
        return RunWait("workflow" if seen.steps[number]["kind"] == "workflow" else "call", key)
    if call.held:
        return RunWait("pause", key)
    return RunWait("destination" if call.parked else "worker", key)
