from __future__ import annotations

import pytest

from bench.peers.plan import Plan
from bench.workflows.peers.shapes import CHAIN, GRAPH, STEPS, Runs, levels, parents, shape_of


def test_each_step_of_a_chain_waits_for_the_one_before_it():
    assert parents(CHAIN) == ((), *((step,) for step in range(9)))
    assert levels(CHAIN) == [[step] for step in range(10)]


def test_the_graph_has_two_fans_of_three_with_a_join_behind_each():
    before = parents(GRAPH)

    assert levels(GRAPH) == [[0], [1, 2, 3], [4], [5, 6, 7], [8], [9]]
    assert before[4] == (1, 2, 3)
    assert before[7] == (4,)
    assert len(before) == STEPS


def test_runs_reach_the_programs_of_peers_as_they_are():
    runs = Runs("http://127.0.0.1:1", 3, 1000, 0.5, shape=GRAPH)

    assert Runs.from_line(runs.as_line()) == runs
    assert runs.calls == 30
    assert runs.name_of(2) != Runs("http://127.0.0.1:1", 3, 1001).name_of(2)


def test_a_plan_of_single_calls_has_no_shape():
    assert shape_of(Runs("http://127.0.0.1:1", 1, 1000, shape=GRAPH)) == GRAPH
    with pytest.raises(ValueError, match="without a shape"):
        shape_of(Plan("http://127.0.0.1:1", 1, 1000))
