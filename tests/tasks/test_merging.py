from __future__ import annotations

import copy

import pytest

from shared.redaction import MASK
from tasks.definition import to_long
from tasks.merging import keep_secrets, merge_edit, merge_patch
from tests.tasks.bodies import AUTHS, COMMAND, LONG, WEBHOOK, create, with_target


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


def test_a_mask_in_an_edit_stands_for_what_is_stored():
    current = to_long(create(with_target(COMMAND)), secrets=True)

    merged = merge_edit(current, {"target": {"environment": {"TOKEN": MASK, "NEW": "x"}}})

    assert merged["target"]["environment"] == {"TOKEN": "s3cret", "MODE": "", "NEW": "x"}


def test_a_replacement_takes_only_its_masked_secrets_from_what_is_stored():
    current = to_long(create(with_target(WEBHOOK)), secrets=True)
    written = {
        "target": {"url": "https://a.example/", "auth": {**AUTHS["basic"], "password": MASK}}
    }

    assert keep_secrets(current, written) == {
        "target": {"url": "https://a.example/", "auth": AUTHS["basic"]}
    }


@pytest.mark.parametrize("target", [None, 5, []])
def test_a_replacement_without_a_readable_target_is_left_for_validation(target):
    current = to_long(create(LONG), secrets=True)

    assert keep_secrets(current, {"target": target}) == {"target": target}
    assert keep_secrets(current, {}) == {}


def test_a_null_header_is_removed_whatever_its_case():
    merged = merge_edit(to_long(create(LONG)), {"target": {"headers": {"x-TEAM": None}}})

    assert merged["target"]["headers"] == {}


@pytest.mark.parametrize("edit", [{"schedule": 5}, {"target": "x"}, {"retry_policy": []}])
def test_a_part_of_the_wrong_type_takes_the_parts_place_for_validation_to_refuse(edit):
    assert merge_edit(to_long(create(LONG)), edit) | edit == merge_edit(to_long(create(LONG)), edit)
