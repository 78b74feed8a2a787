from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from tasks.workflow.graph import FOR_FAILURES, Graph, Step
from tasks.workflow.judging import condition_holds, end_of, judge
from tasks.workflow.step_states import ENDED, FAILING, StepState

PENDING, OPEN = StepState.PENDING, StepState.OPEN
SUCCEEDED, FAILED = StepState.SUCCEEDED, StepState.FAILED
SKIPPED, BLOCKED, CANCELLED = StepState.SKIPPED, StepState.BLOCKED, StepState.CANCELLED
CONDITIONS = ("all_success", "all_done", "none_failed", "one_failed", "any_success")


def begins(step: Step) -> StepState:
    return OPEN


def told(graph: Graph, **states: StepState) -> bytearray:
    """Return the states of a run by the keys of steps; others wait."""
    numbers = {step.key: step.number for step in graph.steps.values()}
    found = bytearray(max(numbers.values()) + 1)
    for key, state in states.items():
        found[numbers[key]] = state
    return found


def shown(graph: Graph, states: bytearray) -> dict[str, str]:
    return {graph.steps[n].key: StepState(states[n]).name for n in graph.order}


@pytest.mark.parametrize(
    ("condition", "ends", "expected"),
    [
        ("all_success", (SUCCEEDED, SUCCEEDED), OPEN),
        ("all_success", (SUCCEEDED, OPEN), PENDING),
        ("all_success", (FAILED, OPEN), BLOCKED),
        ("all_success", (SKIPPED, PENDING), PENDING),
        ("all_success", (SKIPPED, SUCCEEDED), SKIPPED),
        ("all_success", (SKIPPED, CANCELLED), CANCELLED),
        ("all_success", (CANCELLED, OPEN), PENDING),
        ("all_success", (CANCELLED, FAILED), BLOCKED),
        ("all_done", (FAILED, OPEN), PENDING),
        ("all_done", (FAILED, CANCELLED), OPEN),
        ("all_done", (SKIPPED, BLOCKED), OPEN),
        ("none_failed", (SUCCEEDED, SKIPPED), OPEN),
        ("none_failed", (SKIPPED, SKIPPED), OPEN),
        ("none_failed", (SUCCEEDED, PENDING), PENDING),
        ("none_failed", (BLOCKED, PENDING), BLOCKED),
        ("none_failed", (SUCCEEDED, CANCELLED), CANCELLED),
        ("one_failed", (OPEN, FAILED), OPEN),
        ("one_failed", (OPEN, CANCELLED), PENDING),
        ("one_failed", (SUCCEEDED, CANCELLED), CANCELLED),
        ("one_failed", (SUCCEEDED, BLOCKED), OPEN),
        ("one_failed", (OPEN, SUCCEEDED), PENDING),
        ("one_failed", (SKIPPED, SUCCEEDED), SKIPPED),
        ("any_success", (OPEN, SUCCEEDED), OPEN),
        ("any_success", (OPEN, FAILED), PENDING),
        ("any_success", (FAILED, SKIPPED), BLOCKED),
        ("any_success", (SKIPPED, SKIPPED), SKIPPED),
    ],
)
def test_a_condition_is_judged_by_the_ends_of_the_prerequisites(
    condition: str, ends: tuple[StepState, ...], expected: StepState
):
    step = Step(3, "s", (1, 2), condition)

    for order in itertools.permutations(ends):
        assert condition_holds(step, bytearray([0, *order, 0])) is expected


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_step_without_prerequisites_starts_under_each_condition(condition: str):
    graph = Graph([Step(1, "s", (), condition)])
    states = bytearray(2)

    assert judge(graph, states, graph.order, begins, fail_fast=True).begun == [1]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_once_all_prerequisites_have_ended_a_step_waits_no_longer(condition: str):
    step = Step(3, "s", (1, 2), condition)

    for ends in itertools.product(ENDED, repeat=2):
        assert condition_holds(step, bytearray([0, *ends, 0])) is not PENDING


def test_an_end_starts_every_dependent_and_the_last_end_the_join():
    graph = Graph([Step(1, "a"), Step(2, "b", (1,)), Step(3, "c", (1,)), Step(4, "d", (2, 3))])
    states = told(graph, a=SUCCEEDED)

    assert judge(graph, states, [1], begins, fail_fast=True).begun == [2, 3]
    states[2] = SUCCEEDED
    assert judge(graph, states, [2], begins, fail_fast=True).begun == []
    states[3] = SUCCEEDED
    assert judge(graph, states, [3], begins, fail_fast=True).begun == [4]


def test_two_ends_at_once_start_the_join_once():
    graph = Graph([Step(1, "a"), Step(2, "b"), Step(3, "c", (1, 2))])
    states = told(graph, a=SUCCEEDED, b=SUCCEEDED)

    assert judge(graph, states, [1, 2], begins, fail_fast=True).begun == [3]
    assert judge(graph, states, [1, 2], begins, fail_fast=True).begun == []


def test_a_branch_that_is_not_needed_is_settled_to_its_end():
    graph = Graph(
        [
            Step(1, "work"),
            Step(2, "mend", (1,), "one_failed"),
            Step(3, "tell", (2,)),
            Step(4, "end", (1, 3), "none_failed"),
        ]
    )
    states = told(graph, work=SUCCEEDED)

    judged = judge(graph, states, [1], begins, fail_fast=True)

    assert judged.ended == {2: SKIPPED, 3: SKIPPED}
    assert judged.begun == [4]


def test_what_follows_a_failure_is_blocked_and_other_branches_go_on():
    graph = Graph(
        [Step(1, "a"), Step(2, "b", (1,)), Step(3, "c", (2,)), Step(4, "x"), Step(5, "y", (4,))]
    )
    states = told(graph, a=FAILED, x=SUCCEEDED)

    judged = judge(graph, states, [1, 4], begins, fail_fast=False)

    assert (judged.ended, judged.begun) == ({2: BLOCKED, 3: BLOCKED}, [5])
    assert not judged.failing


def test_with_fail_fast_only_steps_for_failures_go_on():
    graph = Graph(
        [
            Step(1, "a"),
            Step(2, "b", (1,)),
            Step(3, "report", (2,), "all_done"),
            Step(4, "mail", (3,)),
            Step(5, "x"),
            Step(6, "y", (5,)),
        ]
    )
    states = told(graph, a=FAILED, x=OPEN)

    judged = judge(graph, states, [1], begins, fail_fast=True)

    assert judged.failing
    assert judged.ended == {2: BLOCKED, 6: CANCELLED}
    assert judged.begun == [3]
    states[3], states[5] = SUCCEEDED, CANCELLED
    assert judge(graph, states, [3, 5], begins, fail_fast=True).begun == [4]


def test_what_a_failure_cancels_starts_no_branch_that_mends_a_failure():
    graph = Graph(
        [
            Step(1, "a"),
            Step(2, "x"),
            Step(3, "y", (2,)),
            Step(4, "undo_y", (3,), "one_failed"),
            Step(5, "undo_a", (1,), "one_failed"),
        ]
    )
    states = told(graph, a=FAILED, x=OPEN)

    judged = judge(graph, states, [1], begins, fail_fast=True)

    assert judged.begun == [5]
    assert judged.ended == {3: CANCELLED, 4: CANCELLED}


def test_a_failure_and_a_start_in_one_judgement_start_nothing():
    graph = Graph([Step(1, "a"), Step(2, "b"), Step(3, "c", (2,)), Step(4, "d", (3,))])
    states = told(graph, a=FAILED, b=SUCCEEDED)

    judged = judge(graph, states, [1, 2], begins, fail_fast=True)

    assert judged.begun == []
    assert judged.ended == {3: CANCELLED, 4: CANCELLED}


def test_what_ends_at_once_is_followed_further():
    """A `when` that is false, a template that fails, a fan-out without items."""
    graph = Graph([Step(n, f"s{n}", (n - 1,) if n > 1 else ()) for n in range(1, 5)])
    at_once = {1: SUCCEEDED, 2: SKIPPED}

    judged = judge(
        graph,
        bytearray(5),
        graph.order,
        lambda step: at_once.get(step.number, OPEN),
        fail_fast=True,
    )

    assert judged.ended == {1: SUCCEEDED, 2: SKIPPED, 3: SKIPPED, 4: SKIPPED}


def test_a_step_that_fails_as_it_begins_stops_what_began_with_it():
    graph = Graph([Step(1, "a"), Step(2, "b"), Step(3, "c", (1, 2), "all_done")])
    fails = {2: FAILED}

    judged = judge(
        graph, bytearray(4), graph.order, lambda step: fails.get(step.number, OPEN), fail_fast=True
    )

    assert judged.failing
    assert judged.ended == {1: CANCELLED, 2: FAILED}
    assert judged.begun == [3]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ((SUCCEEDED, PENDING), None),
        ((FAILED, OPEN), None),
        ((SUCCEEDED, SUCCEEDED), SUCCEEDED),
        ((SUCCEEDED, SKIPPED), SUCCEEDED),
        ((SUCCEEDED, CANCELLED), CANCELLED),
        ((FAILED, CANCELLED), FAILED),
        ((FAILED, SUCCEEDED), FAILED),
    ],
)
def test_a_run_ends_as_its_worst_step(states: Sequence[StepState], expected: StepState | None):
    graph = Graph([Step(1, "a"), Step(2, "b")])

    assert end_of(graph, bytearray([0, *states])) is expected


# --- any graph, any order of ends, against a judge that knows no order ---


def any_graph(random: Random) -> Graph:
    count = random.randint(1, 40)
    numbers = random.sample(range(1, 60), count)
    steps = []
    for place, number in enumerate(numbers):
        before = numbers[:place]
        waits_for = random.sample(before, min(len(before), random.choice((0, 1, 1, 2, 5))))
        steps.append(Step(number, f"s{number}", tuple(waits_for), random.choice(CONDITIONS)))
    return Graph(random.sample(steps, count))


def slow_judge(
    graph: Graph, states: bytearray, at_once: Mapping[int, StepState], fail_fast: bool
) -> set[int]:
    """Judge all steps again and again, by the words of the conditions; return what began."""
    begun = slow_settle(graph, states, at_once, set(graph.steps))
    if fail_fast and any(states[n] == FAILED for n in graph.steps):
        for_failures = slow_for_failures(graph)
        for number in set(graph.steps) - for_failures:
            if states[number] == PENDING or number in begun:
                states[number] = CANCELLED
        begun &= for_failures
        begun |= slow_settle(graph, states, at_once, for_failures)
    return begun


def slow_settle(
    graph: Graph, states: bytearray, at_once: Mapping[int, StepState], allowed: set[int]
) -> set[int]:
    before = None
    begun = set()
    while before != states:
        before = states.copy()
        for number in sorted(n for n in allowed if states[n] == PENDING):
            verdict = said(graph.steps[number], states)
            if verdict is OPEN:
                verdict = at_once.get(number, OPEN)
            states[number] = verdict
            begun |= {number} if verdict is OPEN else set()
    return begun


def slow_for_failures(graph: Graph) -> set[int]:
    def is_one(number: int) -> bool:
        step = graph.steps[number]
        return step.condition in FOR_FAILURES or (
            bool(step.depends_on) and all(is_one(one) for one in step.depends_on)
        )

    return {number for number in graph.steps if is_one(number)}


def said(step: Step, states: bytearray) -> StepState:
    """Return what the words of the step's condition say."""
    ends = [StepState(states[n]) for n in step.depends_on]
    all_ended = all(end in ENDED for end in ends)
    failed = any(end in FAILING for end in ends)
    cancelled = any(end is CANCELLED for end in ends)
    succeeded = [end is SUCCEEDED for end in ends]
    starts = {
        "all_success": all(succeeded),
        "all_done": all_ended,
        "none_failed": all_ended and not failed and not cancelled,
        "one_failed": failed,
        "any_success": any(succeeded),
    }
    if not ends or starts[step.condition]:
        return OPEN
    if failed and (all_ended or step.condition in ("all_success", "none_failed")):
        return BLOCKED
    without = CANCELLED if cancelled else SKIPPED
    return without if all_ended else PENDING


@pytest.mark.parametrize("fail_fast", [True, False])
@pytest.mark.parametrize("first", range(0, 300, 30))
def test_any_run_ends_and_every_move_is_the_one_that_the_conditions_say(
    first: int, fail_fast: bool
):
    for seed in range(first, first + 30):
        random = Random(seed)
        graph = any_graph(random)
        assert run_through(graph, random, fail_fast) in ENDED, seed


def run_through(graph: Graph, random: Random, fail_fast: bool) -> StepState | None:
    """End what is open in any order, and judge each time in both ways; return how the run ends."""
    at_once = {
        number: random.choice((SKIPPED, FAILED, SUCCEEDED))
        for number in graph.steps
        if random.random() < 0.1
    }

    def begin(step: Step) -> StepState:
        return at_once.get(step.number, OPEN)

    states = bytearray(max(graph.steps) + 1)
    slow, changed, open_ = states.copy(), list(graph.order), set[int]()
    while changed:
        judged = judge(graph, states, changed, begin, fail_fast=fail_fast)
        begun = slow_judge(graph, slow, at_once, fail_fast)
        assert shown(graph, states) == shown(graph, slow)
        assert set(judged.begun) == begun
        assert open_.isdisjoint(begun)
        open_ |= begun
        changed = random.sample(sorted(open_), random.randint(1, len(open_))) if open_ else []
        for number in changed:
            # As the caller does: what runs is asked to end.
            asked = judged.failing and number not in graph.for_failures
            end = CANCELLED if asked else random.choice((SUCCEEDED, SUCCEEDED, FAILED))
            states[number] = slow[number] = end
            open_.discard(number)
    return end_of(graph, states)
