"""Judges the steps of a run: which start now, which never will, and whether the run has ended.

A pure function of the graph and the states, so nothing is counted and no counter can be wrong. The
caller holds the run's lock, applies ends first, and writes what is returned.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from tasks.workflow.graph import Graph, Step
from tasks.workflow.step_states import ENDED, FAILING, UNDONE, StepState

#: What becomes of a step whose condition holds: OPEN when it begins, else how it ends at once:
#: SKIPPED by its ``when``, FAILED by a template that cannot be rendered, SUCCEEDED without items.
Begin = Callable[[Step], StepState]


@dataclass(slots=True)
class Judgement:
    """What has changed: steps that began, and steps that ended without an execution.

    ``failing`` is whether the run has failed and begins only steps for failures from now on.
    """

    begun: list[int] = field(default_factory=list)
    ended: dict[int, StepState] = field(default_factory=dict)
    failing: bool = False


def judge(
    graph: Graph,
    states: bytearray,
    changed: Iterable[int],
    begin: Begin,
    *,
    fail_fast: bool,
    kept: Collection[int] = (),
) -> Judgement:
    """Move every step that the ends of the ``changed`` ones decide about; return the moves.

    ``states`` has a byte for each number and is changed in place. A begin judges all steps: give
    those of ``graph.order``. ``begin`` has no effects of its own, because what it begins may be set
    back. With ``fail_fast``, the first failure cancels each step that waits,
    unless it is for failures; steps that are open are for the caller to cancel. A failure that the
    run has ``kept`` of an earlier take is none.
    """
    judged = Judgement()
    changed = list(changed)
    _judge_from(graph, states, changed, begin, judged)
    failed = {number for number in graph.order if states[number] == StepState.FAILED}
    if fail_fast and failed.difference(kept):
        judged.failing = True
        _judge_from(graph, states, _cancel_waiting(graph, states, judged), begin, judged)
    return judged


def condition_holds(step: Step, states: bytearray) -> StepState:
    """Return OPEN for a step that may start, PENDING for one that waits, or its end without a run.

    ``any_success`` and ``one_failed`` start without waiting for the other prerequisites. A failure
    blocks a step at once; whether it is cancelled or skipped is decided when all have ended. So the
    order of the ends decides nothing else.
    """
    found = [StepState(states[number]) for number in step.depends_on]
    waits = any(state not in ENDED for state in found)
    failed = any(state in FAILING for state in found)
    cancelled = StepState.CANCELLED in found
    if not found or _starts(step.condition, found, waits=waits, failed=failed):
        return StepState.OPEN
    if failed and (not waits or step.condition in ("all_success", "none_failed")):
        return StepState.BLOCKED
    if waits:
        return StepState.PENDING
    return StepState.CANCELLED if cancelled else StepState.SKIPPED


def _starts(condition: str, found: list[StepState], *, waits: bool, failed: bool) -> bool:
    if condition == "any_success":
        return StepState.SUCCEEDED in found
    if condition == "one_failed":
        return failed
    if condition == "all_done":
        return not waits
    if condition == "none_failed":
        return not waits and not failed and StepState.CANCELLED not in found
    return all(state is StepState.SUCCEEDED for state in found)


def end_of(graph: Graph, states: bytearray) -> StepState | None:
    """Return how a run ends whose steps have these states; None while a step has not ended.

    A failure that a later step mends is one all the same: ``min_success_share`` makes it tolerated,
    or a person who marks the step as succeeded. Only a run that has failed is undone, and the step
    that failed may be among the undone ones.
    """
    found = {StepState(states[number]) for number in graph.order}
    if not found <= ENDED:
        return None
    if found & UNDONE:
        return StepState.FAILED
    for worst in (StepState.FAILED, StepState.CANCELLED):
        if worst in found:
            return worst
    return StepState.SUCCEEDED


def _judge_from(
    graph: Graph,
    states: bytearray,
    changed: Iterable[int],
    begin: Begin,
    judged: Judgement,
) -> None:
    # Steps in order: the prerequisites of each have been judged when its turn comes.
    ahead = sorted({graph.rank[number] for number in _concerned(graph, states, changed)})
    while ahead:
        number = graph.order[heapq.heappop(ahead)]
        state = StepState(states[number])
        if state is not StepState.PENDING:
            continue
        state = condition_holds(graph.steps[number], states)
        if state is StepState.OPEN:
            state = begin(graph.steps[number])
        if state is StepState.PENDING:
            continue
        states[number] = state
        if state is StepState.OPEN:
            judged.begun.append(number)
            continue
        judged.ended[number] = state
        for dependent in graph.dependents[number]:
            heapq.heappush(ahead, graph.rank[dependent])


def _concerned(graph: Graph, states: bytearray, changed: Iterable[int]) -> set[int]:
    found: set[int] = set()
    for number in changed:
        if states[number] == StepState.PENDING:
            found.add(number)
        else:
            found.update(graph.dependents[number])
    return found


def _cancel_waiting(graph: Graph, states: bytearray, judged: Judgement) -> list[int]:
    """Cancel what has not started and is not for failures; return the steps that it concerns."""
    kept: list[int] = []
    for number in judged.begun:
        if number in graph.for_failures:
            kept.append(number)
        else:
            # Begun by this judgement: it is not written yet.
            states[number] = StepState.PENDING
    judged.begun = kept
    cancelled = [
        number
        for number in graph.order
        if states[number] == StepState.PENDING and number not in graph.for_failures
    ]
    for number in cancelled:
        states[number] = StepState.CANCELLED
        judged.ended[number] = StepState.CANCELLED
    return cancelled
