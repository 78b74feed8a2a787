from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput, TooLarge
from tasks.field_reader import Errors
from tasks.payloads import check_payload, json_problem, require_object


@pytest.mark.parametrize(
    ("value", "code"),
    [("\0", "invalid_characters"), (2**64, "out_of_range"), (b"", "invalid_type"), (1, None)],
)
def test_codes_of_values_stay_those_of_fields(value, code):
    problem = json_problem({"a": value}, "#/payload")

    assert (problem[:2] if problem else None) == (("#/payload/a", code) if code else None)


def test_a_payload_override_is_checked_like_a_payload():
    errors = Errors()

    check_payload({"a": "\0"}, "#/payload", errors, limit=100)

    with pytest.raises(InvalidInput):
        errors.raise_if_any()
    with pytest.raises(TooLarge):
        check_payload("x" * 99, "#/payload", errors, limit=100)


def test_a_payload_of_exactly_the_limit_is_taken():
    errors = Errors()

    check_payload("x" * 98, "#/payload", errors, limit=100)

    errors.raise_if_any()


def test_only_an_object_is_a_body():
    assert require_object({"a": 1}) == {"a": 1}
    with pytest.raises(InvalidInput):
        require_object([])
