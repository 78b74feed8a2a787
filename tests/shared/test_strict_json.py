from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from shared.exceptions import FieldError, InvalidInput
from shared.strict_json import (
    MAX_DEPTH,
    json_problem,
    named,
    read_json,
    read_json_or_word,
    refuse_forbidden_characters,
)
from tests.support.effort import within_processor_seconds


def nested(levels):
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def _refused(text, pointer="#"):
    with pytest.raises(InvalidInput) as caught:
        read_json(text, pointer)
    (error,) = caught.value.errors
    assert error.message == caught.value.message
    return error


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ('{"a": {"b": [1, 1e400]}}', "#/a/b/1", "number_out_of_range"),
        ('{"a": [0, 1e-400]}', "#/a/1", "number_out_of_range"),
        ('{"a": -0.0001e-400}', "#/a", "number_out_of_range"),
        ('{"id": 18446744073709551616}', "#/id", "number_out_of_range"),
        ('{"id": -9223372036854775809}', "#/id", "number_out_of_range"),
        ('{"x": 1, "a": {"v": 1, "v": 2}}', "#/a/v", "json_duplicate_name"),
        ('{"a": 1, "\\u0061": 2}', "#/a", "json_duplicate_name"),
        ('[1, {"a": [-Infinity]}]', "#/1/a/0", "json_invalid"),
        ('{"a": ["x", "\\u0000"]}', "#/a/1", "text_invalid"),
        ('{"a": {"\\ud800": 1}}', "#/a/?", "text_invalid"),
        ('{"a/b": {"c~d": NaN}}', "#/a~1b/c~0d", "json_invalid"),
        ('{"a": 1e400, "b": ]', "#", "json_invalid"),
        ('{"s": "{[,", "deep": [0, {"k": ' + "[" * 62, "#/deep/1/k" + "/0" * 61, "json_too_deep"),
    ],
)
def test_an_error_names_the_place_inside_the_text(text, pointer, code):
    error = _refused(text)

    assert (error.pointer, error.code) == (pointer, code)


def test_the_first_of_several_errors_is_named():
    assert _refused('{"a": "\\u0000", "b": 1e400, "c": 1, "c": 2}').pointer == "#/a"


def test_places_begin_at_the_field_that_the_text_stands_in():
    assert _refused('{"a": 1e400}', "#/payload").pointer == "#/payload/a"
    assert _refused("{", "#/payload").pointer == "#/payload"


def test_the_depth_of_the_field_counts_as_it_does_in_a_body():
    assert read_json("[" * 64 + "]" * 64)
    assert read_json("[" * 63 + "]" * 63, "#/payload")
    assert _refused("[" * 64 + "]" * 64, "#/payload").code == "json_too_deep"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\ufeff{}", "byte order mark"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a": "\xff"}', "not UTF-8 text: bad byte at offset 7"),
        ("\ud800", "not UTF-8 text"),
        ("", "This is not JSON"),
        ("{} x", "line 1, column 4"),
        ('{\n"a": }', "line 2, column 6"),
        ("{'a': 1}", "This is not JSON"),
        ("[1,]", "This is not JSON"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(text, told):
    assert told in _refused(text).message


@pytest.mark.parametrize("text", ["yes", "08:00", "a{b", "1.2.3", "", "nope NaN"])
def test_a_word_needs_no_quotes_where_words_are_taken(text):
    assert read_json_or_word(text) == text


@pytest.mark.parametrize(
    "text", ['{"a": }', '{"a":1,"a":2}', "[1", '"open', "NaN", "-Infinity", "1e400", "9" * 30, "\0"]
)
def test_what_is_meant_as_json_is_never_taken_for_a_word(text):
    with pytest.raises(InvalidInput):
        read_json_or_word(text)


def test_a_text_may_begin_like_json_where_no_mark_says_it_is():
    assert read_json_or_word("[section", marks="") == "[section"
    with pytest.raises(InvalidInput):
        read_json_or_word('["a\\u0000"]', marks="")


def test_an_error_is_named_by_its_field_and_the_place_inside():
    inner, outer = FieldError("#/payload/a/0", "c", "No."), FieldError("#/payload", "c", "No.")
    refused = InvalidInput([inner, outer])

    assert named(refused, "#/payload", "--payload").message == "--payload: a.0: No."
    assert [error.message for error in named(refused, "#/payload", "Payload").errors] == [
        "Payload: a.0: No.",
        "Payload: No.",
    ]
    assert named(refused, "#/payload", "").errors[0] == FieldError("#/payload/a/0", "c", "a.0: No.")


def test_json_up_to_the_depth_is_portable():
    assert json_problem(nested(MAX_DEPTH)) is None
    assert json_problem(nested(MAX_DEPTH - 1), "#/payload") is None
    assert json_problem({"a": [1, 2.5, True, None, "ü", {"b": {}}]}) is None


@pytest.mark.parametrize(
    ("value", "pointer", "code"),
    [
        (nested(MAX_DEPTH + 1), "#" + "/0" * 65, "json_too_deep"),
        ({"a": {"b": "\0"}}, "#/a/b", "text_invalid"),
        ({"\udc00": 1}, "#/?", "text_invalid"),
        ([1, float("-inf")], "#/1", "number_out_of_range"),
        (-(2**63) - 1, "#", "number_out_of_range"),
        (2**64, "#", "number_out_of_range"),
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


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "\\u0000"}', {"a": "\0"}),
        ('{"a": ["\\ud83d"]}', {"a": ["\ud83d"]}),
        ('{"a": 18446744073709551616}', {"a": 2**64}),
        ('{"a": 1e400}', {"a": float("inf")}),
        ("[" * 65 + "]" * 65, nested(65)),
    ],
)
def test_a_text_and_a_value_are_judged_with_the_same_words(text, value):
    error, problem = _refused(text), json_problem(value)

    assert problem is not None
    assert (error.code, error.message) == problem[1:]


def test_forbidden_characters_are_found_in_names_and_texts():
    refuse_forbidden_characters({"a": ["b", 1, None]})
    with pytest.raises(InvalidInput) as caught:
        refuse_forbidden_characters({"a": [1, {"b": "\0"}]}, "#/labels")
    assert caught.value.errors[0].pointer == "#/labels/a/1/b"


@pytest.mark.parametrize(
    "body",
    [b'"' * 1_500_000, b'{"a":"' + b"\\" * 1_400_000, b'"\\"[' * 300_000, b"[" * 1_500_000],
    ids=["quotes", "backslashes", "mixed", "brackets"],
)
def test_no_body_takes_longer_than_its_size_deserves(body):
    with within_processor_seconds(20), pytest.raises(InvalidInput):
        read_json(body)


@pytest.mark.parametrize("text", ["0.0", "-0.0", "0e5", "0.000e-400", "5e-324", "1e-300", "-0.0E0"])
def test_zero_and_what_is_near_to_it_are_numbers(text: str):
    assert read_json(text) == float(text)
