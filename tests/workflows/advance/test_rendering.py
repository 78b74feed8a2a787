"""What an execution of a step carries."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.workflow.references import Scope, TemplateInvalid
from workflows.advance.outputs import OutputInvalid
from workflows.advance.rendering import bounded, own_of


def scope(value: Any) -> Scope:
    return Scope(value, {}, {}, {"id": "r", "scheduled_for": "2026-11-29T08:00:00.000Z"})


def webhook(**target: Any) -> dict[str, Any]:
    whole = {"kind": "webhook", "url": "https://api.example.com/", "headers": {}, **target}
    return {"target": whole, "payload": {"n": "{{ input.n }}"}}


def test_a_step_without_templates_in_its_target_carries_its_payload():
    assert own_of(webhook(), scope({"n": 1})) == {"n": 1}


def test_a_value_cannot_end_a_part_of_a_url():
    step = webhook(url="https://api.example.com/files/{{ input.n }}?x={{ input.n }}")

    found = own_of(step, scope({"n": "../a b?&#"}))

    encoded = "..%2Fa%20b%3F%26%23"
    assert found["url"] == f"https://api.example.com/files/{encoded}?x={encoded}"
    assert found["payload"] == {"n": "../a b?&#"}


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\x00", "a\nb"])
def test_a_value_cannot_bring_another_header(value: str):
    step = webhook(headers={"X-Note": "{{ input.n }}"})

    with pytest.raises(TemplateInvalid, match="X-Note"):
        own_of(step, scope({"n": value}))


def test_a_header_has_the_value_as_text():
    step = webhook(headers={"X-Note": "no {{ input.n }}", "X-Plain": "yes"})

    assert own_of(step, scope({"n": 7}))["headers"] == {"X-Note": "no 7", "X-Plain": "yes"}


def test_a_command_has_its_arguments_and_environment():
    target = {
        "kind": "command",
        "arguments": ["--day", "{{ input.n }}"],
        "environment": {"DAY": "{{ input.n }}"},
    }

    found = own_of({"target": target, "payload": None}, scope({"n": 3}))

    assert found == {"payload": None, "arguments": ["--day", "3"], "environment": {"DAY": "3"}}


def test_an_argument_cannot_hold_what_ends_it():
    target = {"kind": "command", "arguments": ["{{ input.n }}"], "environment": {}}

    with pytest.raises(TemplateInvalid, match="NUL"):
        own_of({"target": target, "payload": None}, scope({"n": "a\x00"}))


def test_a_url_that_grows_too_long_is_refused():
    step = webhook(url="https://api.example.com/{{ input.n }}")

    with pytest.raises(TemplateInvalid, match="2048"):
        own_of(step, scope({"n": "x" * 2100}))


def test_a_payload_has_a_largest_size():
    assert bounded("x" * 1000) == "x" * 1000
    with pytest.raises(OutputInvalid) as refused:
        bounded("x" * (256 * 1024))
    assert refused.value.failure.code == "payload_too_large"


def test_a_named_secret_stays_a_reference_for_the_worker():
    step = webhook(headers={"X-Key": "a {{ input.n }} {{ secrets.token }}"})

    found = own_of(step, scope({"n": 7}))

    assert found["headers"] == {"X-Key": ["a 7 ", {"secret": "token"}, ""]}


def test_an_inserted_text_that_looks_like_a_reference_is_no_reference():
    step = webhook(headers={"X-Key": "{{ input.n }}{{ secrets.token }}", "X-B": "{{ input.n }}"})

    found = own_of(step, scope({"n": "{{ secrets.other }}"}))

    assert found["headers"] == {
        "X-Key": ["{{ secrets.other }}", {"secret": "token"}, ""],
        "X-B": "{{ secrets.other }}",
    }


def test_a_target_whose_only_names_are_secrets_is_not_rendered():
    step = webhook(headers={"X-Key": "{{ secrets.token }}"})

    assert own_of(step, scope({"n": 7})) == {"n": 7}
