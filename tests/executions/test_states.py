from __future__ import annotations

import itertools

import pytest

from executions import transitions
from executions.choices import FINAL, LEASED, Status
from executions.states import ALLOWED, MOVES, may_move

ALLOWED_PAIRS = {
    ("PENDING", "QUEUED"),
    ("PENDING", "CANCELLED"),
    ("PENDING", "SKIPPED"),
    ("RETRYING", "QUEUED"),
    ("RETRYING", "CANCELLED"),
    ("QUEUED", "RUNNING"),
    ("QUEUED", "PENDING"),
    ("QUEUED", "SUCCEEDED"),
    ("QUEUED", "RETRYING"),
    ("QUEUED", "FAILED"),
    ("QUEUED", "CANCELLED"),
    ("RUNNING", "RUNNING"),
    ("RUNNING", "SUCCEEDED"),
    ("RUNNING", "RETRYING"),
    ("RUNNING", "FAILED"),
    ("RUNNING", "CANCELLED"),
}


@pytest.mark.parametrize("pair", sorted(itertools.product(Status.values, Status.values)))
def test_exactly_the_stated_pairs_of_states_are_moves(pair: tuple[str, str]):
    assert may_move(*pair) == (pair in ALLOWED_PAIRS)


def test_no_move_leaves_a_final_state():
    assert not [move.verb for move in MOVES if FINAL & set(move.sources)]


def test_every_state_is_reached_by_a_move():
    assert {move.target for move in MOVES} == set(Status)


def test_every_unfinished_state_can_be_left():
    assert {source for source, _ in ALLOWED} == {state.value for state in set(Status) - FINAL}


def test_leaving_a_leased_state_is_guarded_by_the_token():
    unguarded = [
        move.verb
        for move in MOVES
        if LEASED & set(move.sources) and "fencing token" not in move.guard
    ]

    # A person's cancel has no token of its own; it voids the holder's first.
    assert unguarded == ["cancel"]


def test_every_verb_is_said_once_and_its_event_names_an_execution():
    verbs = [move.verb for move in MOVES]

    assert len(verbs) == len(set(verbs))
    assert all(move.event.startswith("execution.") for move in MOVES)


@pytest.mark.parametrize(
    "verb",
    [
        "mark_queued",
        "mark_running",
        "accept",
        "skip",
        "withdraw",
        "release",
        "defer",
        "cancel",
    ],
)
def test_verbs_that_are_no_outcomes_have_a_function_of_their_name(verb: str):
    assert callable(getattr(transitions, verb))
