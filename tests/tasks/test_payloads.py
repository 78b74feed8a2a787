from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from shared.exceptions import InvalidInput, TooLarge
from tasks.field_reader import Errors
from tasks.payloads import MAX_DEPTH, check_payload, json_problem, require_object


def nested(levels):
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def test_json_up_to_the_depth_is_portable():
    assert json_problem(nested(MAX_DEPTH)) is None
    assert json_problem({"a": [1, 2.5, True, None, "ü", {"b": {}}]}) is None


@pytest.mark.parametrize(
    ("value", "pointer", "code"),
    [
        (nested(MAX_DEPTH + 1), "#" + "/0" * 65, "too_deep"),
        ({"a": {"b": "\0"}}, "#/a/b", "invalid_characters"),
        ({"\udc00": 1}, "#/?", "invalid_characters"),
        ([1, float("-inf")], "#/1", "out_of_range"),
        (-(2**63) - 1, "#", "out_of_range"),
        ({"a": (1, 2)}, "#/a", "invalid_type"),
        ({"a": b"x"}, "#/a", "invalid_type"),
        ({"a": MappingProxyType({})}, "#/a", "invalid_type"),
        ({None: 1}, "#/None", "invalid_type"),
    ],
)
def test_what_is_not_portable_is_named(value, pointer, code):
    problem = json_problem(value)

    assert problem is not None
    assert problem[:2] == (pointer, code)


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
