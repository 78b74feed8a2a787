from __future__ import annotations

import copy

import pytest

from shared.redaction import MASK
from tasks.definition import to_long
from tasks.merging import merge_edit, merge_patch
from tests.tasks.bodies import COMMAND, LONG, MINIMAL, create, with_target


@pytest.mark.parametrize(
    ("value", "patch", "expected"),
    [  # Appendix A of RFC 7396.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_merges_as_the_standard_says(value, patch, expected):
    assert merge_patch(value, patch) == expected


def test_neither_the_current_form_nor_the_edit_is_changed():
    current = to_long(create(LONG))
    edit = {"schedule": {"every": "PT5M"}, "target": {"headers": {"x-team": "b"}}}
    before = copy.deepcopy((current, edit))

    merge_edit(current, edit)

    assert (current, edit) == before


def test_an_edit_of_the_zone_keeps_the_way_of_saying_when():
    merged = merge_edit(to_long(create(LONG)), {"schedule": {"timezone": "UTC"}})

    assert merged["schedule"]["cron_expression"] == "0 8 * * *"


def test_a_secret_that_an_edit_leaves_out_is_a_mask_in_what_comes_of_it():
    current = to_long(create(with_target(COMMAND)))

    merged = merge_edit(current, {"target": {"environment": {"TOKEN": "new", "NEW": "x"}}})

    assert merged["target"]["environment"] == {"TOKEN": "new", "MODE": MASK, "NEW": "x"}


@pytest.mark.parametrize(
    ("edit", "payload", "reference"),
    [
        ({"payload_ref": "b"}, None, "b"),
        ({"payload": {"n": 1}}, {"n": 1}, None),
        ({"payload": None}, None, "a"),
        ({"payload_ref": None}, None, None),
        ({"payload": 1, "payload_ref": "b"}, 1, "b"),
    ],
)
def test_a_payload_and_a_reference_take_each_others_place(edit, payload, reference):
    merged = merge_edit(to_long(create(MINIMAL | {"payload_ref": "a"})), edit)

    assert (merged.get("payload"), merged.get("payload_ref")) == (payload, reference)


def test_a_null_header_is_removed_whatever_its_case():
    merged = merge_edit(to_long(create(LONG)), {"target": {"headers": {"x-TEAM": None}}})

    assert merged["target"]["headers"] == {}


@pytest.mark.parametrize("edit", [{"schedule": 5}, {"target": "x"}, {"retry_policy": []}])
def test_a_part_of_the_wrong_type_takes_the_parts_place_for_validation_to_refuse(edit):
    assert merge_edit(to_long(create(LONG)), edit) | edit == merge_edit(to_long(create(LONG)), edit)


def test_only_strict_order_replaces_the_number_of_a_key():
    shared = {"key": "a", "max": 5, "order": "any"}
    current = {**to_long(create(LONG)), "concurrency": shared}

    def merged(change: dict[str, str]) -> object:
        return merge_edit(current, {"concurrency": change})["concurrency"]

    assert merged({"order": "any"}) == shared
    assert merged({"key": "b"}) == {**shared, "key": "b"}
    assert merged({"order": "fifo"}) == {"key": "a", "max": 1, "order": "fifo"}
