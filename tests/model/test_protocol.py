"""The core loop keeps its promises in every state within bounds; each planted bug breaks one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model import planted, protocol
from tests.model.bounds import LARGE, SMALL, WIDE, of_planted
from tests.model.explorer import explore
from tests.model.faults import ended
from tests.model.state import Setup, State, first

#: Bug -> the invariant that it breaks, and in how many moves.
FOUND = {
    planted.TOKEN_UNCHECKED: ("an attempt recorded twice", 17),
    planted.EPOCH_UNCHECKED: ("a scheduler wrote what it no longer owns", 7),
    planted.ACKNOWLEDGED_FIRST: ("a double that no crash explains", 22),
    planted.SENT_FIRST: ("a start after its withdrawal", 10),
    planted.STARTED_IGNORED: ("a double that no crash explains", 17),
    planted.INCARNATION_IGNORED: ("a start after its withdrawal", 11),
    planted.BARRIER_IGNORED: ("a double that no crash explains", 21),
}
_ENOUGH_MOVES = 400


@pytest.mark.parametrize("setup", SMALL.values(), ids=SMALL)
def test_no_state_breaks_an_invariant_and_nothing_is_lost(setup: Setup):
    found = explore(setup)

    assert not found.broken, str(found)
    assert found.ends


@pytest.mark.slow
@pytest.mark.parametrize("setup", LARGE.values(), ids=LARGE)
def test_no_state_within_wider_bounds_breaks_an_invariant(setup: Setup):
    found = explore(setup)

    assert not found.broken, str(found)


@pytest.mark.parametrize("bug", planted.PLANTED)
def test_each_planted_bug_is_found_with_a_short_trace(bug: str):
    found = explore(of_planted(bug))

    assert (found.broken, len(found.trace)) == FOUND[bug], str(found)


@given(st.lists(st.integers(0, 2**16), max_size=150))
def test_whatever_happens_it_ends_once_the_faults_cease(choices: list[int]):
    state = first(WIDE)
    for choice in choices:
        found = list(protocol.moves(state, WIDE))
        if not found:
            break
        state = found[choice % len(found)].state
        assert not state.broken

    assert ended(_carried_on(state), WIDE)


def _carried_on(state: State) -> State:
    """Return where the state leads without further faults or changes."""
    state = state._replace(faults=0, changes=0)
    for _ in range(_ENOUGH_MOVES):
        found = list(protocol.moves(state, WIDE))
        if not found:
            return state
        state = found[0].state
        assert not state.broken
    raise AssertionError("it does not end")
