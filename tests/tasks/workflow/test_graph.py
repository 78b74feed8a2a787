from __future__ import annotations

import pytest

from tasks.workflow.graph import Cycle, Graph, Step, numbered


def diamond() -> Graph:
    return Graph(
        [
            Step(4, "join", (2, 3)),
            Step(2, "left", (1,)),
            Step(3, "right", (1,)),
            Step(1, "first"),
        ]
    )


def test_every_prerequisite_stands_before_its_dependents():
    graph = diamond()

    assert graph.order[0] == 1
    assert graph.order[-1] == 4
    assert [graph.order[place] for place in sorted(graph.rank.values())] == list(graph.order)


def test_a_step_knows_what_depends_on_it_and_what_it_depends_on():
    graph = diamond()

    assert sorted(graph.dependents[1]) == [2, 3]
    assert graph.downstream([2]) == {2, 4}
    assert graph.downstream([1]) == {1, 2, 3, 4}
    before = [(one, other) for one in range(1, 5) for other in range(1, 5)]
    assert [pair for pair in before if graph.comes_before(*pair)] == [
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 4),
        (3, 4),
    ]


def test_a_cycle_is_told_by_its_path_in_the_order_of_waiting():
    steps = [Step(1, "a", (2,)), Step(2, "b", (3,)), Step(3, "c", (1,)), Step(4, "free")]

    with pytest.raises(Cycle) as found:
        Graph(steps)

    first, *_, last = found.value.path
    assert first == last
    waits_for = {"a": "b", "b": "c", "c": "a"}
    assert found.value.path[1:] == [waits_for[key] for key in found.value.path[:-1]]


def test_a_step_that_waits_for_itself_is_a_cycle():
    with pytest.raises(Cycle) as found:
        Graph([Step(1, "a", (1,))])

    assert found.value.path == ["a", "a"]


def test_a_chain_of_a_thousand_steps_needs_no_recursion():
    chain = [Step(1, "s1")] + [Step(n, f"s{n}", (n - 1,)) for n in range(2, 1001)]

    assert Graph(chain).order == tuple(range(1, 1001))
    with pytest.raises(Cycle) as found:
        Graph([Step(1, "s1", (1000,)), *chain[1:]])
    assert len(found.value.path) == 1001


def test_steps_for_failures_are_those_that_a_failure_can_start_and_what_follows_only_them():
    graph = Graph(
        [
            Step(1, "work"),
            Step(2, "mend", (1,), "one_failed"),
            Step(3, "tell", (2,)),
            Step(4, "publish", (1,)),
            Step(5, "both", (3, 4)),
            Step(6, "report", (4,), "all_done"),
        ]
    )

    assert graph.for_failures == {2, 3, 6}


def test_a_key_keeps_its_number_and_a_new_one_gets_one_that_no_version_had():
    before = {"a": 1, "gone": 2, "b": 3}

    assert numbered(["new", "b", "a", "other"], before) == {"new": 4, "b": 3, "a": 1, "other": 5}
    assert numbered(["a", "b"], {}) == {"a": 1, "b": 2}
