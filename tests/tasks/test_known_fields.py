from __future__ import annotations

from typing import Any

import pytest

from shared.exceptions import InvalidInput
from tasks.known_fields import missing_kind
from tests.tasks.bodies import COMMAND, HANDLER, MINIMAL, POOL, create, patch, with_target


def messages(call: Any, *arguments: Any) -> dict[tuple[str, str], str]:
    """Return the message of each error by its pointer and code."""
    with pytest.raises(InvalidInput) as refused:
        call(*arguments)
    return {(error.pointer, error.code): error.message for error in refused.value.errors}


@pytest.mark.parametrize(
    ("target", "kinds"),
    [
        (POOL, "'pool'"),
        (HANDLER, "'handler'"),
        (COMMAND, "'command'"),
        ({"pool": "batch-etl", "handler": "x"}, "'pool' or 'handler'"),
        ({"handler": "x"}, "'pool' or 'handler'"),
        ({"pool": "x"}, "'pool', 'handler' or 'command'"),
        ({"command": "backup", "requires": {}}, "'pool' or 'command'"),
    ],
)
def test_a_target_without_its_kind_is_told_that_it_is_missing(target, kinds):
    body = with_target({key: value for key, value in target.items() if key != "kind"})

    found = messages(create, body)

    assert found.keys() == {("#/target/kind", "required")}
    assert f"Give the kind: {kinds}, by its" in found["#/target/kind", "required"]


@pytest.mark.parametrize("target", [{}, {"timeout_seconds": 5}, {"uri": "https://a.example/"}])
def test_a_target_that_could_be_a_webhook_is_one(target):
    assert missing_kind(target) == ""
    assert ("#/target/url", "required") in messages(create, with_target(target))


def test_a_kind_that_is_given_is_not_missing():
    assert missing_kind({"kind": "webhook", "pool": "x"}) == ""


@pytest.mark.parametrize(
    ("target", "field", "kinds"),
    [
        ({"url": "https://a.example/", "pool": "x"}, "pool", "'pool', 'handler' or 'command'"),
        ({"kind": "handler", "handler": "x", "arguments": []}, "arguments", "'command'"),
        ({"kind": "pool", "pool": "batch-etl", "handler": "x", "url": "x"}, "url", "'webhook'"),
    ],
)
def test_a_field_of_another_kind_says_which_kinds_have_it(target, field, kinds):
    found = messages(create, with_target(target))

    assert f"kind {kinds} have it" in found[f"#/target/{field}", "unknown_field"]


def test_an_edit_to_fields_of_another_kind_says_so_too():
    found = messages(patch, create(MINIMAL), {"target": {"handler": "x"}})

    assert "'pool' or 'handler' have it" in found["#/target/handler", "unknown_field"]


@pytest.mark.parametrize(
    ("part", "field", "place"),
    [
        ("", "url", "into target"),
        ("", "max_attempts", "into retry_policy"),
        ("schedule", "url", "into target"),
        ("schedule", "backoff", "into retry_policy"),
        ("target", "cron_expression", "into schedule"),
        ("target", "payload", "at the top"),
        ("retry_policy", "labels", "at the top"),
        ("retry_policy", "every", "into schedule"),
    ],
)
def test_a_field_in_the_wrong_place_says_where_it_belongs(part, field, place):
    body = {**MINIMAL, "retry_policy": {}}
    body = {**body, part: {**body[part], field: "x"}} if part else {**body, field: "x"}

    found = messages(create, body)

    pointer = f"#/{part}/{field}" if part else f"#/{field}"
    assert f"belongs {place}" in found[pointer, "unknown_field"]


def test_a_misspelled_field_is_still_suggested():
    found = messages(create, {**MINIMAL, "prioritty": 1})

    assert "Did you mean 'priority'?" in found["#/prioritty", "unknown_field"]
