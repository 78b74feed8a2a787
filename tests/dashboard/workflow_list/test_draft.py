"""The state of a list editor between two answers."""

from __future__ import annotations

import pytest

from dashboard.workflow_list.draft import draft_of, listed, sort_step
from shared.exceptions import InvalidInput
from tests.dashboard.workflow_list.drafts import rich


def test_cards_are_numbered_by_the_places_of_their_steps():
    draft = draft_of(rich())

    assert (draft.cards, draft.opened, draft.page) == ([1, 2, 3, 4], set(), 0)


def test_the_state_that_the_page_sends_is_taken_up():
    draft = draft_of(rich(), {"cards": "9 2 7 4", "opened": "7 8", "page": "0"})

    assert (draft.cards, draft.opened) == ([9, 2, 7, 4], {7})
    assert draft.place(7) == 2
    assert draft.insert(1, {"key": "new"}) == 10
    assert (draft.cards, draft.focus) == ([9, 10, 2, 7, 4], (10, "key"))


@pytest.mark.parametrize("cards", ["", "1 2", "1 1 2 3", "0 1 2 3", "a b c d", "1 2 3 4 5"])
def test_numbers_that_do_not_fit_the_steps_are_made_anew(cards):
    assert draft_of(rich(), {"cards": cards}).cards == [1, 2, 3, 4]


@pytest.mark.parametrize("body", [None, 7, [], "x", {"steps": {}}, {"steps": "x"}])
def test_a_body_without_a_list_of_steps_is_no_draft(body):
    with pytest.raises(InvalidInput):
        draft_of(body)


def test_a_page_is_one_that_the_list_has():
    assert draft_of({"steps": [{}] * 101}, {"page": "7"}).page == 1


def test_a_step_is_sorted_without_loss():
    step = {"target": {}, "other": 1, "depends_on": ["a"], "key": "b"}

    sort_step(step)

    assert list(step) == ["key", "depends_on", "target", "other"]


def test_many_names_are_told_by_their_number():
    assert listed(["a"]) == "a"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 more"
