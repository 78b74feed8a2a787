from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.model import explorer, planted, protocol
from tests.model.explorer import ENDLESS, LOST, explore
from tests.model.state import SUCCEEDED, Move, Row, Setup, State

SETUP = Setup(faults=0, changes=0)


def use(monkeypatch: pytest.MonkeyPatch, steps: dict[int, list[int]], end: int = -1) -> None:
    """Let the graph be this one, its nodes told apart by their number of changes left."""

    def moves(state: State, setup: Setup) -> Iterator[Move]:
        for node in steps[state.changes]:
            row = (Row(SUCCEEDED),) if node == end else ()
            yield Move("somebody", f"to {node}", 0, state._replace(changes=node, rows=row))

    monkeypatch.setattr(protocol, "moves", moves)


def test_a_graph_whose_ends_are_final_is_in_order(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, {0: [1, 2], 1: [3], 2: [3], 3: []}, end=3)

    found = explore(SETUP)

    assert (found.broken, found.states, found.moves, found.ends) == ("", 4, 4, 1)
    assert str(found) == "4 states, 4 moves, 1 ends: nothing broken"


def test_an_end_without_a_final_state_is_a_loss_and_told_on_the_shortest_way(
    monkeypatch: pytest.MonkeyPatch,
):
    use(monkeypatch, {0: [1, 2], 1: [2, 3], 2: [3, 4], 3: [], 4: []}, end=3)

    found = explore(SETUP)

    assert found.broken == LOST
    assert [move.verb for move in found.trace] == ["to 2", "to 4"]
    assert str(found) == f"{LOST}, after 2 moves:\n  1 somebody: to 2\n  2 somebody: to 4"


def test_a_circle_without_faults_is_found(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, {0: [1], 1: [0, 2], 2: []}, end=2)

    assert explore(SETUP).broken == ENDLESS


def test_more_states_than_allowed_are_an_error():
    with pytest.raises(MemoryError):
        explore(Setup(), limit=100)


def test_the_first_broken_invariant_ends_the_search():
    found = explore(Setup(planted=planted.SENT_FIRST))

    assert found.broken
    assert found.trace[-1].state.broken == found.broken
    assert explorer.LOST not in str(found)
