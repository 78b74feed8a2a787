"""The payload of a form: shown as JSON, read back, and left alone when nobody touched it."""

from __future__ import annotations

import orjson
import pytest

from dashboard.payload_form import pretty, read_override
from executions.triggering.triggers import Override
from shared.exceptions import InvalidInput


@pytest.mark.parametrize("payload", [None, 0, "a\nb", [1, {"é": 1e300}], {"n": 2**64 - 1}])
def test_what_is_shown_is_read_back(payload):
    assert read_override(pretty(payload), "something else") == Override(payload)


def test_an_untouched_payload_is_no_override():
    shown = pretty({"a": [1, 2]})
    as_sent = shown.replace("\n", "\r\n")

    assert read_override(as_sent, as_sent) is None
    assert read_override(f"{shown}\n", shown) is None
    assert read_override(None, None) is None
    assert read_override("", "") is None


def test_null_is_a_payload_of_its_own():
    assert read_override("null", '{"a": 1}') == Override(None)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "nope", "NaN", '{"a": 1e999}', '"\\u0000"', '"\\ud800"', "\ud800", "\0",
        "[" * 100 + "]" * 100, "[" * 5000, "9" * 400,
    ],
)  # fmt: skip
def test_what_cannot_be_carried_is_refused_with_the_reason(text):
    with pytest.raises(InvalidInput) as refused:
        read_override(text, "{}")

    assert refused.value.errors[0].pointer.startswith("#/payload")
    assert refused.value.message != InvalidInput.__doc__


def test_the_place_of_a_mistake_is_said():
    with pytest.raises(InvalidInput, match=r"Payload: This is not JSON: .* at line 2, column 8"):
        read_override('{\n  "a": ,\n}', "")


def test_a_large_payload_is_left_to_the_service_to_judge():
    assert read_override(orjson.dumps("x" * 2**20).decode(), "") is not None
