from __future__ import annotations

import random
from itertools import pairwise

import pytest

from dashboard.pictures.layers import lay_out, layers_of


def _random_graph(seed: int, size: int) -> dict[int, list[int]]:
    dice = random.Random(seed)
    return {node: dice.sample(range(node), min(node, dice.randint(0, 3))) for node in range(size)}


def test_a_node_is_one_layer_right_of_its_last_prerequisite():
    assert layers_of({1: [], 2: [1], 3: [2], 4: [1, 3]}) == {1: 0, 2: 1, 3: 2, 4: 3}


def test_a_graph_without_nodes_has_no_layer():
    layout = lay_out({})

    assert (layout.layers, layout.height, layout.places) == (0, 0.0, {})


@pytest.mark.parametrize("seed", range(8))
def test_no_two_nodes_of_a_layer_overlap(seed: int):
    layout = lay_out(_random_graph(seed, 60))

    by_layer: dict[int, list[float]] = {}
    for layer, row in layout.places.values():
        by_layer.setdefault(layer, []).append(row)
    for rows in by_layer.values():
        assert all(other - one >= 0.999 for one, other in pairwise(sorted(rows)))
    assert min(row for _, row in layout.places.values()) >= 0


@pytest.mark.parametrize("seed", range(8))
def test_a_line_over_several_layers_has_a_place_in_each_that_it_crosses(seed: int):
    graph = _random_graph(seed, 40)
    layout = lay_out(graph)

    for node, sources in graph.items():
        for source in sources:
            crossed = [layer for layer, _ in layout.bends[source, node]]
            first, last = layout.places[source][0], layout.places[node][0]
            assert crossed == list(range(first + 1, last))


def test_lines_that_need_not_cross_do_not():
    # Two chains, given in an order that crosses them.
    layout = lay_out({1: [], 2: [], 3: [2], 4: [1], 5: [3], 6: [4]})

    rows = {node: row for node, (_, row) in layout.places.items()}
    assert (rows[1] < rows[2]) == (rows[4] < rows[3]) == (rows[6] < rows[5])


def test_a_chain_is_drawn_as_one_straight_line():
    layout = lay_out({1: [], 2: [1], 3: [2]})

    assert {row for _, row in layout.places.values()} == {0.0}


def test_with_too_many_lines_they_run_straight():
    graph = {node: list(range(max(0, node - 64), node)) for node in range(300)}

    layout = lay_out(graph)

    assert layout.layers == 300
    assert not any(layout.bends.values())


def test_beside_a_long_layer_a_short_one_begins_at_the_first_row():
    layout = lay_out({1: [], **{node: [1] for node in range(2, 200)}})

    assert layout.places[1] == (0, 0.0)


def test_the_places_of_lines_are_counted_before_any_is_made(monkeypatch):
    # Each of 200 nodes in a row depends on all before it: more places than a picture has.
    graph = {node: list(range(node)) for node in range(200)}
    monkeypatch.setattr("dashboard.pictures.layers._way", None)

    assert not any(lay_out(graph).bends.values())
