"""Lays out a graph in layers: each node right of all that it depends on, few lines crossing.

A node's layer is the length of the longest path to it. Within a layer, nodes are ordered by the
mean place of their neighbours, in sweeps to and fro. A line over several layers has a place in
each of them, so that it runs between the nodes. Pure: numbers in, places out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

#: A node, or (from, to, layer): the place of a line in a layer that it crosses.
_Item = int | tuple[int, int, int]
_SWEEPS = 4
#: With more places of lines than this, lines run straight through the layers.
_MOST_PLACES = 4000
#: With more items in a layer, all layers begin at the first row: centred beside a long one, a
#: short one would be out of sight.
_MOST_SETTLED = 24
#: Distance between a line and its neighbour; between two nodes it is 1.
_LINE_GAP = 0.5


@dataclass(frozen=True, slots=True)
class Layout:
    """Layer and row of each node, and of each line the places between its ends."""

    places: Mapping[int, tuple[int, float]]
    bends: Mapping[tuple[int, int], Sequence[tuple[int, float]]]

    @property
    def layers(self) -> int:
        """Return the number of layers."""
        return max((layer for layer, _ in self.places.values()), default=-1) + 1

    @property
    def height(self) -> float:
        """Return the greatest row, of a node or a line; the least is 0."""
        bends = [row for way in self.bends.values() for _, row in way]
        return max([*bends, *(row for _, row in self.places.values())], default=0.0)


def layers_of(depends_on: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Return the layer of each node: 0 without prerequisites, else one more than their last."""
    found: dict[int, int] = {}
    for node in TopologicalSorter(depends_on).static_order():
        found[node] = 1 + max((found[one] for one in depends_on[node]), default=-1)
    return found


def lay_out(depends_on: Mapping[int, Sequence[int]]) -> Layout:
    """Return the places of nodes and lines; every prerequisite is a node, and there is no cycle."""
    layers = layers_of(depends_on)
    edges = [(source, node) for node, sources in depends_on.items() for source in sources]
    crossed = sum(layers[node] - layers[source] - 1 for source, node in edges)
    is_straight = crossed > _MOST_PLACES
    ways: dict[tuple[int, int], list[_Item]] = {
        edge: [*edge] if is_straight else _way(edge, layers) for edge in edges
    }
    columns: list[list[_Item]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for node in depends_on:
        columns[layers[node]].append(node)
    before: dict[_Item, list[_Item]] = defaultdict(list)
    after: dict[_Item, list[_Item]] = defaultdict(list)
    for way in ways.values():
        for item in way:
            if isinstance(item, tuple):
                columns[item[2]].append(item)
        for left, right in pairwise(way):
            before[right].append(left)
            after[left].append(right)
    rows = _rows(columns, before, after)
    least = min(rows.values(), default=0.0)
    return Layout(
        {node: (layers[node], rows[node] - least) for node in depends_on},
        {
            edge: [(item[2], rows[item] - least) for item in way if isinstance(item, tuple)]
            for edge, way in ways.items()
        },
    )


def _way(edge: tuple[int, int], layers: Mapping[int, int]) -> list[_Item]:
    """Return the items that a line joins, from its source to its target."""
    source, target = edge
    crossed = range(layers[source] + 1, layers[target])
    return [source, *((source, target, layer) for layer in crossed), target]


_Neighbours = Mapping[_Item, Sequence[_Item]]


def _rows(
    columns: Sequence[list[_Item]], before: _Neighbours, after: _Neighbours
) -> dict[_Item, float]:
    """Return the row of each item, after the items of each column have been put in order."""
    rows: dict[_Item, float] = {}
    for column in columns:
        rows |= {item: float(place) for place, item in enumerate(column)}
    for _ in range(_SWEEPS):
        for column in columns[1:]:
            _order(column, rows, before)
        for column in columns[-2::-1]:
            _order(column, rows, after)
    if max(map(len, columns), default=0) > _MOST_SETTLED:
        return rows
    for column in columns[1:]:
        _settle(column, rows, before)
    for column in columns[-2::-1]:
        _settle(column, rows, after)
    for column in columns[1:]:
        _settle(column, rows, before)
    return rows


def _order(column: list[_Item], rows: dict[_Item, float], beside: _Neighbours) -> None:
    column.sort(key=_wish(rows, beside))
    for place, item in enumerate(column):
        rows[item] = float(place)


def _settle(column: list[_Item], rows: dict[_Item, float], beside: _Neighbours) -> None:
    """Move the items of a column towards their neighbours; their order and distance stay."""
    wish = _wish(rows, beside)
    wishes = [wish(item) for item in column]
    settled: list[float] = []
    for place, item in enumerate(column):
        least = settled[-1] + _gap(column[place - 1], item) if place else wishes[0]
        settled.append(max(wishes[place], least))
    # Pushed down only, a column would hang below its neighbours.
    lift = sum(wished - row for wished, row in zip(wishes, settled, strict=True)) / max(
        len(column), 1
    )
    for item, row in zip(column, settled, strict=True):
        rows[item] = row + lift


def _wish(rows: Mapping[_Item, float], beside: _Neighbours) -> Callable[[_Item], float]:
    def wish(item: _Item) -> float:
        others = beside.get(item, ())
        return sum(rows[one] for one in others) / len(others) if others else rows[item]

    return wish


def _gap(one: _Item, other: _Item) -> float:
    return 1.0 if isinstance(one, int) and isinstance(other, int) else _LINE_GAP
