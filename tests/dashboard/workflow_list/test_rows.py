"""Steps of the list: added, copied, removed, moved, renamed."""

from __future__ import annotations

import pytest

from dashboard.workflow_list.draft import draft_of
from shared.exceptions import InvalidInput
from tasks.limits import STEPS
from tests.dashboard.workflow_list.drafts import (
    APPROVE,
    EXTRACT,
    LOAD,
    PUBLISH,
    change,
    put,
    rich,
    steps_of,
)


def test_a_step_is_added_at_the_end_with_the_focus_in_its_key():
    draft = change(rich(), "add")

    assert draft.steps[-1] == {"key": "step_1", "target": {}}
    assert draft.steps[:-1] == rich()["steps"]
    assert (draft.cards, draft.opened, draft.focus) == ([1, 2, 3, 4, 5], {5}, (5, "key"))


def test_a_step_behind_another_one_waits_for_it():
    draft = change(rich(), "behind", EXTRACT)

    assert draft.steps[1] == {"key": "step_1", "depends_on": ["extract"], "target": {}}
    assert draft.cards == [1, 5, 2, 3, 4]


def test_a_copy_has_a_key_of_its_own_and_says_that_secrets_are_not_copied():
    draft = change(rich(), "duplicate", EXTRACT)
    again = change(draft, "duplicate", 5)

    assert draft.steps[1] == {**rich()["steps"][0], "key": "extract_2"}
    assert [step["key"] for step in again.steps[:3]] == ["extract", "extract_2", "extract_3"]
    assert "Secrets are not copied" in again.said


def test_what_waited_for_a_removed_step_waits_for_what_that_waited_for():
    draft = change(rich(), "remove", LOAD)

    assert steps_of(draft)["approve"]["depends_on"] == ["extract"]
    assert steps_of(draft)["publish"]["depends_on"] == ["approve", "extract"]
    assert draft.said == "Removed load. approve and publish now wait for extract."
    assert (draft.cards, draft.focus) == ([1, 3, 4], (APPROVE, ""))


def test_what_waited_for_a_removed_first_step_waits_for_nothing():
    draft = change(rich(), "remove", EXTRACT)

    assert "depends_on" not in steps_of(draft)["load"]
    assert draft.said.endswith("load no longer waits for it.")


def test_the_last_step_can_be_removed():
    draft = change({"name": "x", "steps": [{"key": "a"}]}, "remove", 1)

    assert (draft.steps, draft.focus) == ([], (0, "add"))


def test_one_of_two_steps_with_one_key_leaves_the_others_waiting():
    body = {"name": "x", "steps": [{"key": "a"}, {"key": "a"}, {"key": "b", "depends_on": ["a"]}]}

    assert change(body, "remove", 1).steps[-1]["depends_on"] == ["a"]


def test_a_step_moves_up_and_down_and_no_further_than_the_ends():
    draft = change(rich(), "down", EXTRACT)
    assert [step["key"] for step in draft.steps[:2]] == ["load", "extract"]
    assert draft.focus == (EXTRACT, "@down")

    draft = change(draft, "up", EXTRACT)
    assert draft.body == rich()

    assert change(rich(), "up", EXTRACT).body == rich()
    assert change(rich(), "down", PUBLISH).said == "It is the last step."


def test_what_waits_for_a_renamed_step_waits_for_it_under_its_new_key():
    draft = put(rich(), LOAD, "key", "ingest")

    assert steps_of(draft)["approve"]["depends_on"] == ["ingest"]
    assert steps_of(draft)["publish"]["depends_on"] == ["approve", "ingest"]
    assert draft.said == "approve and publish now wait for ingest."


def test_a_renamed_step_says_that_its_secrets_belong_to_the_old_key():
    assert "stored secrets" in put(rich(), EXTRACT, "key", "fetch").said


@pytest.mark.parametrize("key", ["extract", ""])
def test_a_key_that_is_no_key_of_its_own_takes_no_other_step_with_it(key):
    draft = put(rich(), LOAD, "key", key)

    assert draft.steps[2]["depends_on"] == ["load"]


def test_a_workflow_has_no_more_steps_than_validation_takes():
    body = {"name": "x", "steps": [{"key": f"s{n}"} for n in range(STEPS)]}

    for do in ("add", "behind", "duplicate"):
        draft = draft_of(body)
        with pytest.raises(InvalidInput, match="at most"):
            change(draft, do, 1)
        assert len(draft.steps) == STEPS
