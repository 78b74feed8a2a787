from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bench.workflows.peers import flows as module
from bench.workflows.peers.flows import Tree, flows
from bench.workflows.peers.shapes import CHAIN, GRAPH


def leaf(step: int) -> Tree:
    return {"step": step, "children": []}


def steps(tree: Any) -> Iterator[int]:
    yield tree["step"]
    for child in tree["children"]:
        yield from steps(child)


def test_a_chain_is_one_nest_whose_root_is_its_last_step():
    [tree] = flows(CHAIN)

    assert list(steps(tree)) == list(range(9, -1, -1))


def test_a_step_that_a_fan_waits_for_ends_its_tree():
    first, loads, publications = flows(GRAPH)

    assert first == leaf(0)
    assert loads == {"step": 4, "children": [leaf(1), leaf(2), leaf(3)]}
    tidied = {"step": 8, "children": [leaf(5), leaf(6), leaf(7)]}
    assert publications == {"step": 9, "children": [tidied]}


def test_a_fan_that_nothing_joins_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "levels", lambda shape: [[0], [1, 2]])

    with pytest.raises(ValueError, match="nothing joins"):
        flows(GRAPH)
