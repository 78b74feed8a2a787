"""Fields are masked wherever they are shown, and masks that come back become values again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.field_redaction import masks_in, redacted, redacted_text, restored
from shared.redaction import MASK

PAYLOAD: dict[str, Any] = {
    "card": {"number": "4111", "name": "A"},
    "items": [{"k": 1}, {"k": 2}],
    "none": None,
}


def test_each_named_field_is_masked_and_the_rest_stays():
    shown = redacted(PAYLOAD, ["$.card.number", "$.items[1].k", "$.none", "$.missing.x"])

    assert shown == {
        "card": {"number": MASK, "name": "A"},
        "items": [{"k": 1}, {"k": MASK}],
        "none": None,
    }
    assert PAYLOAD["card"]["number"] == "4111"


def test_the_root_can_be_masked_whole():
    assert redacted(PAYLOAD, ["$"]) == MASK


def test_a_path_into_something_else_masks_nothing():
    assert redacted({"card": "text"}, ["$.card.number"]) == {"card": "text"}
    assert redacted([1], ["$.card"]) == [1]


def test_without_paths_a_value_is_itself():
    assert redacted(PAYLOAD, ()) is PAYLOAD
    assert redacted_text("no json", ()) == "no json"


def test_the_json_in_a_text_is_masked():
    shown = redacted_text('{"card": {"number": 4111}}', ["$.card.number"])

    assert json.loads(shown) == {"card": {"number": MASK}}


def test_a_text_that_cannot_be_judged_is_masked_whole():
    paths = ["$.card.number"]

    assert redacted_text('{"card": {"number": 41', paths) == MASK
    assert redacted_text('{"card": {"number": 4111}}', paths, truncated=True) == MASK
    assert redacted_text("card=4111", paths) == MASK
    assert redacted_text('"{\\"card\\": {\\"number\\": 4111}}"', paths) == MASK
    assert redacted_text("[" * 100_000, paths) == MASK
    assert redacted_text("", paths) == ""


def test_a_mask_that_comes_back_is_the_stored_value():
    paths = ["$.card.number"]
    written = {**redacted(PAYLOAD, paths), "items": []}

    assert restored(written, PAYLOAD, paths) == {**PAYLOAD, "items": []}
    assert restored(redacted(PAYLOAD, paths), PAYLOAD, paths) == PAYLOAD


def test_a_new_value_replaces_the_stored_one():
    written = {"card": {"number": "4242"}}

    assert restored(written, PAYLOAD, ["$.card.number"]) == written


def test_a_mask_in_a_place_without_a_value_stays_and_is_found():
    found = restored({"card": {"number": MASK}}, {}, ["$.card.number"])

    assert masks_in(found, ["$.card.number"]) == ["$.card.number"]
    assert masks_in(PAYLOAD, ["$.card.number"]) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"card": "4111", "card": null}',
        '{"card": {"number": "4111"}, "card": {}}',
        '[{"a":1,"a":2}]',
    ],
)
def test_an_object_that_has_a_name_twice_is_masked_whole(text):
    assert redacted_text(text, ["$.card.number", "$.card"]) == MASK


def test_half_of_a_surrogate_pair_beside_a_masked_field_stays_escaped():
    shown = redacted_text('{"card": 1, "name": "\\ud800"}', ["$.card"])

    assert shown.encode() == b'{"card": "[redacted]", "name": "\\ud800"}'


@pytest.mark.parametrize("text", [MASK, '{"card": {"number": "[redacted]"}, "new": 1}'])
def test_a_mask_in_a_payload_that_is_a_text_is_found(text):
    assert masks_in(text, ["$.card.number"]) == ["$.card.number"]
