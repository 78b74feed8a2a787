"""A field of the list is set in the definition, and nothing else of it changes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dashboard.workflow_list import fields
from dashboard.workflow_list.changes import put as put_value
from dashboard.workflow_list.changes import shown_text, value_at
from dashboard.workflow_list.draft import draft_of
from dashboard.workflow_list.values import ABSENT
from shared.exceptions import InvalidInput
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


def all_fields() -> list[tuple[int, fields.Field]]:
    """Return every field of every card of the rich definition that is no choice of a kind."""
    body = rich()
    found = [(0, one) for part in fields.workflow_parts(body) for one in part.fields]
    for card, step in enumerate(body["steps"], start=1):
        found += [(card, one) for part in fields.step_parts(step) for one in part.fields]
    return [(card, one) for card, one in found if not one.path[-1].startswith("@")]


def differences(one: Any, other: Any, at: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    """Return the places at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {*one, *other}
        return {
            place
            for key in keys
            for place in differences(one.get(key, ABSENT), other.get(key, ABSENT), (*at, key))
        }
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return {place for key, (a, b) in pairs for place in differences(a, b, (*at, key))}
    return set() if type(one) is type(other) and one == other else {at}


SAMPLES = {
    "text": "changed",
    "choice": "POST",
    "area": "input.day == 1",
    "number": "17",
    "truth": "yes",
    "json": '{"a": [1]}',
    "headers": "X-New: 1",
    "pairs": "new=1",
    "words": "501, 505",
    "numbers": "3, 4",
    "lines": "one\ntwo",
    "workflow": "0193",
}


@pytest.mark.parametrize(("card", "field"), all_fields(), ids=lambda one: str(one)[:60])
def test_a_change_of_one_field_changes_nothing_else(card, field):
    before = rich()
    options = [word for word, _ in field.options if word != field.default]
    old = shown_text(draft_of(before).part(card), field) if field.widget != "keys" else ""
    text = next((word for word in options if word != old), SAMPLES.get(field.widget, ""))
    values = ["publish"] if field.widget == "keys" and card != PUBLISH else [text]
    if field.widget == "keys" and card == PUBLISH:
        values = ["extract"]

    draft = put(before, card, "/".join(field.path), *values)

    at = () if card == 0 else ("steps", card - 1)
    place = (*at, *field.path)
    changed = differences(rich(), draft.body)
    if field.path == ("key",):
        # What waits for the step waits for it under its new key.
        changed = {one for one in changed if "depends_on" not in one}
    assert draft.changed
    assert changed
    assert all(one[: len(place)] == place or place[: len(one)] == one for one in changed)


@pytest.mark.parametrize(("card", "field"), all_fields(), ids=lambda one: str(one)[:60])
def test_a_field_that_is_sent_as_it_was_shown_changes_nothing(card, field):
    part = draft_of(rich()).part(card)
    shown = shown_text(part, field) if field.widget != "keys" else ""
    values = part.get("depends_on", []) if field.widget == "keys" else [shown]

    draft = put(rich(), card, "/".join(field.path), *values)

    assert draft.body == rich()
    assert not draft.changed


@pytest.mark.parametrize(("card", "field"), all_fields(), ids=lambda one: str(one)[:60])
def test_an_emptied_field_is_not_given_any_more(card, field):
    name = "/".join(field.path)
    values = [] if field.widget == "keys" else [field.default]

    draft = put(rich(), card, name, *values)

    assert value_at(draft.part(card), field.path) is ABSENT


def test_an_object_goes_with_its_last_field_and_a_target_stays():
    step: dict[str, Any] = {"key": "a", "target": {"url": "x"}, "retry_policy": {"factor": 2}}

    for path in (("target", "url"), ("retry_policy", "factor"), ("compensate", "on")):
        put_value(step, path, ABSENT)

    assert step == {"key": "a", "target": {}}


def test_text_that_is_no_value_is_kept_beside_the_definition():
    draft = put(rich(), EXTRACT, "payload", '{"a": ')

    assert draft.body == rich()
    assert draft.unread is not None
    assert (draft.unread.card, draft.unread.text) == (EXTRACT, '{"a": ')
    assert "JSON" in draft.unread.message


def test_a_number_that_is_none_is_left_to_validation():
    draft = put(rich(), APPROVE, "timeout_seconds", "soon")

    assert steps_of(draft)["approve"]["timeout_seconds"] == "soon"


def test_masked_fields_are_paths_one_per_line():
    draft = put(put(rich(), EXTRACT, "redact", "$.card\r\n\r\n$['a name'][0]"), 0, "redact", "$")

    assert steps_of(draft)["extract"]["redact"] == ["$.card", "$['a name'][0]"]
    assert draft.body["redact"] == ["$"]


def test_the_steps_that_a_step_waits_for_keep_their_order():
    draft = put(rich(), PUBLISH, "depends_on", "extract", "load", "approve")

    assert steps_of(draft)["publish"]["depends_on"] == ["approve", "load", "extract"]


def test_what_is_no_key_stays_among_the_steps_that_a_step_waits_for():
    body = {"name": "x", "steps": [{"key": "a", "depends_on": [7, "b"]}, {"key": "b"}]}

    assert put(body, 1, "depends_on").body["steps"][0]["depends_on"] == [7]


@pytest.mark.parametrize(
    ("sent", "values"),
    [
        ({"do": "explode"}, []),
        ({"do": "set", "card": "1", "field": "nothing"}, ["x"]),
        ({"do": "set", "card": "9", "field": "key"}, ["x"]),
        ({"do": "set", "card": "-1", "field": "key"}, ["x"]),
        ({"do": "set", "card": "1", "field": "depends_on"}, ["nowhere"]),
        ({"do": "set", "card": "1", "field": "depends_on"}, ["a\0"]),
        ({"do": "set", "card": "1", "field": "@kind"}, ["nothing"]),
        ({"do": "set", "card": "1", "field": "@kind"}, ["target"]),
        ({"do": "set", "card": "0", "field": "schedule/@timing"}, ["never"]),
        ({"do": "remove", "card": "77"}, []),
        ({"do": "up", "card": "x" * 9000}, []),
        ({"do": "go", "card": "9"}, []),
        ({"do": "duplicate", "card": "0"}, []),
        ({"do": "behind", "card": "0"}, []),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_and_changes_nothing(sent, values):
    from dashboard.workflow_list.changes import apply

    draft = draft_of(rich())

    with pytest.raises(InvalidInput):
        apply(draft, sent, values)

    assert draft.body == rich()
    assert not draft.changed


@pytest.mark.parametrize("target", [7, "x", [1]])
def test_a_part_that_is_no_object_is_not_written_into(target):
    body = {"name": "x", "steps": [{"key": "a", "target": target}]}

    with pytest.raises(InvalidInput, match="text"):
        put(body, 1, "target/url", "https://api.example.com")


def test_a_step_that_is_no_object_can_only_go():
    body = {"name": "x", "steps": [7, {"key": "a"}]}

    with pytest.raises(InvalidInput, match="not an object"):
        put(body, 1, "key", "b")
    assert change(body, "remove", 1).body["steps"] == [{"key": "a"}]


def test_going_to_a_field_opens_its_card_on_its_page():
    body = {"name": "x", "steps": [{"key": f"s{n}"} for n in range(250)]}

    draft = change(body, "go", 201, field="key")

    assert (draft.page, draft.opened, draft.focus) == (2, {201}, (201, "key"))
    assert copy.deepcopy(draft.body) == body


def test_each_kind_of_step_has_the_fields_of_its_kind():
    put_all = put(rich(), LOAD, "target/arguments", "--one\n--two")

    assert steps_of(put_all)["load"]["target"]["arguments"] == ["--one", "--two"]


@pytest.mark.parametrize("top", [{}, {"max_concurrent": 2}])
def test_a_limit_of_runs_that_the_schedule_has_is_changed_and_cleared(top):
    schedule = {"every": "PT15M", "max_concurrent": 2}
    body = {"name": "x", "schedule": schedule, **top, "steps": []}
    [field] = [
        one
        for part in fields.workflow_parts(body)
        for one in part.fields
        if one.label == "Runs at one time"
    ]

    changed, cleared = (put(body, 0, "/".join(field.path), text).body for text in ("3", ""))

    assert shown_text(body, field) == "2"
    both = [
        (one.get("max_concurrent"), one["schedule"].get("max_concurrent"))
        for one in (changed, cleared)
    ]
    assert both == ([(3, None), (None, None)] if top else [(None, 3), (None, None)])
