"""A run of a workflow keeps its promises in every state within bounds; a planted bug breaks one."""

from __future__ import annotations

import pytest

from tests.model import planted
from tests.model.bounds import JOINS, JOINS_LARGE, join_of_planted
from tests.model.explorer import LOST, explore_joins
from tests.model.joins import (
    LEFT_OPEN,
    JoinSetup,
    JoinState,
    first_join,
    join_ended,
    join_moves,
)
from tests.model.state import FAILED, SUCCEEDED

#: Bug -> the invariant that it breaks, and in how many moves.
FOUND = {
    planted.RUN_UNLOCKED: (LOST, 8),
    planted.JUDGED_AS_BEFORE: (LOST, 10),
    planted.INBOX_FORGOTTEN: (LOST, 8),
    planted.NOT_REPAIRED: (LOST, 6),
    planted.TAKEN_BEFORE: (LOST, 8),
    planted.TAKE_IGNORED: (LEFT_OPEN, 10),
}


@pytest.mark.parametrize("setup", JOINS.values(), ids=JOINS)
def test_no_state_of_a_run_breaks_an_invariant_and_its_join_is_never_lost(setup: JoinSetup):
    found = explore_joins(setup)

    assert not found.broken, str(found)
    assert found.ends


@pytest.mark.slow
@pytest.mark.parametrize("setup", JOINS_LARGE.values(), ids=JOINS_LARGE)
def test_no_state_of_a_run_within_wider_bounds_breaks_an_invariant(setup: JoinSetup):
    found = explore_joins(setup)

    assert not found.broken, str(found)


@pytest.mark.parametrize("bug", planted.PLANTED_IN_RUNS)
def test_each_bug_that_is_planted_in_a_run_is_found_with_a_short_trace(bug: str):
    found = explore_joins(join_of_planted(bug))

    assert (found.broken, len(found.trace)) == FOUND[bug], str(found)


def reachable(setup: JoinSetup) -> set[JoinState]:
    found, waiting = {first_join(setup)}, [first_join(setup)]
    while waiting:
        for move in join_moves(waiting.pop(), setup):
            if move.state not in found:
                found.add(move.state)
                waiting.append(move.state)
    return found


def test_the_model_comes_to_joins_that_run_to_failures_and_to_other_takes():
    found = reachable(JOINS["steps that fail, a retry and a fault"])

    over = {(state.over, state.take) for state in found if join_ended(state)}

    assert over == {(SUCCEEDED, 1), (FAILED, 1), (SUCCEEDED, 2), (FAILED, 2)}
