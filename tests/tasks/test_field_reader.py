from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from tasks.field_reader import (
    MAX_ERRORS,
    Errors,
    FieldReader,
    called_in_json,
    spell,
    suggest,
)


def test_errors_beyond_the_bound_are_dropped():
    errors = Errors()

    for number in range(MAX_ERRORS * 2):
        errors.add(f"#/{number}", "x", "y")

    with pytest.raises(InvalidInput) as refused:
        errors.raise_if_any()
    assert len(refused.value.errors) == MAX_ERRORS


def test_an_error_below_a_pointer_is_found_but_not_beside_it():
    errors = Errors()
    errors.add("#/schedule/every", "x", "y")

    assert errors.below("#/schedule")
    assert not errors.below("#/sched")


def test_pointers_are_renamed_when_raised():
    errors = Errors()
    errors.add("#/target/url", "x", "y")

    with pytest.raises(InvalidInput) as refused:
        errors.raise_if_any(lambda pointer: pointer.replace("target", "payload"))

    assert refused.value.errors[0].pointer == "#/payload/url"


def test_a_refused_field_reads_as_its_default():
    errors = Errors()
    reader = FieldReader({"a": "x", "b": 5, "c": [], "d": "yes"}, "#", errors)

    assert reader.integer("a", 7, 0, 9) == 7
    assert reader.text("b", "z", longest=5) == "z"
    assert reader.mapping("c") == {}
    assert reader.boolean("d", True) is True
    assert [error.code for error in errors.renamed(str)] == ["invalid_type"] * 4


@pytest.mark.parametrize(
    ("value", "called"),
    [
        (True, "true or false"),
        ("x", "text"),
        (1, "a number"),
        (1.5, "a number"),
        ({}, "an object"),
        ([], "a list"),
        (None, "null"),
    ],
)
def test_types_are_called_as_json_calls_them(value, called):
    assert called_in_json(value) == called


@pytest.mark.parametrize(
    ("word", "meant"),
    [("cron_expresion", "cron_expression"), ("Timezone", "timezone"), ("time_zone", "timezone")],
)
def test_the_nearest_name_is_suggested(word, meant):
    assert suggest(word, ["cron_expression", "timezone", "every"]) == f" Did you mean {meant!r}?"


@pytest.mark.parametrize("word", ["", "zzz", "x" * 100_000, "\ud800"])
def test_nothing_is_suggested_for_what_is_like_nothing(word):
    assert suggest(word, ["cron_expression", "timezone"]) == ""


def test_words_are_spelled_as_a_list():
    assert spell(["a"]) == "a"
    assert spell(["a", "b", "c"]) == "a, b or c"


def test_an_object_inside_is_read_with_its_own_pointer():
    errors = Errors()
    reader = FieldReader({"auth": {"type": 5}, "none": None, "wrong": []}, "#/target", errors)

    auth = reader.part("auth")

    assert auth is not None
    assert auth.text("type", "x", longest=5) == "x"
    assert [reader.part(key) for key in ("none", "absent", "wrong")] == [None] * 3
    assert [(error.pointer, error.code) for error in errors.renamed(str)] == [
        ("#/target/auth/type", "invalid_type"),
        ("#/target/wrong", "invalid_type"),
    ]


def test_a_field_that_is_missing_is_named_with_what_to_give():
    errors = Errors()
    reader = FieldReader({"url": None}, "#", errors)

    reader.require("url", "Give the URL.")
    reader.require("pool", "Give the pool.")

    assert [(error.pointer, error.message) for error in errors.renamed(str)] == [
        ("#/pool", "Give the pool.")
    ]
